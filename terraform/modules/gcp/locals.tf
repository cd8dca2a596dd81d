locals {
  families = jsondecode(file("${path.module}/families.json"))
  family   = join("-", slice(split("-", var.instance_type), 0, 2))

  # The Ubuntu images that trainrig pins have this user.
  ssh_user = "ubuntu"
  labels   = var.rig.labels

  multi_node = var.nodes > 1
  gpu        = contains(local.families.gpu, local.family) || var.accelerator != null
  boot_disk  = contains(local.families.hyperdisk_only, local.family) ? "hyperdisk-balanced" : "pd-balanced"
  local_ssds = var.local_ssd ? lookup(local.families.local_ssds, var.instance_type, 0) : 0

  # Between nodes: a GPU network of its own for each further card. A lone node needs none.
  fabric     = local.multi_node ? lookup(local.families.fabric, var.instance_type, null) : null
  gvnic_nics = local.fabric == null ? 0 : local.fabric.gvnic
  rdma_nics  = local.fabric == null ? 0 : local.fabric.rdma

  # A reservation has its own placement, and one that differs does not match.
  placement_policy = local.multi_node && var.market != "reserved" && contains(local.families.compact_placement, local.family)

  flex_start       = var.market == "reserved" && var.reservation == "flex-start"
  calendar         = var.market == "reserved" && startswith(coalesce(var.reservation, "-"), "calendar:")
  reservation_name = local.flex_start || var.reservation == null ? null : trimprefix(var.reservation, "calendar:")

  provisioning_model = (
    var.market == "spot" ? "SPOT" :
    local.flex_start ? "FLEX_START" :
    local.calendar ? "RESERVATION_BOUND" : "STANDARD"
  )

  own_network   = length(var.existing_network) == 0
  network_id    = local.own_network ? one(google_compute_network.rig[*].id) : var.existing_network["network"]
  subnetwork_id = local.own_network ? one(google_compute_subnetwork.rig[*].id) : var.existing_network["subnetwork"]
  public_ip     = lookup(var.existing_network, "public_ip", "true") == "true"

  # A firewall rule takes networks of one IP version.
  ssh_ingress = {
    for version, cidrs in {
      "4" = [for cidr in var.ssh_ingress_cidrs : cidr if !strcontains(cidr, ":")]
      "6" = [for cidr in var.ssh_ingress_cidrs : cidr if strcontains(cidr, ":")]
    } : version => cidrs if length(cidrs) > 0
  }

  # "gs://bucket/a/b/" -> {bucket = "bucket", key = "a/b"}; URLs of other clouds give no rights here.
  gs_url       = "^gs://(?P<bucket>[^/]+)/?(?P<key>.*?)/?$"
  writes       = [for url in concat(compact([var.checkpoint_prefix]), var.read_write_urls) : regex(local.gs_url, url) if startswith(url, "gs://")]
  reads        = [for url in var.read_only_urls : regex(local.gs_url, url) if startswith(url, "gs://")]
  has_identity = length(local.writes) + length(local.reads) > 0 || var.artifact_repository != null
}
