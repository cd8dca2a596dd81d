# One subnet, so one zone: nodes of a placement group must not land in two (terraform-provider-aws#1772). The network is the
# rig's own or a given one, never a shared one of ours: DependencyViolation on destroy comes from sharing (#1671, #2445).

resource "aws_vpc" "rig" {
  count = local.own_network ? 1 : 0

  cidr_block           = "10.77.0.0/16"
  enable_dns_hostnames = true
  tags                 = merge(local.labels, { Name = var.rig.id })
}

# Adopted without a rule: nothing that lands in it by mistake can talk.
resource "aws_default_security_group" "rig" {
  count = local.own_network ? 1 : 0

  vpc_id = aws_vpc.rig[0].id
  tags   = local.labels
}

resource "aws_subnet" "rig" {
  count = local.own_network ? 1 : 0

  vpc_id               = aws_vpc.rig[0].id
  availability_zone    = local.zone_is_id ? null : var.zone
  availability_zone_id = local.zone_is_id ? var.zone : null
  cidr_block           = cidrsubnet(aws_vpc.rig[0].cidr_block, 4, 0)
  tags                 = merge(local.labels, { Name = var.rig.id })
}

resource "aws_internet_gateway" "rig" {
  count = local.own_network ? 1 : 0

  vpc_id = aws_vpc.rig[0].id
  tags   = merge(local.labels, { Name = var.rig.id })
}

resource "aws_route_table" "rig" {
  count = local.own_network ? 1 : 0

  vpc_id = aws_vpc.rig[0].id
  tags   = merge(local.labels, { Name = var.rig.id })
}

resource "aws_route" "internet" {
  count = local.own_network ? 1 : 0

  route_table_id         = aws_route_table.rig[0].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.rig[0].id
}

resource "aws_route_table_association" "rig" {
  count = local.own_network ? 1 : 0

  route_table_id = aws_route_table.rig[0].id
  subnet_id      = aws_subnet.rig[0].id
}

# Rules are resources of their own: inline and separate rules in one group flap.
resource "aws_security_group" "node" {
  name        = var.rig.id
  description = "Nodes of the rig ${var.rig.id}"
  vpc_id      = local.vpc_id
  tags        = merge(local.labels, { Name = var.rig.id })
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each = toset(var.ssh_ingress_cidrs)

  description       = "SSH from ${each.value}"
  security_group_id = aws_security_group.node.id
  cidr_ipv4         = strcontains(each.value, ":") ? null : each.value
  cidr_ipv6         = strcontains(each.value, ":") ? each.value : null
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  tags              = local.labels
}

# EFA needs all traffic within the group, in and out.
resource "aws_vpc_security_group_ingress_rule" "nodes" {
  count = local.multi_node ? 1 : 0

  description                  = "Between the nodes"
  security_group_id            = aws_security_group.node.id
  referenced_security_group_id = aws_security_group.node.id
  ip_protocol                  = "-1"
  tags                         = local.labels
}

resource "aws_vpc_security_group_egress_rule" "nodes" {
  count = local.multi_node ? 1 : 0

  description                  = "Between the nodes"
  security_group_id            = aws_security_group.node.id
  referenced_security_group_id = aws_security_group.node.id
  ip_protocol                  = "-1"
  tags                         = local.labels
}

resource "aws_vpc_security_group_egress_rule" "internet" {
  description       = "Images, packages, data"
  security_group_id = aws_security_group.node.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  tags              = local.labels
}
