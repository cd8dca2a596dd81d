variable "rig" {
  description = "Who the rig is: every resource name starts with `id`, every resource carries `labels`."
  type = object({
    name       = string
    id         = string
    owner      = string
    expires_at = string
    labels     = map(string)
  })

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,29}$", var.rig.id))
    error_message = "rig.id must be at most 30 lower-case letters, digits and hyphens, and start with a letter."
  }

  validation {
    condition     = contains(keys(var.rig.labels), "trainrig-run-id")
    error_message = "rig.labels must have trainrig-run-id: without it nothing finds what a killed apply leaves."
  }
}

variable "nodes" {
  description = "How many equal nodes. They share this machine: limits are per node, and more than the machine has may be promised."
  type        = number

  validation {
    condition     = var.nodes >= 1 && var.nodes <= 8 && floor(var.nodes) == var.nodes
    error_message = "nodes must be a whole number from 1 to 8."
  }
}

variable "region" {
  description = "Always `local`."
  type        = string

  validation {
    condition     = var.region == "local"
    error_message = "this machine is the region `local`."
  }
}

variable "zone" {
  description = "This machine has none."
  type        = string
  default     = null
}

variable "instance_type" {
  description = "The offer's name, kept as a label; `cpus`, `memory_mib` and `gpus` are what it means."
  type        = string
}

variable "market" {
  description = "`spot` or `on_demand`, kept as a label. A spot node goes only when `trainrig drill` takes it."
  type        = string

  validation {
    condition     = contains(["spot", "on_demand"], var.market)
    error_message = "market must be spot or on_demand."
  }
}

variable "cpus" {
  description = "Processors that each node may use; 0 means all."
  type        = number
  default     = 0
}

variable "memory_mib" {
  description = "Memory that each node may use, in MiB; 0 means all."
  type        = number
  default     = 0
}

variable "gpus" {
  description = "GPUs of this machine that each node gets for itself."
  type        = number
  default     = 0
}

variable "disk_gb" {
  description = "Not a limit here: nodes share the disk that Docker's data lies on."
  type        = number
}

variable "image" {
  description = "The node image in the local Docker Engine."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9./_-]+:[A-Za-z0-9._-]+$", var.image))
    error_message = "image must be a repository with a tag."
  }
}

variable "ssh_public_key" {
  description = "The rig's own public key."
  type        = string

  validation {
    condition     = startswith(var.ssh_public_key, "ssh-")
    error_message = "ssh_public_key must be an OpenSSH public key."
  }
}

variable "ssh_ingress_cidrs" {
  description = "Not used: sshd is published on 127.0.0.1 alone."
  type        = list(string)
  default     = []
}

variable "lease_seconds" {
  description = "Not used: a node powers itself off at `rig.expires_at`."
  type        = number

  validation {
    condition     = var.lease_seconds >= 60
    error_message = "lease_seconds must be at least 60."
  }
}

variable "existing_network" {
  description = "`subnet`: an IPv4 range for the rig's network, where Docker's own choice collides with another network."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.existing_network), ["subnet"])) == 0
    error_message = "existing_network takes only `subnet` here."
  }
}

variable "checkpoint_prefix" {
  description = "Not used: this machine has no identity to grant, credentials reach a node with the job."
  type        = string
  default     = null
}

variable "read_write_urls" {
  description = "Not used, as `checkpoint_prefix`."
  type        = list(string)
  default     = []
}

variable "read_only_urls" {
  description = "Not used, as `checkpoint_prefix`."
  type        = list(string)
  default     = []
}
