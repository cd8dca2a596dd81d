resource "nebius_vpc_v1_network" "rig" {
  count = local.own_network ? 1 : 0

  parent_id = var.project
  name      = var.rig.id
  labels    = local.labels
}

resource "nebius_vpc_v1_subnet" "rig" {
  count = local.own_network ? 1 : 0

  parent_id  = var.project
  name       = var.rig.id
  network_id = nebius_vpc_v1_network.rig[0].id
  labels     = local.labels

  ipv4_private_pools = { use_network_pools = true }
  ipv4_public_pools  = { use_network_pools = true }
}

resource "nebius_vpc_v1_security_group" "node" {
  parent_id  = var.project
  name       = var.rig.id
  network_id = local.network_id
  labels     = local.labels
}

resource "nebius_vpc_v1_security_rule" "ssh" {
  count = length(var.ssh_ingress_cidrs) > 0 ? 1 : 0

  parent_id = nebius_vpc_v1_security_group.node.id
  name      = "${var.rig.id}-ssh"
  labels    = local.labels
  access    = "ALLOW"
  protocol  = "TCP"

  ingress = {
    source_cidrs      = var.ssh_ingress_cidrs
    destination_ports = [22]
  }
}

# Nodes of one rig talk to one another, and to nobody else.
resource "nebius_vpc_v1_security_rule" "nodes" {
  count = var.nodes > 1 ? 1 : 0

  parent_id = nebius_vpc_v1_security_group.node.id
  name      = "${var.rig.id}-nodes"
  labels    = local.labels
  access    = "ALLOW"
  protocol  = "ANY"

  ingress = {
    source_security_group_id = nebius_vpc_v1_security_group.node.id
  }
}

resource "nebius_vpc_v1_security_rule" "out" {
  parent_id = nebius_vpc_v1_security_group.node.id
  name      = "${var.rig.id}-out"
  labels    = local.labels
  access    = "ALLOW"
  protocol  = "ANY"

  egress = {
    destination_cidrs = ["0.0.0.0/0"]
  }
}
