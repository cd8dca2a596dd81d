locals {
  families = jsondecode(file("${path.module}/families.json"))
  family   = split(".", var.instance_type)[0]

  # The image decides the user; the Deep Learning AMIs that trainrig pins are Ubuntu.
  ssh_user = "ubuntu"
  labels   = var.rig.labels

  image_id = startswith(var.image, "ami-") ? var.image : one(data.aws_ami.named[*].id)

  multi_node = var.nodes > 1

  # A lone node has nobody to talk to: no EFA, and so no multi-card trouble with public addresses.
  efa            = local.multi_node ? lookup(local.families.efa, var.instance_type, null) : null
  efa_cards      = local.efa == null ? 0 : local.efa.cards
  first_efa_card = local.efa == null ? 0 : lookup(local.efa, "first_efa_card", 0)

  # EC2's rule for several cards: device 0 of card 0 is a plain interface, since an efa-only one cannot be primary;
  # card 0 takes its EFA as device 1, every further card as device 0 (terraform-aws-eks#3653, aws-ofi-nccl#53). With one card
  # the primary is the EFA.
  primary_interface_type = local.efa_cards == 1 ? "efa" : null
  efa_interfaces = local.efa_cards <= 1 ? [] : [
    for card in range(local.first_efa_card, local.efa_cards) : { card = card, device = card == 0 ? 1 : 0 }
  ]

  # EC2 gives no automatic public address to a machine with several interfaces (terraform-provider-aws#24289).
  wants_public_ip  = lookup(var.existing_network, "public_ip", "true") == "true"
  elastic_ip       = local.wants_public_ip && length(local.efa_interfaces) > 0
  launch_public_ip = local.wants_public_ip && !local.elastic_ip

  # Reserved capacity brings its own placement, and a placement group beside it makes the reservation not match.
  placement_group = local.multi_node && var.market != "reserved" && !contains(local.families.no_cluster_placement, local.family)

  capacity_block = var.market == "reserved" && startswith(coalesce(var.reservation, "-"), "block:")
  reservation_id = var.reservation == null ? null : trimprefix(var.reservation, "block:")

  # "use1-az4" is the same place in every account, "us-east-1a" is not.
  zone_is_id = can(regex("-az[0-9]+$", coalesce(var.zone, "-")))

  own_network = length(var.existing_network) == 0
  vpc_id      = local.own_network ? one(aws_vpc.rig[*].id) : var.existing_network["vpc"]
  subnet_id   = local.own_network ? one(aws_subnet.rig[*].id) : var.existing_network["subnet"]

  # "s3://bucket/a/b/" -> {bucket = "bucket", key = "a/b"}; URLs of other clouds give no rights here.
  s3_url       = "^s3://(?P<bucket>[^/]+)/?(?P<key>.*?)/?$"
  writes       = [for url in concat(compact([var.checkpoint_prefix]), var.read_write_urls) : regex(local.s3_url, url) if startswith(url, "s3://")]
  reads        = [for url in var.read_only_urls : regex(local.s3_url, url) if startswith(url, "s3://")]
  has_identity = length(local.writes) + length(local.reads) > 0 || var.ecr_repository_arn != null
}
