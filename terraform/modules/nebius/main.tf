# Nodes. A preempted machine is stopped and never deleted, and so is one whose lease ends: its disk bills until destroy or
# `trainrig sweep`. The disk itself is a managed one, and goes with its machine.

resource "nebius_compute_v1_gpu_cluster" "rig" {
  count = local.gpu_cluster ? 1 : 0

  parent_id         = var.project
  name              = var.rig.id
  infiniband_fabric = var.existing_network["fabric"]
  labels            = local.labels
}

# What makes it another machine, and so replaces a node.
resource "terraform_data" "machine" {
  input = { instance_type = var.instance_type, market = var.market, reservation = var.reservation }
}

resource "nebius_compute_v1_instance" "node" {
  count = var.nodes

  parent_id            = var.project
  name                 = "${var.rig.id}-${count.index}"
  hostname             = "${var.rig.id}-${count.index}"
  labels               = local.labels
  cloud_init_user_data = var.cloud_init

  resources = {
    platform = local.platform
    preset   = local.preset
  }

  boot_disk = {
    attach_mode = "READ_WRITE"
    managed_disk = {
      name   = "${var.rig.id}-${count.index}"
      labels = local.labels
      spec = {
        type            = "NETWORK_SSD"
        size_gibibytes  = var.disk_gb
        source_image_id = var.image
        disk_encryption = { type = "DISK_ENCRYPTION_MANAGED" }
      }
    }
  }

  network_interfaces = [{
    name              = "eth0"
    subnet_id         = local.subnet_id
    ip_address        = {}
    public_ip_address = local.public_ip ? {} : null
    security_groups   = [{ id = nebius_vpc_v1_security_group.node.id }]
  }]

  gpu_cluster = local.gpu_cluster ? { id = nebius_compute_v1_gpu_cluster.rig[0].id } : null
  preemptible = var.market == "spot" ? { on_preemption = "STOP" } : null

  reservation_policy = {
    policy          = var.market == "reserved" ? "STRICT" : "FORBID"
    reservation_ids = compact([var.reservation])
  }

  # A node that powers itself off has reached its lease; RECOVER, the default, would start it again.
  recovery_policy = "FAIL"

  lifecycle {
    replace_triggered_by = [terraform_data.machine]
    # A newer image, a moved lease or a stop by the cloud never replaces a running node.
    ignore_changes = [boot_disk, cloud_init_user_data, stopped]
  }
}
