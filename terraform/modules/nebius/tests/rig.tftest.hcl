# The module's own logic, with a mocked provider: `terraform test` in this folder.

mock_provider "nebius" {}

variables {
  rig = {
    name       = "test"
    id         = "tr-test-abcd2345"
    owner      = "ada"
    expires_at = "2026-03-02T18:30:00Z"
    labels     = { managed-by = "trainrig", trainrig-run-id = "abcd2345", trainrig-expires = "1772476200" }
  }
  nodes             = 2
  region            = "eu-north1"
  instance_type     = "gpu-h100-sxm_8gpu-128vcpu-1600gb"
  market            = "spot"
  disk_gb           = 256
  image             = "computeimage-e00example"
  ssh_public_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
  ssh_ingress_cidrs = ["203.0.113.7/32"]
  lease_seconds     = 86400
  cloud_init        = "#cloud-config\n{}\n"
}

run "spot_is_preemptible_and_does_not_come_back" {
  command = plan

  assert {
    condition     = nebius_compute_v1_instance.node[0].preemptible.on_preemption == "STOP"
    error_message = "spot is preemptible"
  }
  assert {
    condition     = nebius_compute_v1_instance.node[0].recovery_policy == "FAIL"
    error_message = "a node that ended itself must not be started again"
  }
}

run "on_demand_draws_on_no_reservation" {
  command = plan
  variables {
    market = "on_demand"
  }
  assert {
    condition     = nebius_compute_v1_instance.node[0].preemptible == null && nebius_compute_v1_instance.node[0].reservation_policy.policy == "FORBID"
    error_message = "a team's reserved capacity is for those who ask for it"
  }
}

run "infiniband_needs_a_fabric_by_name" {
  command = plan
  variables {
    existing_network = { fabric = "fabric-4" }
  }
  assert {
    condition     = length(nebius_compute_v1_gpu_cluster.rig) == 1
    error_message = "two machines of eight GPUs share a GPU cluster"
  }
}

run "without_one_there_is_no_cluster" {
  command = plan
  assert {
    condition     = length(nebius_compute_v1_gpu_cluster.rig) == 0
    error_message = "nobody named a fabric"
  }
}

run "a_family_is_refused" {
  command = plan
  variables {
    image = "ubuntu24.04-cuda12"
  }
  expect_failures = [var.image]
}

run "ssh_is_never_open_to_all" {
  command = plan
  variables {
    ssh_ingress_cidrs = ["0.0.0.0/0"]
  }
  expect_failures = [var.ssh_ingress_cidrs]
}
