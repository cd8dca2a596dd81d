# One rig on Nebius. Values: terraform.tfvars.json. Inputs and their checks: variables.tf. Resources: module/.

terraform {
  required_version = ">= 1.10.0"

  required_providers {
    nebius = {
      source  = "nebius/nebius"
      version = "0.6.32"
    }
  }
}

variable "account" {
  description = "The account by reference: {profile}. Credentials come from the profile of Nebius's own CLI, or NB_* variables."
  type        = map(string)
  default     = {}
}

provider "nebius" {
  profile = contains(keys(var.account), "profile") ? { name = var.account["profile"] } : null
}

module "rig" {
  source = "./module"

  rig               = var.rig
  nodes             = var.nodes
  region            = var.region
  zone              = var.zone
  instance_type     = var.instance_type
  market            = var.market
  reservation       = var.reservation
  disk_gb           = var.disk_gb
  image             = var.image
  ssh_public_key    = var.ssh_public_key
  ssh_ingress_cidrs = var.ssh_ingress_cidrs
  lease_seconds     = var.lease_seconds
  cloud_init        = var.cloud_init
  checkpoint_prefix = var.checkpoint_prefix
  read_write_urls   = var.read_write_urls
  read_only_urls    = var.read_only_urls
  existing_network  = var.existing_network
  project           = var.project
}

output "nodes" {
  description = "The nodes in rank order."
  value       = module.rig.nodes
}
