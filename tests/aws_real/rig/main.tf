# A rig as far as the AWS provider 3.39 and moto know one: neither has spot on aws_instance, EFA-only interfaces or placement
# groups. The product's module is modules/aws; this only shows that a real provider and a real API agree on the basics.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "3.39.0"
    }
  }
}

variable "endpoint" {
  type = string
}

variable "image" {
  type = string
}

variable "policy" {
  type = string
}

locals {
  tags = { managed-by = "trainrig", trainrig-run-id = "abcd2345", trainrig-expires = "1772452800" }
}

provider "aws" {
  region                      = "us-east-1"
  access_key                  = "test"
  secret_key                  = "test"
  max_retries                 = 3
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true

  endpoints {
    ec2 = var.endpoint
    iam = var.endpoint
    sts = var.endpoint
  }
}

resource "aws_vpc" "rig" {
  cidr_block = "10.77.0.0/16"
  tags       = local.tags
}

resource "aws_subnet" "rig" {
  vpc_id     = aws_vpc.rig.id
  cidr_block = "10.77.0.0/20"
  tags       = local.tags
}

resource "aws_security_group" "node" {
  name        = "tr-test-abcd2345"
  description = "Nodes of the rig"
  vpc_id      = aws_vpc.rig.id
  tags        = local.tags
}

resource "aws_security_group_rule" "ssh" {
  security_group_id = aws_security_group.node.id
  type              = "ingress"
  cidr_blocks       = ["203.0.113.7/32"]
  protocol          = "tcp"
  from_port         = 22
  to_port           = 22
}

resource "aws_iam_role" "node" {
  name               = "tr-test-abcd2345"
  path               = "/trainrig/"
  tags               = local.tags
  assume_role_policy = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }] })
}

resource "aws_iam_role_policy" "node" {
  name   = "data"
  role   = aws_iam_role.node.name
  policy = var.policy
}

resource "aws_iam_instance_profile" "node" {
  name = "tr-test-abcd2345"
  path = "/trainrig/"
  role = aws_iam_role.node.name
}

resource "aws_instance" "node" {
  ami                                  = var.image
  instance_type                        = "p4d.24xlarge"
  subnet_id                            = aws_subnet.rig.id
  vpc_security_group_ids               = [aws_security_group.node.id]
  iam_instance_profile                 = aws_iam_instance_profile.node.name
  instance_initiated_shutdown_behavior = "terminate"
  tags                                 = local.tags
  volume_tags                          = local.tags

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  root_block_device {
    volume_size = 256
    encrypted   = true
  }
}

output "instance_id" {
  value = aws_instance.node.id
}
