output "url" {
  description = "For `checkpoint_store` of an environment."
  value       = "gs://${google_storage_bucket.store.name}/trainrig"
}

output "backend" {
  description = "For `state` of an environment: what Terraform's gcs backend takes."
  value       = { bucket = google_storage_bucket.store.name }
}
