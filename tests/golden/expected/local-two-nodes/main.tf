# A rig on this machine. Values: terraform.tfvars.json. The provider comes with trainrig, in terraform.d/plugins, where
# Terraform looks when it is started in this folder (with -chdir it looks elsewhere).

module "rig" {
  source = "./module"

  rig               = var.rig
  nodes             = var.nodes
  region            = var.region
  zone              = var.zone
  instance_type     = var.instance_type
  market            = var.market
  cpus              = var.cpus
  memory_mib        = var.memory_mib
  gpus              = var.gpus
  disk_gb           = var.disk_gb
  image             = var.image
  ssh_public_key    = var.ssh_public_key
  ssh_ingress_cidrs = var.ssh_ingress_cidrs
  lease_seconds     = var.lease_seconds
  existing_network  = var.existing_network
  checkpoint_prefix = var.checkpoint_prefix
  read_write_urls   = var.read_write_urls
  read_only_urls    = var.read_only_urls
}

output "nodes" {
  description = "One object a node: where it is and how to log in."
  value       = module.rig.nodes
}
