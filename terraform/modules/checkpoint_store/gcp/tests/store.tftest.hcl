# The module's own logic, with a mocked provider: `terraform test` in this folder.

mock_provider "google" {}

variables {
  name   = "team-ckpt"
  region = "us-central1"
  labels = { managed-by = "trainrig-store" }
}

run "nobody_else_gets_in" {
  command = plan

  assert {
    condition     = google_storage_bucket.store.public_access_prevention == "enforced"
    error_message = "not even by mistake"
  }
  assert {
    condition     = google_storage_bucket.store.uniform_bucket_level_access
    error_message = "no ACLs"
  }
}

run "what_is_overwritten_can_be_brought_back_for_a_while" {
  command = plan

  assert {
    condition     = google_storage_bucket.store.versioning[0].enabled
    error_message = "versioned"
  }
  assert {
    condition = {
      for rule in google_storage_bucket.store.lifecycle_rule :
      one(rule.action).type => one(rule.action).type == "Delete" ? one(rule.condition).with_state : "age ${one(rule.condition).age}"
    } == { AbortIncompleteMultipartUpload = "age 7", Delete = "ARCHIVED" }
    error_message = "cut-off uploads and old versions go, and nothing that is current"
  }
  assert {
    condition = [
      for rule in google_storage_bucket.store.lifecycle_rule : one(rule.condition).days_since_noncurrent_time if one(rule.action).type == "Delete"
    ] == [30]
    error_message = "old versions are there for 30 days"
  }
}

run "the_teams_key_is_used" {
  command = plan
  variables {
    kms_key_name = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
  }
  assert {
    condition     = google_storage_bucket.store.encryption[0].default_kms_key_name == var.kms_key_name
    error_message = "encrypted with the key that is given"
  }
}

run "a_full_one_is_not_deleted" {
  command = plan
  assert {
    condition     = !google_storage_bucket.store.force_destroy
    error_message = "delete_data alone allows it"
  }
}

run "a_store_that_a_sweep_would_find_is_refused" {
  command = plan
  variables {
    labels = { trainrig-run-id = "abcd2345" }
  }
  expect_failures = [var.labels]
}

run "a_key_by_half_its_name_is_refused" {
  command = plan
  variables {
    kms_key_name = "team-key"
  }
  expect_failures = [var.kms_key_name]
}

run "no_history_is_refused" {
  command = plan
  variables {
    noncurrent_days = 0
  }
  expect_failures = [var.noncurrent_days]
}

run "a_name_in_capitals_is_refused" {
  command = plan
  variables {
    name = "Team"
  }
  expect_failures = [var.name]
}
