# One rig on AWS. Values: terraform.tfvars.json. Inputs and their checks: variables.tf. Resources: module/.

terraform {
  required_version = ">= 1.10.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.69.1"
    }
  }
}

variable "account" {
  description = "The account by reference: {profile, role_arn, account_id}. Credentials come from the environment or the profile."
  type        = map(string)
  default     = {}
}

provider "aws" {
  region              = var.region
  profile             = lookup(var.account, "profile", null)
  allowed_account_ids = contains(keys(var.account), "account_id") ? [var.account["account_id"]] : null
  # The provider's default of 25 keeps a stock-out going for most of an hour (terraform-provider-aws#49863).
  max_retries = 3

  dynamic "assume_role" {
    for_each = compact([lookup(var.account, "role_arn", null)])
    content {
      role_arn     = assume_role.value
      session_name = "trainrig"
    }
  }
}

module "rig" {
  source = "./module"

  rig                    = var.rig
  nodes                  = var.nodes
  region                 = var.region
  zone                   = var.zone
  instance_type          = var.instance_type
  market                 = var.market
  reservation            = var.reservation
  disk_gb                = var.disk_gb
  image                  = var.image
  ssh_public_key         = var.ssh_public_key
  ssh_ingress_cidrs      = var.ssh_ingress_cidrs
  lease_seconds          = var.lease_seconds
  cloud_init             = var.cloud_init
  checkpoint_prefix      = var.checkpoint_prefix
  read_write_urls        = var.read_write_urls
  read_only_urls         = var.read_only_urls
  existing_network       = var.existing_network
  permissions_boundary   = var.permissions_boundary
  checkpoint_kms_key_arn = var.checkpoint_kms_key_arn
  ecr_repository_arn     = var.ecr_repository_arn
}

output "nodes" {
  description = "The nodes in rank order."
  value       = module.rig.nodes
}
