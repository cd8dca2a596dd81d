# What a node may do in the project: write its run's checkpoints, read its inputs. Members, never bindings or policies:
# those would take away what others have.

resource "google_service_account" "node" {
  count = local.has_identity ? 1 : 0

  account_id   = var.rig.id
  display_name = var.rig.id
  description  = "Nodes of the rig ${var.rig.id}, until ${var.rig.expires_at}"
}

# An object is judged by its name, a listing by the prefix that it asks for.
resource "google_storage_bucket_iam_member" "checkpoints" {
  for_each = { for i, store in local.checkpoints : tostring(i) => store }

  bucket = each.value.bucket
  role   = "roles/storage.objectUser"
  member = google_service_account.node[0].member

  condition {
    title       = var.rig.id
    description = "Only the checkpoints of this run"
    expression = join(" || ", [
      "resource.name.startsWith('projects/_/buckets/${each.value.bucket}/objects/${each.value.key}/')",
      "api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('${each.value.key}/')",
    ])
  }
}

resource "google_storage_bucket_iam_member" "inputs" {
  for_each = { for i, input in local.inputs : tostring(i) => input }

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
