# The module's own logic, with a mocked provider: `terraform test` in this folder.

mock_provider "google" {}

variables {
  rig = {
    name       = "test"
    id         = "tr-test-abcd2345"
    owner      = "ada"
    expires_at = "2026-03-02T18:30:00Z"
    labels     = { managed-by = "trainrig", trainrig-run-id = "abcd2345", trainrig-expires = "1772476200" }
  }
  nodes             = 2
  region            = "us-central1"
  zone              = "us-central1-a"
  instance_type     = "a2-highgpu-8g"
  market            = "spot"
  disk_gb           = 256
  image             = "projects/deeplearning-platform-release/global/images/common-cu129-ubuntu-2204-nvidia-580-v20260909"
  ssh_public_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
  ssh_ingress_cidrs = ["203.0.113.7/32"]
  lease_seconds     = 86400
  cloud_init        = "#cloud-config\n{}\n"
}

run "spot_says_all_that_scheduling_has" {
  command = plan

  assert {
    condition = alltrue([
      for node in google_compute_instance.node :
      node.scheduling[0].provisioning_model == "SPOT" && node.scheduling[0].preemptible &&
      !node.scheduling[0].automatic_restart && node.scheduling[0].instance_termination_action == "DELETE"
    ])
    error_message = "all four fields together, or the plan flaps"
  }
  assert {
    condition     = google_compute_instance.node[0].scheduling[0].on_host_maintenance == "TERMINATE"
    error_message = "a GPU cannot migrate"
  }
}

run "the_cloud_ends_the_lease" {
  command = plan
  variables {
    market = "on_demand"
  }
  assert {
    condition     = google_compute_instance.node[0].scheduling[0].max_run_duration[0].seconds == 86400
    error_message = "max_run_duration is the lease"
  }
}

run "an_e2_migrates" {
  command = plan
  variables {
    market        = "on_demand"
    instance_type = "e2-standard-4"
  }
  assert {
    condition     = google_compute_instance.node[0].scheduling[0].on_host_maintenance == "MIGRATE"
    error_message = "an E2 refuses TERMINATE"
  }
  assert {
    condition     = length(google_compute_instance.node[0].scratch_disk) == 0
    error_message = "no local SSD for this family"
  }
}

run "flex_start_wants_no_reservation" {
  command = plan
  variables {
    market      = "reserved"
    reservation = "flex-start"
  }
  assert {
    condition     = google_compute_instance.node[0].reservation_affinity[0].type == "NO_RESERVATION"
    error_message = "flex-start refuses any other affinity"
  }
}

run "flex_start_lasts_a_week_at_most" {
  command = plan
  variables {
    market        = "reserved"
    reservation   = "flex-start"
    lease_seconds = 700000
  }
  expect_failures = [var.reservation]
}

run "bundled_ssds_are_not_named" {
  command = plan
  variables {
    instance_type = "a3-ultragpu-8g"
  }
  assert {
    condition     = length(google_compute_instance.node[0].scratch_disk) == 0
    error_message = "naming bundled SSDs replaces the machine at every apply"
  }
  assert {
    condition     = length(google_compute_subnetwork.rdma) == 8 && length(google_compute_subnetwork.gvnic) == 1
    error_message = "eight RDMA cards and a second host card"
  }
}

run "no_gpu_is_attached_to_a_machine_that_brings_its_own" {
  assert {
    condition     = length(google_compute_instance.node[0].guest_accelerator) == 0
    error_message = "a count of 0 replaced machines in one version of the provider, and again in another"
  }
}

run "an_n1_gets_its_gpus" {
  variables {
    instance_type = "n1-standard-8"
    accelerator   = { type = "nvidia-tesla-t4", count = 2 }
  }
  assert {
    condition     = google_compute_instance.node[0].guest_accelerator[0].count == 2 && google_compute_instance.node[0].scheduling[0].on_host_maintenance == "TERMINATE"
    error_message = "two GPUs, and so no migration"
  }
}

run "a_region_is_not_a_zone" {
  command = plan
  variables {
    zone = null
  }
  expect_failures = [var.zone]
}

run "the_internet_is_refused" {
  command = plan
  variables {
    ssh_ingress_cidrs = ["0.0.0.0/0"]
  }
  expect_failures = [var.ssh_ingress_cidrs]
}

run "so_are_its_halves" {
  command = plan
  variables {
    ssh_ingress_cidrs = ["0.0.0.0/1", "128.0.0.0/1"]
  }
  expect_failures = [var.ssh_ingress_cidrs]
}

run "and_the_internet_of_ipv6" {
  command = plan
  variables {
    ssh_ingress_cidrs = ["::/0"]
  }
  expect_failures = [var.ssh_ingress_cidrs]
}

run "a_floating_image_is_refused" {
  command = plan
  variables {
    image = "projects/deeplearning-platform-release/global/images/family/common-cu129"
  }
  expect_failures = [var.image]
}

run "reserved_needs_a_reservation" {
  command = plan
  variables {
    market = "reserved"
  }
  expect_failures = [var.reservation]
}

run "a_reservation_needs_reserved" {
  command = plan
  variables {
    reservation = "team"
  }
  expect_failures = [var.reservation]
}

run "no_nodes_are_refused" {
  command = plan
  variables {
    nodes = 0
  }
  expect_failures = [var.nodes]
}

run "half_a_network_is_refused" {
  command = plan
  variables {
    existing_network = { network = "n" }
  }
  expect_failures = [var.existing_network]
}

run "a_prefix_is_not_a_bucket" {
  command = plan
  variables {
    checkpoint_prefix = "gs://bucket/"
  }
  expect_failures = [var.checkpoint_prefix]
}

run "a_private_key_in_user_data_is_refused" {
  command = plan
  variables {
    cloud_init = "#cloud-config\nssh_keys: {ed25519_private: BEGIN PRIVATE KEY}\n"
  }
  expect_failures = [var.cloud_init]
}

run "a_rig_without_a_run_id_is_refused" {
  command = plan
  variables {
    rig = { name = "x", id = "tr-x-abcd2345", owner = "ada", expires_at = "2026-03-02T18:30:00Z", labels = {} }
  }
  expect_failures = [var.rig]
}

run "no_quote_ends_a_condition" {
  command = plan
  variables {
    checkpoint_prefix = "gs://bucket/x') || ('"
  }
  expect_failures = [var.checkpoint_prefix]
}

run "no_wildcard_widens_a_right" {
  command = plan
  variables {
    read_only_urls = ["gs://bucket/*"]
  }
  expect_failures = [var.read_only_urls]
}

run "nothing_to_reach_needs_no_identity" {
  command = plan
  variables {
    read_write_urls = ["s3://bucket/results"]
  }
  assert {
    condition     = length(google_service_account.node) == 0
    error_message = "an account for buckets of another cloud"
  }
}

run "rights_are_exactly_these" {
  command = plan
  variables {
    checkpoint_prefix   = "gs://ckpt/runs/abcd2345/"
    read_write_urls     = ["gs://results/finetune", "gs://scratch"]
    read_only_urls      = ["gs://data/imagenet/"]
    artifact_repository = { project = "shared-images", location = "europe", name = "team" }
  }
  assert {
    condition = [for m in google_storage_bucket_iam_member.writes : "${m.bucket} ${m.role} ${join("", m.condition[*].expression)}"] == [
      "ckpt roles/storage.objectUser resource.name.startsWith('projects/_/buckets/ckpt/objects/runs/abcd2345/') || api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('runs/abcd2345/')",
      "results roles/storage.objectUser resource.name.startsWith('projects/_/buckets/results/objects/finetune/') || api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('finetune/')",
      "scratch roles/storage.objectUser ",
    ]
    error_message = "write where the job writes"
  }
  assert {
    condition     = [for m in google_storage_bucket_iam_member.reads : "${m.bucket} ${m.role}"] == ["data roles/storage.objectViewer"]
    error_message = "read where it reads"
  }
  assert {
    condition = [for m in google_artifact_registry_repository_iam_member.image : "${m.project}/${m.location}/${m.repository} ${m.role}"] == [
      "shared-images/europe/team roles/artifactregistry.reader",
    ]
    error_message = "and the image's repository"
  }
}

run "no_wildcard_widens_a_right_to_write" {
  command = plan
  variables {
    read_write_urls = ["gs://bucket/*"]
  }
  expect_failures = [var.read_write_urls]
}

run "a_repository_lies_in_one_project" {
  command = plan
  variables {
    artifact_repository = { project = "projects/shared", location = "europe", name = "team" }
  }
  expect_failures = [var.artifact_repository]
}
