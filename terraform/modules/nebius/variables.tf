variable "rig" {
  description = "Whose rig this is. `id` starts every resource name, `labels` go on every resource that takes tags."
  type = object({
    name       = string
    id         = string
    owner      = string
    expires_at = string
    labels     = map(string)
  })
  nullable = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,29}$", var.rig.id))
    error_message = "rig.id must be 2 to 30 characters of a-z, 0-9 and -, starting with a letter."
  }
  validation {
    condition     = can(formatdate("YYYY", var.rig.expires_at)) && endswith(var.rig.expires_at, "Z")
    error_message = "rig.expires_at must be a time in UTC, such as 2026-01-31T18:00:00Z."
  }
  validation {
    condition = alltrue([
      for key in ["managed-by", "trainrig-run-id", "trainrig-expires"] : try(length(var.rig.labels[key]) > 0, false)
    ])
    error_message = "rig.labels must have managed-by, trainrig-run-id and trainrig-expires: sweep finds leftovers by them."
  }
}

variable "nodes" {
  description = "How many equal nodes, all in one zone."
  type        = number
  nullable    = false

  validation {
    condition     = var.nodes >= 1 && var.nodes <= 64 && floor(var.nodes) == var.nodes
    error_message = "nodes must be a whole number from 1 to 64."
  }
}

variable "region" {
  description = "The cloud's name of the region."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]+$", var.region))
    error_message = "region must be a region name of lower-case letters, digits and -."
  }
}

variable "zone" {
  description = "Nebius sells by region: null, or the region again."
  type        = string
  default     = null

  validation {
    condition     = var.zone == null || var.zone == var.region
    error_message = "Nebius has no zones: zone must be null."
  }
}

variable "instance_type" {
  description = "PLATFORM_PRESET, such as gpu-h100-sxm_8gpu-128vcpu-1600gb."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9-]+_[a-z0-9-]+$", var.instance_type))
    error_message = "instance_type must be PLATFORM_PRESET, such as gpu-h100-sxm_8gpu-128vcpu-1600gb."
  }
}

variable "market" {
  description = "spot, on_demand or reserved. A change replaces the nodes."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["spot", "on_demand", "reserved"], var.market)
    error_message = "market must be spot, on_demand or reserved."
  }
}

variable "reservation" {
  description = "What `reserved` draws on: the id of a capacity block group."
  type        = string
  default     = null

  validation {
    condition     = var.reservation == null || can(regex("^[a-z0-9-]+$", var.reservation))
    error_message = "reservation must be the id of a capacity block group."
  }
  validation {
    condition     = (var.market == "reserved") == (var.reservation != null)
    error_message = "market reserved needs a reservation, and only reserved may have one."
  }
}

variable "disk_gb" {
  description = "Boot disk of each node, in GB; encrypted."
  type        = number
  nullable    = false

  validation {
    condition     = var.disk_gb >= 30 && var.disk_gb <= 16000 && floor(var.disk_gb) == var.disk_gb
    error_message = "disk_gb must be a whole number from 30 to 16000."
  }
}

variable "image" {
  description = "Exact machine image: computeimage-..., of this region."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^computeimage-[a-z0-9]+$", var.image))
    error_message = "image must be the id of an image. A family moves."
  }
}

variable "ssh_public_key" {
  description = "The rig's own public key, one line of OpenSSH."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp256) [A-Za-z0-9+/=]+( [^\n]*)?$", var.ssh_public_key))
    error_message = "ssh_public_key must be one line of OpenSSH, such as ssh-ed25519 AAAA..."
  }
}

variable "ssh_ingress_cidrs" {
  description = "Networks that may reach SSH. Empty: none, for access through a bastion inside the network."
  type        = list(string)
  nullable    = false

  validation {
    condition     = alltrue([for cidr in var.ssh_ingress_cidrs : can(cidrhost(cidr, 0))])
    error_message = "ssh_ingress_cidrs must be networks, such as 203.0.113.7/32."
  }
  validation {
    # Two halves of the Internet are the Internet: refuse wide networks, not just /0.
    condition = alltrue([
      for cidr in var.ssh_ingress_cidrs : try(tonumber(split("/", cidr)[1]) >= (strcontains(cidr, ":") ? 32 : 8), false)
    ])
    error_message = "ssh_ingress_cidrs must be /8 or narrower (IPv6: /32): SSH is never open to the Internet."
  }
}

variable "lease_seconds" {
  description = "Seconds after which the cloud itself ends a node, where it can."
  type        = number
  nullable    = false

  validation {
    condition     = var.lease_seconds >= 300 && var.lease_seconds <= 7776000 && floor(var.lease_seconds) == var.lease_seconds
    error_message = "lease_seconds must be a whole number from 300 (5 minutes) to 7776000 (90 days)."
  }
}

variable "cloud_init" {
  description = "cloud-init user-data. Holds no secret: it can be read in the state and on the node."
  type        = string
  nullable    = false

  validation {
    condition     = startswith(var.cloud_init, "#cloud-config\n") && can(yamldecode(var.cloud_init))
    error_message = "cloud_init must be YAML that starts with the line #cloud-config."
  }
  validation {
    condition     = !strcontains(var.cloud_init, "PRIVATE KEY")
    error_message = "cloud_init must not hold a private key."
  }
  validation {
    condition     = length(var.cloud_init) <= 12000
    error_message = "cloud_init must be at most 12000 characters: the clouds take 16 kB, some of them after base64."
  }
}

variable "checkpoint_prefix" {
  description = "Gives no rights here: Nebius cannot limit an identity to a prefix. Credentials reach a node with the job."
  type        = string
  default     = null
}

variable "read_write_urls" {
  description = "Give no rights here, as `checkpoint_prefix`."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "read_only_urls" {
  description = "Give no rights here, as `checkpoint_prefix`."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "existing_network" {
  description = "{network, subnet} to join instead of making one; `fabric`: the InfiniBand fabric for several nodes; `public_ip` \"false\": private addresses only."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = contains(keys(var.existing_network), "network") == contains(keys(var.existing_network), "subnet")
    error_message = "existing_network needs network and subnet together."
  }
  validation {
    condition     = length(setsubtract(keys(var.existing_network), ["network", "subnet", "fabric", "public_ip"])) == 0
    error_message = "existing_network may have network, subnet, fabric and public_ip."
  }
}

variable "project" {
  description = "The project that everything is made in: project-..."
  type        = string
  default     = ""
}
