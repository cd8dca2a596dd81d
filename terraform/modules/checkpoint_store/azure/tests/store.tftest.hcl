# The module's own logic, with a mocked provider: `terraform test` in this folder.

mock_provider "azurerm" {}

variables {
  storage_account = "teamckpt"
  name            = "runs"
  resource_group  = "trainrig-store"
  region          = "westeurope"
  labels          = { managed-by = "trainrig-store" }
}

run "nobody_else_gets_in" {
  command = plan

  assert {
    condition     = !azurerm_storage_account.store.allow_nested_items_to_be_public && azurerm_storage_container.store.container_access_type == "private"
    error_message = "nothing is public"
  }
  assert {
    condition     = !azurerm_storage_account.store.shared_access_key_enabled && azurerm_storage_account.store.default_to_oauth_authentication
    error_message = "a key of the account opens all of it to whoever holds it"
  }
  assert {
    condition     = azurerm_storage_account.store.https_traffic_only_enabled && azurerm_storage_account.store.min_tls_version == "TLS1_2"
    error_message = "TLS alone"
  }
}

run "it_is_encrypted_twice" {
  command = plan
  assert {
    condition     = azurerm_storage_account.store.infrastructure_encryption_enabled
    error_message = "it cannot be switched on later"
  }
}

run "what_is_overwritten_can_be_brought_back_for_a_while" {
  command = plan

  assert {
    condition     = azurerm_storage_account.store.blob_properties[0].versioning_enabled
    error_message = "versioned"
  }
  assert {
    condition     = azurerm_storage_account.store.blob_properties[0].delete_retention_policy[0].days == 30 && azurerm_storage_account.store.blob_properties[0].container_delete_retention_policy[0].days == 30
    error_message = "what is deleted, and a container that is, can be brought back"
  }
  assert {
    condition = alltrue([
      for rule in azurerm_storage_management_policy.store.rule :
      rule.enabled && length(rule.actions[0].base_blob) == 0 && rule.actions[0].version[0].delete_after_days_since_creation == 30
    ])
    error_message = "old versions go, and nothing that is current"
  }
}

run "a_year_is_the_most_that_azure_keeps_what_is_deleted" {
  command = plan
  variables {
    noncurrent_days = 730
  }
  assert {
    condition     = azurerm_storage_account.store.blob_properties[0].delete_retention_policy[0].days == 365 && azurerm_storage_management_policy.store.rule[0].actions[0].version[0].delete_after_days_since_creation == 730
    error_message = "Azure refuses more than 365"
  }
}

run "others_cannot_delete_it" {
  command = plan
  assert {
    condition     = azurerm_management_lock.store.lock_level == "CanNotDelete"
    error_message = "Azure deletes an account with all that it holds, without asking"
  }
}

run "a_store_that_a_sweep_would_find_is_refused" {
  command = plan
  variables {
    labels = { trainrig-run-id = "abcd2345" }
  }
  expect_failures = [var.labels]
}

run "copies_in_another_region_are_refused" {
  command = plan
  variables {
    replication = "GRS"
  }
  expect_failures = [var.replication]
}

run "no_history_is_refused" {
  command = plan
  variables {
    noncurrent_days = 0
  }
  expect_failures = [var.noncurrent_days]
}

run "an_account_that_azure_would_refuse_is_refused_before" {
  command = plan
  variables {
    storage_account = "team-ckpt"
  }
  expect_failures = [var.storage_account]
}
