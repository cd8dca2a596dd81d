# What a node may do in the project: write its run's checkpoints and the buckets that the job works on, read its inputs and
# its image. Members, never bindings or policies: those would take away what others have.

resource "google_service_account" "node" {
  count = local.has_identity ? 1 : 0

  account_id   = var.rig.id
  display_name = var.rig.id
  description  = "Nodes of the rig ${var.rig.id}, until ${var.rig.expires_at}"
}

# An object is judged by its name, a listing by the prefix that it asks for.
resource "google_storage_bucket_iam_member" "writes" {
  for_each = { for i, place in local.writes : tostring(i) => place }

  bucket = each.value.bucket
  role   = "roles/storage.objectUser"
  member = google_service_account.node[0].member

  # None for a bucket that the job works on as a whole.
  dynamic "condition" {
    for_each = compact([each.value.key])
    content {
      title       = var.rig.id
      description = "Only what this run writes"
      expression = join(" || ", [
        "resource.name.startsWith('projects/_/buckets/${each.value.bucket}/objects/${condition.value}/')",
        "api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('${condition.value}/')",
      ])
    }
  }
}

resource "google_storage_bucket_iam_member" "reads" {
  for_each = { for i, place in local.reads : tostring(i) => place }

  bucket = each.value.bucket
  role   = "roles/storage.objectViewer"
  member = google_service_account.node[0].member

  # An input's URL may name a bucket, a folder or one object.
  dynamic "condition" {
    for_each = compact([each.value.key])
    content {
      title       = var.rig.id
      description = "Only this input of the run"
      expression = join(" || ", [
        "resource.name == 'projects/_/buckets/${each.value.bucket}/objects/${condition.value}'",
        "resource.name.startsWith('projects/_/buckets/${each.value.bucket}/objects/${condition.value}/')",
        "api.getAttribute('storage.googleapis.com/objectListPrefix', '') == '${condition.value}'",
        "api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('${condition.value}/')",
      ])
    }
  }
}

# The repository is the limit: whoever may read one may read all of its images.
resource "google_artifact_registry_repository_iam_member" "image" {
  count = var.artifact_repository == null ? 0 : 1

  project    = var.artifact_repository.project
  location   = var.artifact_repository.location
  repository = var.artifact_repository.name
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.node[0].member
}
