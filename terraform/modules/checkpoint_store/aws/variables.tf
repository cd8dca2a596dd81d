variable "name" {
  description = "The bucket's name, unique among all of AWS."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.name))
    error_message = "name must be 3 to 63 characters of a-z, 0-9 and -, without dots, which break TLS."
  }
}

variable "region" {
  description = "Where the bucket lies."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region must be a region name, such as us-east-1."
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

variable "delete_data" {
  description = "Whether destroy may delete what the store holds. Set by `trainrig store destroy --delete-data` alone."
  type        = bool
  default     = false
  nullable    = false
}

variable "kms_key_arn" {
  description = "A KMS key of the team; null: keys that S3 manages."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9a-f-]+$", var.kms_key_arn))
    error_message = "kms_key_arn must be the ARN of a key, not of an alias."
  }
}
