# The module's own logic, with a mocked provider: `terraform test` in this folder.

mock_provider "aws" {}

variables {
  rig = {
    name       = "test"
    id         = "tr-test-abcd2345"
    owner      = "ada"
    expires_at = "2026-03-02T18:30:00Z"
    labels     = { managed-by = "trainrig", trainrig-run-id = "abcd2345", trainrig-expires = "1772476200" }
  }
  nodes             = 2
  region            = "us-east-1"
  zone              = "us-east-1a"
  instance_type     = "p5.48xlarge"
  market            = "spot"
  disk_gb           = 256
  image             = "ami-0123456789abcdef0"
  ssh_public_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
  ssh_ingress_cidrs = ["203.0.113.7/32"]
  lease_seconds     = 86400
  cloud_init        = "#cloud-config\nssh_authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl]\n"
}

run "spot_is_one_time_and_ends_in_termination" {
  command = plan

  assert {
    condition = alltrue([
      for node in aws_instance.node :
      node.instance_market_options[0].spot_options[0].spot_instance_type == "one-time" &&
      node.instance_market_options[0].spot_options[0].instance_interruption_behavior == "terminate"
    ])
    error_message = "a persistent spot request outlives destroy and starts machines of its own"
  }
  assert {
    condition     = aws_launch_template.node.instance_initiated_shutdown_behavior == "terminate"
    error_message = "the lease ends in a shutdown, so a shutdown must end the bill"
  }
}

run "on_demand_has_no_market_options" {
  command = plan
  variables {
    market = "on_demand"
  }
  assert {
    condition     = alltrue([for node in aws_instance.node : length(node.instance_market_options) == 0])
    error_message = "market options on an on-demand machine"
  }
}

run "a_block_is_a_market_of_its_own" {
  command = plan
  variables {
    market      = "reserved"
    reservation = "block:cr-0123456789abcdef0"
  }
  assert {
    condition     = aws_instance.node[0].instance_market_options[0].market_type == "capacity-block"
    error_message = "a capacity block needs its market type"
  }
  assert {
    condition     = aws_instance.node[0].capacity_reservation_specification[0].capacity_reservation_target[0].capacity_reservation_id == "cr-0123456789abcdef0"
    error_message = "the target is the id without the prefix"
  }
  assert {
    condition     = length(aws_placement_group.rig) == 0
    error_message = "a placement group makes the reservation not match"
  }
}

run "every_card_of_a_p5_gets_its_efa" {
  command = plan

  assert {
    condition     = length(aws_launch_template.node.network_interfaces) == 33
    error_message = "one plain interface and 32 EFAs"
  }
  assert {
    condition = join(" ", [
      for nic in slice(aws_launch_template.node.network_interfaces, 0, 3) :
      "${nic.network_card_index}/${nic.device_index}=${coalesce(nic.interface_type, "interface")}"
    ]) == "0/0=interface 0/1=efa-only 1/0=efa-only"
    error_message = "the first card carries the plain interface and, as device 1, its EFA"
  }
  assert {
    condition     = length(aws_eip.node) == 2 && aws_launch_template.node.network_interfaces[0].associate_public_ip_address == "false"
    error_message = "several interfaces get no automatic public address"
  }
}

run "a_placement_group_is_in_one_zone" {
  command = plan

  assert {
    condition     = length(aws_placement_group.rig) == 1 && length(aws_subnet.rig) == 1 && contains([aws_subnet.rig[0].availability_zone, aws_subnet.rig[0].availability_zone_id], var.zone)
    error_message = "nodes of one placement group must not land in two zones"
  }
}

run "labels_are_there_from_the_first_moment" {
  command = plan

  assert {
    condition     = toset([for tags in aws_launch_template.node.tag_specifications : tags.resource_type]) == toset(["instance", "volume", "network-interface", "spot-instances-request"])
    error_message = "what AWS tags after it is made can be lost before"
  }
  assert {
    condition     = alltrue([for tags in aws_launch_template.node.tag_specifications : tags.tags["trainrig-run-id"] == "abcd2345"])
    error_message = "each bears the run's id"
  }
}

run "a_lone_node_needs_no_efa" {
  command = plan
  variables {
    nodes = 1
  }
  assert {
    condition     = length(aws_launch_template.node.network_interfaces) == 1 && length(aws_eip.node) == 0
    error_message = "one interface with an automatic address"
  }
}

run "the_internet_is_refused" {
  command = plan
  variables {
    ssh_ingress_cidrs = ["0.0.0.0/0"]
  }
  expect_failures = [var.ssh_ingress_cidrs]
}

run "so_are_its_halves" {
  command = plan
  variables {
    ssh_ingress_cidrs = ["0.0.0.0/1", "128.0.0.0/1"]
  }
  expect_failures = [var.ssh_ingress_cidrs]
}

run "and_the_internet_of_ipv6" {
  command = plan
  variables {
    ssh_ingress_cidrs = ["::/0"]
  }
  expect_failures = [var.ssh_ingress_cidrs]
}

run "a_floating_image_is_refused" {
  command = plan
  variables {
    image = "Deep Learning Base*"
  }
  expect_failures = [var.image]
}

run "reserved_needs_a_reservation" {
  command = plan
  variables {
    market = "reserved"
  }
  expect_failures = [var.reservation]
}

run "a_reservation_needs_reserved" {
  command = plan
  variables {
    reservation = "cr-0123456789abcdef0"
  }
  expect_failures = [var.reservation]
}

run "no_nodes_are_refused" {
  command = plan
  variables {
    nodes = 0
  }
  expect_failures = [var.nodes]
}

run "half_a_network_is_refused" {
  command = plan
  variables {
    existing_network = { vpc = "vpc-1" }
  }
  expect_failures = [var.existing_network]
}

run "a_prefix_is_not_a_bucket" {
  command = plan
  variables {
    checkpoint_prefix = "s3://bucket/"
  }
  expect_failures = [var.checkpoint_prefix]
}

run "a_private_key_in_user_data_is_refused" {
  command = plan
  variables {
    cloud_init = "#cloud-config\nssh_keys: {ed25519_private: BEGIN PRIVATE KEY}\n"
  }
  expect_failures = [var.cloud_init]
}

run "a_rig_without_a_run_id_is_refused" {
  command = plan
  variables {
    rig = { name = "x", id = "tr-x-abcd2345", owner = "ada", expires_at = "2026-03-02T18:30:00Z", labels = {} }
  }
  expect_failures = [var.rig]
}

run "a_node_that_nobody_could_reach_is_refused" {
  command = plan
  variables {
    cloud_init = "#cloud-config\n{}\n"
  }
  expect_failures = [var.cloud_init]
}

run "no_quote_ends_a_condition" {
  command = plan
  variables {
    checkpoint_prefix = "s3://bucket/x') || ('"
  }
  expect_failures = [var.checkpoint_prefix]
}

run "no_wildcard_widens_a_right" {
  command = plan
  variables {
    read_only_urls = ["s3://bucket/*"]
  }
  expect_failures = [var.read_only_urls]
}

run "nothing_to_reach_needs_no_identity" {
  command = plan
  variables {
    read_write_urls = ["gs://bucket/results"]
  }
  assert {
    condition     = length(aws_iam_role.node) == 0 && length(aws_iam_instance_profile.node) == 0
    error_message = "a role for buckets of another cloud"
  }
}

run "rights_are_exactly_these" {
  command = plan
  variables {
    checkpoint_prefix  = "s3://ckpt/runs/abcd2345/"
    read_write_urls    = ["s3://results/finetune", "s3://scratch"]
    read_only_urls     = ["s3://data/imagenet/"]
    ecr_repository_arn = "arn:aws:ecr:eu-west-1:210987654321:repository/team/train"
  }
  assert {
    condition = {
      for s in jsondecode(aws_iam_role_policy.node[0].policy).Statement :
      s.Sid => "${join(" ", [for action in s.Action : split(":", action)[1]])} on ${join(" ", s.Resource)}"
      } == {
      Write0     = "GetObject PutObject DeleteObject AbortMultipartUpload ListMultipartUploadParts on arn:aws:s3:::ckpt/runs/abcd2345/*"
      ListWrite0 = "ListBucket on arn:aws:s3:::ckpt"
      Write1     = "GetObject PutObject DeleteObject AbortMultipartUpload ListMultipartUploadParts on arn:aws:s3:::results/finetune/*"
      ListWrite1 = "ListBucket on arn:aws:s3:::results"
      Write2     = "GetObject PutObject DeleteObject AbortMultipartUpload ListMultipartUploadParts on arn:aws:s3:::scratch/*"
      ListWrite2 = "ListBucket on arn:aws:s3:::scratch"
      Read0      = "GetObject on arn:aws:s3:::data/imagenet arn:aws:s3:::data/imagenet/*"
      ListRead0  = "ListBucket on arn:aws:s3:::data"
      ImageLogin = "GetAuthorizationToken on *"
      Image      = "BatchCheckLayerAvailability BatchGetImage GetDownloadUrlForLayer on arn:aws:ecr:eu-west-1:210987654321:repository/team/train"
    }
    error_message = "write where the job writes, read where it reads, and the image"
  }
  assert {
    condition = {
      for s in jsondecode(aws_iam_role_policy.node[0].policy).Statement :
      s.Sid => s.Condition.StringLike["s3:prefix"] if can(s.Condition.StringLike)
      } == {
      ListWrite0 = ["runs/abcd2345/*"]
      ListWrite1 = ["finetune/*"]
      ListWrite2 = ["*"]
      ListRead0  = ["imagenet", "imagenet/*"]
    }
    error_message = "a listing sees no more than the objects"
  }
}

run "no_wildcard_widens_a_right_to_write" {
  command = plan
  variables {
    read_write_urls = ["s3://bucket/*"]
  }
  expect_failures = [var.read_write_urls]
}

run "a_right_on_all_repositories_is_refused" {
  command = plan
  variables {
    ecr_repository_arn = "arn:aws:ecr:eu-west-1:210987654321:repository/*"
  }
  expect_failures = [var.ecr_repository_arn]
}
