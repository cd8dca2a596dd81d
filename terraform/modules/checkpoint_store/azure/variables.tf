variable "storage_account" {
  description = "The storage account's name, unique among all of Azure."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]{3,24}$", var.storage_account))
    error_message = "storage_account must be 3 to 24 characters of a-z and 0-9."
  }
}

variable "name" {
  description = "The container's name."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9](-?[a-z0-9])+$", var.name)) && length(var.name) >= 3 && length(var.name) <= 63
    error_message = "name must be 3 to 63 characters of a-z, 0-9 and single -."
  }
}

variable "resource_group" {
  description = "A resource group to make for the store alone."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_()-][A-Za-z0-9_.()-]{0,88}[A-Za-z0-9_()-]$", var.resource_group))
    error_message = "resource_group must be 2 to 90 letters, digits and _ - . ( ), not ending in a dot."
  }
}

variable "region" {
  description = "Where the account lies."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9]+$", var.region))
    error_message = "region must be a location name, such as westeurope."
  }
}

variable "replication" {
  description = "LRS keeps three copies in one data centre, ZRS one in each of three zones."
  type        = string
  default     = "ZRS"
  nullable    = false

  validation {
    condition     = contains(["LRS", "ZRS"], var.replication)
    error_message = "replication must be LRS or ZRS: checkpoints are read in their own region."
  }
}

variable "labels" {
  description = "Labels of everything that takes labels. They name no run: a rig's sweep must not find this store."
  type        = map(string)
  nullable    = false

  validation {
    condition     = !contains(keys(var.labels), "trainrig-run-id")
    error_message = "labels must not have trainrig-run-id: sweep deletes what carries it."
  }
}

variable "noncurrent_days" {
  description = "Days for which overwritten and deleted objects can be brought back."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.noncurrent_days >= 1 && var.noncurrent_days <= 3650 && floor(var.noncurrent_days) == var.noncurrent_days
    error_message = "noncurrent_days must be a whole number from 1 to 3650."
  }
}
