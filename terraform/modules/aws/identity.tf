# What a node may do in the account: write its run's checkpoints and the buckets that the job works on, read its inputs and
# its image. It cannot end itself through the API and needs no right to: a shutdown terminates it.

resource "aws_iam_role" "node" {
  count = local.has_identity ? 1 : 0

  name                 = var.rig.id
  path                 = "/trainrig/"
  description          = "Nodes of the rig ${var.rig.id}"
  permissions_boundary = var.permissions_boundary
  tags                 = local.labels

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "node" {
  count = local.has_identity ? 1 : 0

  name = "data"
  role = aws_iam_role.node[0].name

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(local.write_statements, local.read_statements, local.image_statements, local.key_statements)
  })
}

# EC2 may not see a new profile for some seconds (terraform-provider-aws#2046, #838): the provider waits for it, and what
# still fails is of the class `eventual`, which is tried again.
resource "aws_iam_instance_profile" "node" {
  count = local.has_identity ? 1 : 0

  name = var.rig.id
  path = "/trainrig/"
  role = aws_iam_role.node[0].name
  tags = local.labels
}

locals {
  partition = startswith(var.region, "us-gov-") ? "aws-us-gov" : startswith(var.region, "cn-") ? "aws-cn" : "aws"
  s3        = "arn:${local.partition}:s3:::"

  # Below a folder, or in all of a bucket that the job works on as a whole.
  write_statements = flatten([
    for i, place in local.writes : [
      {
        Sid      = "Write${i}"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
        Resource = ["${local.s3}${join("/", compact([place.bucket, place.key]))}/*"]
      },
      {
        Sid       = "ListWrite${i}"
        Effect    = "Allow"
        Action    = ["s3:ListBucket"]
        Resource  = ["${local.s3}${place.bucket}"]
        Condition = { StringLike = { "s3:prefix" = [place.key == "" ? "*" : "${place.key}/*"] } }
      },
    ]
  ])

  # An input's URL may name a bucket, a folder or one object.
  read_statements = flatten([
    for i, place in local.reads : [
      {
        Sid      = "Read${i}"
        Effect   = "Allow"
        Action   = ["s3:GetObject"]
        Resource = [for key in place.key == "" ? ["*"] : [place.key, "${place.key}/*"] : "${local.s3}${place.bucket}/${key}"]
      },
      {
        Sid       = "ListRead${i}"
        Effect    = "Allow"
        Action    = ["s3:ListBucket"]
        Resource  = ["${local.s3}${place.bucket}"]
        Condition = { StringLike = { "s3:prefix" = place.key == "" ? ["*"] : ["${place.key}", "${place.key}/*"] } }
      },
    ]
  ])

  # The login is of the caller's own account, and IAM knows it with no resource. It opens nothing by itself.
  image_statements = flatten([
    for arn in compact([var.ecr_repository_arn]) : [
      {
        Sid      = "ImageLogin"
        Effect   = "Allow"
        Action   = ["ecr:GetAuthorizationToken"]
        Resource = ["*"]
      },
      {
        Sid      = "Image"
        Effect   = "Allow"
        Action   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
        Resource = [arn]
      },
    ]
  ])

  key_statements = [
    for key in compact([var.checkpoint_kms_key_arn]) : {
      Sid       = "CheckpointKey"
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = [key]
      Condition = { StringEquals = { "kms:ViaService" = "s3.${var.region}.amazonaws.com${local.partition == "aws-cn" ? ".cn" : ""}" } }
    }
  ]
}
