output "url" {
  description = "For `checkpoint_store` of an environment."
  value       = "az://${azurerm_storage_account.store.name}/${azurerm_storage_container.store.name}/trainrig"
}

output "backend" {
  description = "For `state` of an environment: what Terraform's azurerm backend takes."
  value = {
    resource_group_name  = azurerm_resource_group.store.name
    storage_account_name = azurerm_storage_account.store.name
    container_name       = azurerm_storage_container.store.name
  }
}
