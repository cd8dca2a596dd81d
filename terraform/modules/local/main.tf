locals {
  # Rank r gets the GPUs r*n to r*n+n-1, so that no two nodes share one.
  gpu_ids = [for rank in range(var.nodes) : [for i in range(var.gpus) : tostring(rank * var.gpus + i)]]
}

resource "trainrig_local_network" "rig" {
  name   = var.rig.id
  labels = var.rig.labels
  subnet = lookup(var.existing_network, "subnet", null)
}

resource "trainrig_local_node" "node" {
  count = var.nodes

  name           = "${var.rig.id}-${count.index}"
  image          = var.image
  network        = trainrig_local_network.rig.name
  cpus           = var.cpus
  memory_mib     = var.memory_mib
  gpu_ids        = local.gpu_ids[count.index]
  ssh_public_key = var.ssh_public_key
  expires_at     = var.rig.expires_at
  labels         = merge(var.rig.labels, { trainrig-market = var.market, trainrig-type = replace(var.instance_type, ".", "-") })
  status         = "running"
}
