# Nodes. What may change while a node lives (labels) is changed in place; what may not is ignored, and never replaces one.

# Compact placement: the nodes of one rig on neighbouring hosts.
resource "google_compute_resource_policy" "rig" {
  count = local.placement_policy ? 1 : 0

  name        = var.rig.id
  region      = var.region
  description = "Nodes of the rig ${var.rig.id}"

  group_placement_policy {
    collocation = "COLLOCATED"
  }
}

# What makes it another machine, and so replaces a node.
resource "terraform_data" "machine" {
  input = { instance_type = var.instance_type, market = var.market, reservation = var.reservation }
}

resource "google_compute_instance" "node" {
  count = var.nodes

  name              = "${var.rig.id}-${count.index}"
  description       = "Node ${count.index} of the rig ${var.rig.id}"
  machine_type      = var.instance_type
  zone              = var.zone
  tags              = [var.rig.id]
  labels            = local.labels
  resource_policies = google_compute_resource_policy.rig[*].self_link

  boot_disk {
    auto_delete = true # by the VM alone: two sides that delete race (cluster-toolkit PR #283)

    initialize_params {
      image  = var.image
      size   = var.disk_gb
      type   = local.boot_disk
      labels = local.labels
    }
  }

  # Only for types where they are a choice: elsewhere the SSDs are bundled, and naming them replaces the VM at every
  # apply (cloud-foundation-fabric#4148).
  dynamic "scratch_disk" {
    for_each = range(local.local_ssds)
    content {
      interface = "NVME"
    }
  }

  # No block at all rather than a count of 0, which replaced VMs in 7.9 and again in 8.0 (terraform-provider-google#24937,
  # #25019).
  dynamic "guest_accelerator" {
    for_each = var.accelerator == null ? [] : [var.accelerator]
    content {
      type  = guest_accelerator.value.type
      count = guest_accelerator.value.count
    }
  }

  # All fields together, always: with one missing the plan flaps or the API refuses (cloud-foundation-fabric#778,
  # terraform-google-vm#254). A GPU cannot migrate (terraform-provider-google PR #1540), an E2 must
  # (chainguard-dev/terraform-infra-common#935).
  scheduling {
    provisioning_model          = local.provisioning_model
    preemptible                 = var.market == "spot"
    automatic_restart           = false # a lost node is trainrig's to replace, on another offer if need be
    on_host_maintenance         = local.gpu || var.market == "spot" || local.flex_start ? "TERMINATE" : "MIGRATE"
    instance_termination_action = "DELETE" # a stopped VM goes on billing its disks (teamcity-google-agent#14)

    # The lease, enforced by the cloud. A calendar reservation has its own end.
    dynamic "max_run_duration" {
      for_each = local.calendar ? [] : [var.lease_seconds]
      content {
        seconds = max_run_duration.value
      }
    }
  }

  # Without this an on-demand node eats a reservation that fits it, and flex-start refuses (skypilot#9607).
  reservation_affinity {
    type = local.reservation_name == null ? "NO_RESERVATION" : "SPECIFIC_RESERVATION"

    dynamic "specific_reservation" {
      for_each = compact([local.reservation_name])
      content {
        key    = "compute.googleapis.com/reservation-name"
        values = [specific_reservation.value]
      }
    }
  }

  network_interface {
    subnetwork = local.subnetwork_id
    nic_type   = local.gpu ? "GVNIC" : null

    dynamic "access_config" {
      for_each = local.public_ip ? ["ephemeral"] : []
      content {}
    }
  }

  dynamic "network_interface" {
    for_each = google_compute_subnetwork.gvnic
    content {
      subnetwork = network_interface.value.id
      nic_type   = "GVNIC"
    }
  }

  dynamic "network_interface" {
    for_each = google_compute_subnetwork.rdma
    content {
      subnetwork = network_interface.value.id
      nic_type   = "MRDMA"
    }
  }

  # No block, no identity: a node without data rights does not get the project's default account.
  dynamic "service_account" {
    for_each = google_service_account.node
    content {
      email  = service_account.value.email
      scopes = ["cloud-platform"] # the role on the bucket is the limit
    }
  }

  shielded_instance_config {
    enable_secure_boot          = false # NVIDIA's module in these images is not signed for it
    enable_vtpm                 = true
    enable_integrity_monitoring = true
  }

  metadata = {
    user-data               = var.cloud_init
    ssh-keys                = "${local.ssh_user}:${var.ssh_public_key}"
    block-project-ssh-keys  = "TRUE"
    enable-oslogin          = "FALSE"
    enable-guest-attributes = "TRUE" # the guest agent publishes the host key there
  }

  timeouts {
    create = "10m" # an H100 that is "still creating" after 26 minutes never comes (terraform-provider-google#852)
    delete = "20m"
  }

  lifecycle {
    replace_triggered_by = [terraform_data.machine]
    # Each of these deletes the VM when it changes (terraform-provider-google#26148, #21944), the labels of the disk among
    # them, and none is worth that.
    ignore_changes = [
      boot_disk,
      scheduling[0].max_run_duration,
      scratch_disk,
      metadata["user-data"],
    ]
  }

  depends_on = [
    google_storage_bucket_iam_member.writes,
    google_storage_bucket_iam_member.reads,
    google_artifact_registry_repository_iam_member.image,
  ]
}
