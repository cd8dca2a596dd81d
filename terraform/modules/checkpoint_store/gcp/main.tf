# A bucket that outlives every rig. Rigs get rights below their own prefix (modules/gcp), never on the bucket.

resource "google_storage_bucket" "store" {
  name     = var.name
  location = var.region
  labels   = var.labels

  force_destroy               = var.delete_data
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  versioning {
    enabled = true
  }

  dynamic "encryption" {
    for_each = var.kms_key_name == null ? [] : [var.kms_key_name]
    content {
      default_kms_key_name = encryption.value
    }
  }

  # Uploads that a preemption cut off.
  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 7
    }
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = var.noncurrent_days
      with_state                 = "ARCHIVED"
    }
  }
}
