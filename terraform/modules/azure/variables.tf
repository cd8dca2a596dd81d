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
    condition     = can(regex("^[a-z][a-z0-9]+$", var.region))
    error_message = "region must be a location name, such as eastus."
  }
}

variable "zone" {
  description = "The zone of all nodes; null: the cloud chooses one."
  type        = string
  default     = null

  validation {
    condition     = var.zone == null || can(regex("^[1-9]$", var.zone))
    error_message = "zone must be 1, 2 or 3, or null."
  }
}

variable "instance_type" {
  description = "The cloud's name of the machine."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^Standard_[A-Za-z0-9_]+$", var.instance_type))
    error_message = "instance_type must look like Standard_ND96isr_H100_v5."
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
  description = "What `reserved` draws on: the id of a capacity reservation group."
  type        = string
  default     = null

  validation {
    condition     = var.reservation == null || can(regex("^/subscriptions/.+/resourceGroups/.+/providers/Microsoft.Compute/capacityReservationGroups/[^/]+$", var.reservation))
    error_message = "reservation must be the resource id of a capacity reservation group."
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
  description = "Exact marketplace image: PUBLISHER:OFFER:SKU:VERSION."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[^:]+:[^:]+:[^:]+:[0-9][0-9.]+$", var.image))
    error_message = "image must be PUBLISHER:OFFER:SKU:VERSION with a version of digits. latest moves; trainrig lock resolves it."
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
  description = "URL of the run's own place, where a node may write, such as s3://bucket/run/. Another cloud's URL gives no rights here."
  type        = string
  default     = null

  validation {
    # It goes into policies and conditions: no quote may end a string there, no $ or * may start something.
    condition     = var.checkpoint_prefix == null || can(regex("^[a-z0-9]+://[\\w.-]+/[\\w!.@=+:,~/-]*[\\w!.@=+:,~-]/?$", var.checkpoint_prefix))
    error_message = "checkpoint_prefix must be scheme://bucket/prefix/ with a prefix, and without wildcards, quotes or spaces."
  }
  validation {
    condition     = !startswith(coalesce(var.checkpoint_prefix, "-"), "az://") || (can(regex("^az://[^/]+/[^/]+/.+$", var.checkpoint_prefix)) && var.storage_resource_group != null)
    error_message = "checkpoint_prefix on Azure must be az://account/container/prefix/, and needs storage_resource_group."
  }
}

variable "read_write_urls" {
  description = "URLs that a node may read and write, such as s3://bucket/data/. Those of other clouds give no rights here."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for url in var.read_write_urls : can(regex("^[a-z0-9]+://[\\w.-]+(/[\\w !.@=+:,~/-]*)?$", url))])
    error_message = "read_write_urls must be scheme://bucket/prefix/ without wildcards or quotes."
  }
  validation {
    condition = alltrue([
      for url in var.read_write_urls :
      !startswith(url, "az://") || (can(regex("^az://[^/]+/[^/]+", url)) && (var.storage_resource_group != null || var.data_resource_group != null))
    ])
    error_message = "read_write_urls on Azure must be az://account/container/prefix/, and need data_resource_group or storage_resource_group."
  }
}

variable "read_only_urls" {
  description = "URLs that a node may read, such as s3://bucket/data/. Those of other clouds give no rights here."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for url in var.read_only_urls : can(regex("^[a-z0-9]+://[\\w.-]+(/[\\w !.@=+:,~/-]*)?$", url))])
    error_message = "read_only_urls must be scheme://bucket/prefix/ without wildcards or quotes."
  }
  validation {
    condition = alltrue([
      for url in var.read_only_urls :
      !startswith(url, "az://") || (can(regex("^az://[^/]+/[^/]+", url)) && (var.storage_resource_group != null || var.data_resource_group != null))
    ])
    error_message = "read_only_urls on Azure must be az://account/container/prefix/, and need data_resource_group or storage_resource_group."
  }
}

variable "existing_network" {
  description = "A network to join instead of making one: {subnet}, the id of a subnet in `region`."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(var.existing_network) == 0 || contains(keys(var.existing_network), "subnet")
    error_message = "existing_network needs subnet."
  }
  validation {
    condition     = length(setsubtract(keys(var.existing_network), ["subnet", "public_ip"])) == 0
    error_message = "existing_network may have subnet and public_ip (\"false\": the nodes get private addresses only)."
  }
}

variable "storage_resource_group" {
  description = "The resource group of the storage account in checkpoint_prefix: its name in the rig's own subscription, or /subscriptions/ID/resourceGroups/NAME."
  type        = string
  default     = null

  validation {
    condition     = var.storage_resource_group == null || can(regex("^(/subscriptions/[0-9a-f-]{36}/resourceGroups/)?[\\w.()-]{1,90}$", var.storage_resource_group))
    error_message = "storage_resource_group must be a group's name, or /subscriptions/ID/resourceGroups/NAME."
  }
}

variable "data_resource_group" {
  description = "The resource group of the other storage accounts in read_write_urls and read_only_urls, as storage_resource_group; null: the same."
  type        = string
  default     = null

  validation {
    condition     = var.data_resource_group == null || can(regex("^(/subscriptions/[0-9a-f-]{36}/resourceGroups/)?[\\w.()-]{1,90}$", var.data_resource_group))
    error_message = "data_resource_group must be a group's name, or /subscriptions/ID/resourceGroups/NAME."
  }
}

variable "encryption_at_host" {
  description = "Encrypt caches and temporary disks on the host too. The subscription must have the feature EncryptionAtHost."
  type        = bool
  default     = false
  nullable    = false
}

variable "container_registry" {
  description = "The name of the container registry that holds the container; null: no right on any."
  type        = string
  default     = null

  validation {
    condition     = var.container_registry == null || can(regex("^[a-zA-Z0-9]{5,50}$", var.container_registry))
    error_message = "container_registry must be the name of a registry, 5 to 50 letters and digits."
  }
  validation {
    condition     = var.container_registry == null || var.registry_resource_group != null
    error_message = "container_registry needs registry_resource_group."
  }
}

variable "registry_resource_group" {
  description = "The resource group of container_registry: its name in the rig's own subscription, or /subscriptions/ID/resourceGroups/NAME."
  type        = string
  default     = null

  validation {
    condition     = var.registry_resource_group == null || can(regex("^(/subscriptions/[0-9a-f-]{36}/resourceGroups/)?[\\w.()-]{1,90}$", var.registry_resource_group))
    error_message = "registry_resource_group must be a group's name, or /subscriptions/ID/resourceGroups/NAME."
  }
}
