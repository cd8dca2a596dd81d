# The module's own logic, with a mocked provider: `terraform test` in this folder.

mock_provider "azurerm" {
  mock_resource "azurerm_resource_group" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/tr-test-abcd2345"
    }
  }
}

variables {
  rig = {
    name       = "test"
    id         = "tr-test-abcd2345"
    owner      = "ada"
    expires_at = "2026-03-02T18:30:00Z"
    labels     = { managed-by = "trainrig", trainrig-run-id = "abcd2345", trainrig-expires = "1772476200" }
  }
  nodes             = 2
  region            = "eastus"
  zone              = "1"
  instance_type     = "Standard_NC24ads_A100_v4"
  market            = "on_demand"
  disk_gb           = 256
  image             = "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901"
  ssh_public_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
  ssh_ingress_cidrs = ["203.0.113.7/32"]
  lease_seconds     = 86400
  cloud_init        = "#cloud-config\n{}\n"
}

run "an_eviction_policy_is_for_spot" {
  command = plan
  variables {
    instance_type = "Standard_ND96isr_H100_v5"
    market        = "spot"
  }
  expect_failures = [check.infiniband] # a warning: spot machines get no InfiniBand

  assert {
    condition     = azurerm_linux_virtual_machine.node[0].priority == "Spot" && azurerm_linux_virtual_machine.node[0].eviction_policy == "Delete"
    error_message = "spot is evicted by deletion"
  }
}

run "and_for_spot_alone" {
  command = plan
  variables {
    instance_type = "Standard_ND96isr_H100_v5"
  }
  assert {
    condition     = azurerm_linux_virtual_machine.node[0].priority == "Regular" && azurerm_linux_virtual_machine.node[0].eviction_policy == null
    error_message = "a regular machine refuses an eviction policy"
  }
  assert {
    condition     = length(azurerm_availability_set.rig) == 1 && azurerm_linux_virtual_machine.node[0].zone == null
    error_message = "InfiniBand is in an availability set, which has no zone"
  }
}

run "a_reservation_stands_alone" {
  command = plan
  variables {
    instance_type = "Standard_ND96isr_H100_v5"
    market        = "reserved"
    reservation   = "/subscriptions/0/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/g"
  }
  expect_failures = [check.infiniband]

  assert {
    condition     = length(azurerm_availability_set.rig) + length(azurerm_proximity_placement_group.rig) == 0
    error_message = "a capacity reservation goes with neither"
  }
}

run "a_days_lease_is_the_clouds" {
  command = plan
  assert {
    condition     = azurerm_dev_test_global_vm_shutdown_schedule.node[0].enabled && azurerm_dev_test_global_vm_shutdown_schedule.node[0].daily_recurrence_time == "1830"
    error_message = "the hour of rig.expires_at"
  }
}

run "a_weeks_lease_is_not" {
  command = plan
  variables {
    lease_seconds = 604800
  }
  assert {
    condition     = !azurerm_dev_test_global_vm_shutdown_schedule.node[0].enabled
    error_message = "a daily schedule would end it on the first day"
  }
}

run "a_store_needs_its_group" {
  command = plan
  variables {
    checkpoint_prefix = "az://account/container/runs/x/"
  }
  expect_failures = [var.checkpoint_prefix]
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
    image = "microsoft-dsvm:ubuntu-hpc:2404:latest"
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
    reservation = "/subscriptions/0/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/g"
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
    existing_network = { vnet = "v" }
  }
  expect_failures = [var.existing_network]
}

run "a_prefix_is_not_a_bucket" {
  command = plan
  variables {
    checkpoint_prefix = "az://bucket/"
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
    checkpoint_prefix      = "az://account/container/x') || ('"
    storage_resource_group = "data"
  }
  expect_failures = [var.checkpoint_prefix]
}

run "no_wildcard_widens_a_right" {
  command = plan
  variables {
    read_only_urls         = ["az://account/container/*"]
    storage_resource_group = "data"
  }
  expect_failures = [var.read_only_urls]
}

run "nothing_to_reach_needs_no_identity" {
  command = plan
  variables {
    read_write_urls = ["s3://bucket/results"]
  }
  assert {
    condition     = length(azurerm_user_assigned_identity.node) == 0
    error_message = "an identity for buckets of another cloud"
  }
}

run "rights_are_exactly_these" {
  variables {
    checkpoint_prefix       = "az://ckpt/runs/team/abcd2345/"
    read_write_urls         = ["az://data/results/finetune", "az://data/scratch"]
    read_only_urls          = ["az://data/sets/imagenet/"]
    storage_resource_group  = "storage"
    container_registry      = "teamimages"
    registry_resource_group = "images"
  }
  assert {
    condition = { for a in concat(values(azurerm_role_assignment.writes), values(azurerm_role_assignment.reads), azurerm_role_assignment.image) : trimprefix(a.scope, "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/") => a.role_definition_name } == {
      "storage/providers/Microsoft.Storage/storageAccounts/ckpt/blobServices/default/containers/runs"    = "Storage Blob Data Contributor"
      "storage/providers/Microsoft.Storage/storageAccounts/data/blobServices/default/containers/results" = "Storage Blob Data Contributor"
      "storage/providers/Microsoft.Storage/storageAccounts/data/blobServices/default/containers/scratch" = "Storage Blob Data Contributor"
      "storage/providers/Microsoft.Storage/storageAccounts/data/blobServices/default/containers/sets"    = "Storage Blob Data Reader"
      "images/providers/Microsoft.ContainerRegistry/registries/teamimages"                               = "AcrPull"
    }
    error_message = "write where the job writes, read where it reads, and the image's registry"
  }
  assert {
    condition     = [for a in azurerm_role_assignment.writes : try(regexall("StringStartsWith '([^']*)'", a.condition)[0][0], "")] == ["team/abcd2345/", "finetune/", ""]
    error_message = "below a folder where the URL has one"
  }
}

run "data_may_lie_in_another_group_than_the_store" {
  variables {
    checkpoint_prefix      = "az://ckpt/runs/team/abcd2345/"
    read_write_urls        = ["az://ckpt/scratch/a"]
    read_only_urls         = ["az://data/sets/imagenet", "az://data/sets/imagenet/part"]
    storage_resource_group = "storage"
    data_resource_group    = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/data"
  }
  assert {
    condition = distinct([for a in concat(values(azurerm_role_assignment.writes), values(azurerm_role_assignment.reads)) : split("/blobServices", a.scope)[0]]) == tolist([
      "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/storage/providers/Microsoft.Storage/storageAccounts/ckpt",
      "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/data/providers/Microsoft.Storage/storageAccounts/data",
    ])
    error_message = "the account of the store in its group, others in that of the data"
  }
}

run "a_registry_may_lie_in_another_subscription" {
  variables {
    container_registry      = "teamimages"
    registry_resource_group = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/images"
  }
  assert {
    condition     = azurerm_role_assignment.image[0].scope == "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/images/providers/Microsoft.ContainerRegistry/registries/teamimages"
    error_message = "the group says in which"
  }
}

run "a_registry_needs_its_group" {
  command = plan
  variables {
    container_registry = "teamimages"
  }
  expect_failures = [var.container_registry]
}

run "no_wildcard_widens_a_right_to_write" {
  command = plan
  variables {
    read_write_urls        = ["az://account/container/*"]
    storage_resource_group = "data"
  }
  expect_failures = [var.read_write_urls]
}
