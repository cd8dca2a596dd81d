# One rig on Azure. Values: terraform.tfvars.json. Inputs and their checks: variables.tf. Resources: module/.

terraform {
  required_version = ">= 1.10.0"

  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "5.10.0"
    }
  }
}

variable "account" {
  description = "The account by reference: {subscription, tenant, client_id}. Credentials come from the environment or `az login`."
  type        = map(string)
  default     = {}
}

provider "azurerm" {
  subscription_id = lookup(var.account, "subscription", null)
  tenant_id       = lookup(var.account, "tenant", null)
  client_id       = lookup(var.account, "client_id", null)

  # Since 5.0 the provider registers nothing by itself.
  resource_provider_registrations = "none"
  resource_providers_to_register = [
    "Microsoft.Compute",
    "Microsoft.DevTestLab",
    "Microsoft.ManagedIdentity",
    "Microsoft.Network",
  ]

  features {
    # The group is the rig's alone, so it may go with what a failed create left in it (terraform-provider-azurerm#753).
    resource_group {
      prevent_deletion_if_contains_resources = false
    }
    virtual_machine {
      delete_os_disk_on_deletion     = true
      skip_shutdown_and_force_delete = true
    }
  }
}

module "rig" {
  source = "./module"

  rig                     = var.rig
  nodes                   = var.nodes
  region                  = var.region
  zone                    = var.zone
  instance_type           = var.instance_type
  market                  = var.market
  reservation             = var.reservation
  disk_gb                 = var.disk_gb
  image                   = var.image
  ssh_public_key          = var.ssh_public_key
  ssh_ingress_cidrs       = var.ssh_ingress_cidrs
  lease_seconds           = var.lease_seconds
  cloud_init              = var.cloud_init
  checkpoint_prefix       = var.checkpoint_prefix
  read_write_urls         = var.read_write_urls
  read_only_urls          = var.read_only_urls
  existing_network        = var.existing_network
  storage_resource_group  = var.storage_resource_group
  data_resource_group     = var.data_resource_group
  encryption_at_host      = var.encryption_at_host
  container_registry      = var.container_registry
  registry_resource_group = var.registry_resource_group
}

output "nodes" {
  description = "The nodes in rank order."
  value       = module.rig.nodes
}
