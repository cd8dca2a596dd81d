output "url" {
  description = "For `checkpoint_store` of an environment."
  value       = "s3://${aws_s3_bucket.store.id}/trainrig"
}

output "backend" {
  description = "For `state` of an environment: what Terraform's s3 backend takes."
  value       = { bucket = aws_s3_bucket.store.id, region = var.region }
}
