# The module's own logic, with a mocked provider: `terraform test` in this folder.

mock_provider "aws" {}

variables {
  name   = "team-ckpt"
  region = "us-east-1"
  labels = { managed-by = "trainrig-store" }
}

run "nobody_else_gets_in" {
  command = plan

  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.store.block_public_acls,
      aws_s3_bucket_public_access_block.store.block_public_policy,
      aws_s3_bucket_public_access_block.store.ignore_public_acls,
      aws_s3_bucket_public_access_block.store.restrict_public_buckets,
    ])
    error_message = "all four, or one of them is the way in"
  }
  assert {
    condition     = aws_s3_bucket_ownership_controls.store.rule[0].object_ownership == "BucketOwnerEnforced"
    error_message = "no ACLs"
  }
}

run "without_tls_nothing_is_read_or_written" {
  assert {
    condition = alltrue([
      for statement in jsondecode(aws_s3_bucket_policy.store.policy).Statement :
      statement.Effect == "Deny" && statement.Condition.Bool["aws:SecureTransport"] == "false"
    ])
    error_message = "the policy denies and grants nothing"
  }
}

run "what_is_overwritten_can_be_brought_back_for_a_while" {
  command = plan

  assert {
    condition     = aws_s3_bucket_versioning.store.versioning_configuration[0].status == "Enabled"
    error_message = "versioned"
  }
  assert {
    condition = {
      for rule in aws_s3_bucket_lifecycle_configuration.store.rule : rule.id => rule.status
    } == { "uploads-that-a-preemption-cut-off" = "Enabled", "old-versions" = "Enabled" }
    error_message = "cut-off uploads and old versions do not stay for ever"
  }
  assert {
    condition     = aws_s3_bucket_lifecycle_configuration.store.rule[0].abort_incomplete_multipart_upload[0].days_after_initiation == 7
    error_message = "cut-off uploads bill for a week"
  }
  assert {
    condition     = aws_s3_bucket_lifecycle_configuration.store.rule[1].noncurrent_version_expiration[0].noncurrent_days == 30
    error_message = "old versions are there for 30 days"
  }
  assert {
    condition     = alltrue([for rule in aws_s3_bucket_lifecycle_configuration.store.rule : alltrue([for end in rule.expiration : coalesce(end.days, 0) == 0])])
    error_message = "no rule ends what is current"
  }
}

run "the_teams_key_is_used" {
  variables {
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d"
  }
  assert {
    condition = alltrue([
      for rule in aws_s3_bucket_server_side_encryption_configuration.store.rule :
      rule.bucket_key_enabled && one(rule.apply_server_side_encryption_by_default).sse_algorithm == "aws:kms"
    ])
    error_message = "encrypted with the key that is given"
  }
}

run "else_those_of_s3" {
  assert {
    condition = alltrue([
      for rule in aws_s3_bucket_server_side_encryption_configuration.store.rule :
      one(rule.apply_server_side_encryption_by_default).sse_algorithm == "AES256"
    ])
    error_message = "never unencrypted"
  }
}

run "a_full_one_is_not_deleted" {
  command = plan
  assert {
    condition     = !aws_s3_bucket.store.force_destroy
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

run "a_key_by_its_alias_is_refused" {
  command = plan
  variables {
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:alias/team"
  }
  expect_failures = [var.kms_key_arn]
}

run "no_history_is_refused" {
  command = plan
  variables {
    noncurrent_days = 0
  }
  expect_failures = [var.noncurrent_days]
}

run "a_name_with_dots_is_refused" {
  command = plan
  variables {
    name = "team.ckpt"
  }
  expect_failures = [var.name]
}
