# Nodes. One aws_instance is one machine: its tags land on it, and destroy terminates it. Spot request objects and fleets do
# neither, and a request that has vanished fails the next run (terraform-provider-aws#32, #38821, #23216, #17054, #10083).

resource "aws_placement_group" "rig" {
  count = local.placement_group ? 1 : 0

  name     = var.rig.id
  strategy = "cluster"
  tags     = local.labels
}

# Ids differ per region, names do not: without an id for this region the lock has the name, which is as exact.
data "aws_ami" "named" {
  count = startswith(var.image, "ami-") ? 0 : 1

  owners             = ["amazon"]
  include_deprecated = true

  filter {
    name   = "name"
    values = [var.image]
  }
}

# The launch template carries what aws_instance cannot say: tags on network interfaces and on volumes from the first
# moment (#19890, #33806, #36726, #584), and several EFA cards (#24289).
resource "aws_launch_template" "node" {
  name                                 = var.rig.id
  image_id                             = local.image_id
  instance_type                        = var.instance_type
  user_data                            = base64encode(var.cloud_init)
  instance_initiated_shutdown_behavior = "terminate" # the lease on the node ends in a shutdown, and so in nothing
  update_default_version               = true
  tags                                 = local.labels

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1 # containers get credentials from the host, not past it
    instance_metadata_tags      = "enabled"
  }

  block_device_mappings {
    device_name = "/dev/sda1"
    ebs {
      volume_size           = var.disk_gb
      volume_type           = "gp3"
      throughput            = 250
      encrypted             = true
      delete_on_termination = true
    }
  }

  dynamic "iam_instance_profile" {
    for_each = aws_iam_instance_profile.node
    content {
      name = iam_instance_profile.value.name
    }
  }

  network_interfaces {
    device_index                = 0
    network_card_index          = 0
    interface_type              = local.primary_interface_type
    subnet_id                   = local.subnet_id
    security_groups             = [aws_security_group.node.id]
    associate_public_ip_address = local.launch_public_ip
    delete_on_termination       = true
  }

  dynamic "network_interfaces" {
    for_each = local.efa_interfaces
    content {
      device_index          = network_interfaces.value.device
      network_card_index    = network_interfaces.value.card
      interface_type        = "efa-only"
      subnet_id             = local.subnet_id
      security_groups       = [aws_security_group.node.id]
      delete_on_termination = true
    }
  }

  dynamic "tag_specifications" {
    for_each = concat(["instance", "volume", "network-interface"], var.market == "spot" ? ["spot-instances-request"] : [])
    content {
      resource_type = tag_specifications.value
      tags          = local.labels
    }
  }
}

# What makes it another machine. Dropping instance_market_options alone shows no diff (terraform-provider-aws#38141).
resource "terraform_data" "machine" {
  input = { instance_type = var.instance_type, market = var.market, reservation = var.reservation, zone = var.zone }
}

resource "aws_instance" "node" {
  count = var.nodes

  placement_group = one(aws_placement_group.rig[*].name)
  tags            = merge(local.labels, { Name = "${var.rig.id}-${count.index}" })
  volume_tags     = local.labels

  launch_template {
    id      = aws_launch_template.node.id
    version = aws_launch_template.node.latest_version
  }

  # One-time and terminate, nothing else: a persistent request outlives destroy and starts machines on its own (#38142).
  dynamic "instance_market_options" {
    for_each = var.market == "spot" ? ["spot"] : []
    content {
      market_type = "spot"
      spot_options {
        spot_instance_type             = "one-time"
        instance_interruption_behavior = "terminate"
      }
    }
  }

  # A capacity block is a market of its own (terraform-aws-ec2-instance#383).
  dynamic "instance_market_options" {
    for_each = local.capacity_block ? ["capacity-block"] : []
    content {
      market_type = "capacity-block"
    }
  }

  dynamic "capacity_reservation_specification" {
    for_each = var.market == "reserved" ? [local.reservation_id] : []
    content {
      capacity_reservation_target {
        capacity_reservation_id = capacity_reservation_specification.value
      }
    }
  }

  # The provider itself retries a stock-out far longer (#7 of its reports: #49863); trainrig's own deadline comes first.
  timeouts {
    create = "10m"
    delete = "20m"
  }

  lifecycle {
    replace_triggered_by = [terraform_data.machine]
    # A newer image, a moved lease or another label never replaces a running node (terraform-aws-ec2-instance#325, #300).
    ignore_changes = [ami, launch_template]
  }

  # A node boots into a network and rights that work, and goes before them: a gateway does not detach from mapped addresses.
  depends_on = [
    aws_iam_role_policy.node,
    aws_route.internet,
    aws_route_table_association.rig,
    aws_vpc_security_group_egress_rule.internet,
  ]
}

resource "aws_eip" "node" {
  count = local.elastic_ip ? var.nodes : 0

  domain            = "vpc"
  network_interface = aws_instance.node[count.index].primary_network_interface_id
  tags              = merge(local.labels, { Name = "${var.rig.id}-${count.index}" })

  depends_on = [aws_internet_gateway.rig]
}
