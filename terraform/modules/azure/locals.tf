locals {
  families = jsondecode(file("${path.module}/families.json"))

  ssh_user = "ubuntu"
  labels   = var.rig.labels

  multi_node = var.nodes > 1
  spot       = var.market == "spot"

  # InfiniBand connects the machines of one availability set, and an availability set knows no zones, no spot machines
  # and no capacity reservations. Other machines come close to each other by a proximity placement group.
  infiniband       = local.multi_node && contains(local.families.infiniband, var.instance_type)
  availability_set = local.infiniband && var.market == "on_demand"
  proximity_group  = local.multi_node && !local.availability_set && var.market != "reserved"
  zone             = local.availability_set ? null : var.zone

  own_network = length(var.existing_network) == 0
  subnet_id   = local.own_network ? one(azurerm_subnet.rig[*].id) : var.existing_network["subnet"]
  public_ip   = lookup(var.existing_network, "public_ip", "true") == "true"

  image = split(":", var.image)

  # Azure itself switches a machine off at an hour of the day, so only a lease of up to a day can be left to it.
  cloud_lease = var.lease_seconds <= 86400

  # "az://account/container/a/b/" -> {account, container, key = "a/b"}; URLs of other clouds give no rights here.
  az_url       = "^az://(?P<account>[^/]+)/(?P<container>[^/]+)/?(?P<key>.*?)/?$"
  writes       = [for url in concat(compact([var.checkpoint_prefix]), var.read_write_urls) : regex(local.az_url, url) if startswith(url, "az://")]
  reads        = [for url in var.read_only_urls : regex(local.az_url, url) if startswith(url, "az://")]
  has_identity = length(local.writes) + length(local.reads) > 0 || var.container_registry != null
}
