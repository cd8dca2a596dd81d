output "nodes" {
  description = "The nodes in rank order; rank 0 is the rendezvous address."
  value = [
    for rank, node in google_compute_instance.node : {
      rank        = rank
      name        = node.name
      public_ip   = local.public_ip ? node.network_interface[0].access_config[0].nat_ip : null
      private_ip  = node.network_interface[0].network_ip
      instance_id = node.instance_id
      ssh_user    = local.ssh_user
      ssh_port    = 22
      host_key    = null # made by the node at first boot; its guest attributes and serial console have it
    }
  ]

  # Older providers turn FLEX_START into STANDARD without a word (terraform-provider-google#24172). Not a postcondition of the
  # node: that would add an error of its own where the node could not be made, to the one that tells why.
  precondition {
    condition     = alltrue([for node in google_compute_instance.node : node.scheduling[0].provisioning_model == local.provisioning_model])
    error_message = "The provider did not make ${local.provisioning_model} nodes."
  }
}
