terraform {
  required_version = ">= 1.10.0"

  required_providers {
    trainrig = {
      source  = "terraform.local/trainrig/local"
      version = "1.0.0"
    }
  }
}
