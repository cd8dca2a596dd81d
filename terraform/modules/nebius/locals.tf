locals {
  # The image decides the user; Nebius's own images are Ubuntu.
  ssh_user = "ubuntu"
  labels   = var.rig.labels

  platform = split("_", var.instance_type)[0]
  preset   = split("_", var.instance_type)[1]

  # InfiniBand joins whole machines of eight GPUs, within one fabric, which differs per region and is the caller's to name.
  gpu_cluster = var.nodes > 1 && startswith(local.preset, "8gpu-") && contains(keys(var.existing_network), "fabric")

  own_network = !contains(keys(var.existing_network), "subnet")
  network_id  = local.own_network ? one(nebius_vpc_v1_network.rig[*].id) : var.existing_network["network"]
  subnet_id   = local.own_network ? one(nebius_vpc_v1_subnet.rig[*].id) : var.existing_network["subnet"]
  public_ip   = lookup(var.existing_network, "public_ip", "true") == "true"
}
