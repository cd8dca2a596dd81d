# A storage account that outlives every rig. Rigs get rights below their own prefix (modules/azure), never on the account.

resource "azurerm_resource_group" "store" {
  name     = var.resource_group
  location = var.region
  tags     = var.labels
}

resource "azurerm_storage_account" "store" {
  name                     = var.storage_account
  resource_group_name      = azurerm_resource_group.store.name
  location                 = azurerm_resource_group.store.location
  account_kind             = "StorageV2"
  account_tier             = "Standard"
  account_replication_type = var.replication
  tags                     = var.labels

  https_traffic_only_enabled        = true
  min_tls_version                   = "TLS1_2"
  infrastructure_encryption_enabled = true
  allow_nested_items_to_be_public   = false
  # Keys of an account open all of it to whoever holds them; identities can be limited to a prefix.
  shared_access_key_enabled       = false
  default_to_oauth_authentication = true

  blob_properties {
    versioning_enabled = true

    delete_retention_policy {
      days = min(var.noncurrent_days, 365)
    }
    container_delete_retention_policy {
      days = min(var.noncurrent_days, 365)
    }
  }
}

resource "azurerm_storage_container" "store" {
  name                  = var.name
  storage_account_id    = azurerm_storage_account.store.id
  container_access_type = "private"
}

resource "azurerm_storage_management_policy" "store" {
  storage_account_id = azurerm_storage_account.store.id

  rule {
    name    = "old-versions"
    enabled = true

    filters {
      blob_types = ["blockBlob"]
    }
    actions {
      version {
        delete_after_days_since_creation = var.noncurrent_days
      }
    }
  }
}

# Azure deletes an account with all that it holds, without asking. This stops everybody but Terraform, which takes the
# lock away first; before a destroy trainrig looks itself whether the container is empty.
resource "azurerm_management_lock" "store" {
  name       = "trainrig-store"
  scope      = azurerm_storage_account.store.id
  lock_level = "CanNotDelete"
  notes      = "Checkpoints or Terraform state. Goes away with: trainrig store destroy."

  depends_on = [azurerm_storage_container.store, azurerm_storage_management_policy.store]
}
