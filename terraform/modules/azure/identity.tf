# What a node may do in the subscription: write its run's checkpoints and the containers that the job works on, read its inputs
# and its image.

resource "azurerm_user_assigned_identity" "node" {
  count = local.has_identity ? 1 : 0

  name                = var.rig.id
  resource_group_name = azurerm_resource_group.rig.name
  location            = azurerm_resource_group.rig.location
  tags                = local.labels
}

locals {
  blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"

  # By name in the rig's own subscription, which is read off its group: no data source, and so no call at plan time.
  subscription = split("/", azurerm_resource_group.rig.id)[2]
  groups = {
    for what, group in {
      store    = coalesce(var.storage_resource_group, "-")
      data     = coalesce(var.data_resource_group, var.storage_resource_group, "-")
      registry = coalesce(var.registry_resource_group, "-")
    } : what => startswith(group, "/") ? group : "/subscriptions/${local.subscription}/resourceGroups/${group}"
  }

  # The account of the run's own place is the checkpoint store's; others hold the team's data.
  store_account = one([for url in compact([var.checkpoint_prefix]) : regex(local.az_url, url).account if startswith(url, "az://")])
  scopes = {
    for place in concat(local.writes, local.reads) :
    "${place.account}/${place.container}" => "${local.groups[place.account == local.store_account ? "store" : "data"]}/providers/Microsoft.Storage/storageAccounts/${place.account}/blobServices/default/containers/${place.container}"...
  }
}

resource "azurerm_role_assignment" "writes" {
  for_each = { for i, place in local.writes : tostring(i) => place }

  scope                            = local.scopes["${each.value.account}/${each.value.container}"][0]
  role_definition_name             = "Storage Blob Data Contributor"
  principal_id                     = azurerm_user_assigned_identity.node[0].principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true # a new identity is not everywhere at once
  description                      = "Only what this run writes"

  # A blob is judged by its path, a listing by the prefix that it asks for. None for a container that the job works on as a
  # whole.
  condition_version = each.value.key == "" ? null : "2.0"
  condition         = each.value.key == "" ? null : <<-EOT
    ((!(ActionMatches{'${local.blobs}/read'} AND NOT SubOperationMatches{'Blob.List'})
      AND !(ActionMatches{'${local.blobs}/write'}) AND !(ActionMatches{'${local.blobs}/add/action'})
      AND !(ActionMatches{'${local.blobs}/move/action'}) AND !(ActionMatches{'${local.blobs}/delete'}))
     OR @Resource[${local.blobs}:path] StringStartsWith '${each.value.key}/')
    AND (!(ActionMatches{'${local.blobs}/read'} AND SubOperationMatches{'Blob.List'})
     OR @Request[${local.blobs}:prefix] StringStartsWith '${each.value.key}/')
  EOT
}

resource "azurerm_role_assignment" "reads" {
  for_each = { for i, place in local.reads : tostring(i) => place }

  scope                            = local.scopes["${each.value.account}/${each.value.container}"][0]
  role_definition_name             = "Storage Blob Data Reader"
  principal_id                     = azurerm_user_assigned_identity.node[0].principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
  description                      = "Only this input of the run"

  # An input's URL may name a container, a folder or one blob.
  condition_version = each.value.key == "" ? null : "2.0"
  condition         = each.value.key == "" ? null : <<-EOT
    ((!(ActionMatches{'${local.blobs}/read'} AND NOT SubOperationMatches{'Blob.List'}))
     OR @Resource[${local.blobs}:path] StringEquals '${each.value.key}'
     OR @Resource[${local.blobs}:path] StringStartsWith '${each.value.key}/')
    AND (!(ActionMatches{'${local.blobs}/read'} AND SubOperationMatches{'Blob.List'})
     OR @Request[${local.blobs}:prefix] StringEquals '${each.value.key}'
     OR @Request[${local.blobs}:prefix] StringStartsWith '${each.value.key}/')
  EOT
}

# Azure's role for reading a registry is on all of it.
resource "azurerm_role_assignment" "image" {
  count = var.container_registry == null ? 0 : 1

  scope                            = "${local.groups.registry}/providers/Microsoft.ContainerRegistry/registries/${var.container_registry}"
  role_definition_name             = "AcrPull"
  principal_id                     = azurerm_user_assigned_identity.node[0].principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
  description                      = "The container of this run"
}
