# One rig on Google Cloud. Values: terraform.tfvars.json. Inputs and their checks: variables.tf. Resources: module/.

terraform {
  required_version = ">= 1.10.0"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "8.7.0"
    }
  }
}

variable "account" {
  description = "The account by reference: {project, impersonate_service_account}. Credentials come from the environment (Application Default Credentials)."
  type        = map(string)
  default     = {}
}

provider "google" {
  project                     = lookup(var.account, "project", null)
  region                      = var.region
  impersonate_service_account = lookup(var.account, "impersonate_service_account", null)
  # Labels are the rig's alone, so that they can be compared.
  add_terraform_attribution_label = false
}

module "rig" {
  source = "./module"

  rig                 = var.rig
  nodes               = var.nodes
  region              = var.region
  zone                = var.zone
  instance_type       = var.instance_type
  market              = var.market
  reservation         = var.reservation
  disk_gb             = var.disk_gb
  image               = var.image
  ssh_public_key      = var.ssh_public_key
  ssh_ingress_cidrs   = var.ssh_ingress_cidrs
  lease_seconds       = var.lease_seconds
  cloud_init          = var.cloud_init
  checkpoint_prefix   = var.checkpoint_prefix
  read_write_urls     = var.read_write_urls
  read_only_urls      = var.read_only_urls
  existing_network    = var.existing_network
  accelerator         = var.accelerator
  local_ssd           = var.local_ssd
  artifact_repository = var.artifact_repository
}

output "nodes" {
  description = "The nodes in rank order."
  value       = module.rig.nodes
}
