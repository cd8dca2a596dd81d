# The network of the rig: its own, or a given one. Nothing here takes labels on Google Cloud, so names and descriptions
# carry the rig's id. What others put into the rig's own network (an organisation's firewall rules) keeps it from going away
# (cluster-toolkit#376), and the error of the destroy names it.

resource "google_compute_network" "rig" {
  count = local.own_network ? 1 : 0

  name                    = var.rig.id
  description             = "Nodes of the rig ${var.rig.id}, until ${var.rig.expires_at}"
  auto_create_subnetworks = false
  mtu                     = 8896 # the most that Google takes: collectives like big frames

  lifecycle {
    ignore_changes = [description] # a moved lease must not make another network
  }
}

resource "google_compute_subnetwork" "rig" {
  count = local.own_network ? 1 : 0

  name                     = var.rig.id
  description              = "Nodes of the rig ${var.rig.id}"
  network                  = google_compute_network.rig[0].id
  region                   = var.region
  ip_cidr_range            = "10.77.0.0/20"
  private_ip_google_access = true
}

resource "google_compute_firewall" "ssh" {
  for_each = local.ssh_ingress

  name          = "${var.rig.id}-ssh${each.key}"
  description   = "SSH to the rig ${var.rig.id}"
  network       = local.network_id
  direction     = "INGRESS"
  source_ranges = each.value
  target_tags   = [var.rig.id]

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}

resource "google_compute_firewall" "nodes" {
  count = local.multi_node ? 1 : 0

  name        = "${var.rig.id}-nodes"
  description = "Between the nodes of the rig ${var.rig.id}"
  network     = local.network_id
  direction   = "INGRESS"
  source_tags = [var.rig.id]
  target_tags = [var.rig.id]

  allow {
    protocol = "all"
  }
}

# A GPU network of its own for each GVNIC beyond the first.
resource "google_compute_network" "gvnic" {
  count = local.gvnic_nics

  name                    = "${var.rig.id}-gvnic-${count.index}"
  description             = "Between the GPUs of the rig ${var.rig.id}, until ${var.rig.expires_at}"
  auto_create_subnetworks = false
  mtu                     = 8244 # GPUDirect-TCPX's

  lifecycle {
    ignore_changes = [description] # a moved lease must not make another network
  }
}

resource "google_compute_subnetwork" "gvnic" {
  count = local.gvnic_nics

  name                     = "${var.rig.id}-gvnic-${count.index}"
  description              = "Between the GPUs of the rig ${var.rig.id}"
  network                  = google_compute_network.gvnic[count.index].id
  region                   = var.region
  ip_cidr_range            = "10.${128 + count.index}.0.0/20"
  private_ip_google_access = true
}

resource "google_compute_firewall" "gvnic" {
  count = local.gvnic_nics

  name          = "${var.rig.id}-gvnic-${count.index}"
  description   = "Between the GPUs of the rig ${var.rig.id}"
  network       = google_compute_network.gvnic[count.index].id
  direction     = "INGRESS"
  source_ranges = [google_compute_subnetwork.gvnic[count.index].ip_cidr_range]

  allow {
    protocol = "all"
  }
}

# One RoCE network for all RDMA cards, one subnetwork a card. Its profile allows no firewall rules and no way in.
resource "google_compute_network" "rdma" {
  count = local.rdma_nics > 0 ? 1 : 0

  name                    = "${var.rig.id}-rdma"
  description             = "Between the GPUs of the rig ${var.rig.id}, until ${var.rig.expires_at}"
  auto_create_subnetworks = false
  mtu                     = 8896
  network_profile         = "projects/${google_compute_network.gvnic[0].project}/global/networkProfiles/${var.zone}-vpc-roce"

  lifecycle {
    ignore_changes = [description] # a moved lease must not make another network
  }
}

resource "google_compute_subnetwork" "rdma" {
  count = local.rdma_nics

  name          = "${var.rig.id}-rdma-${count.index}"
  description   = "Between the GPUs of the rig ${var.rig.id}"
  network       = google_compute_network.rdma[0].id
  region        = var.region
  ip_cidr_range = "10.${160 + count.index}.0.0/20"
}
