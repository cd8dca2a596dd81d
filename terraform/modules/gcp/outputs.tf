output "nodes" {
  description = "The nodes in rank order; rank 0 is the rendezvous address."
  value = [
    for rank, node in google_compute_instance.node : {
      rank = rank
      name = node.name
      # A node that could not be made has no interface, and must not add an error of its own to the one that tells why.
      public_ip   = try(node.network_interface[0].access_config[0].nat_ip, null)
      private_ip  = try(node.network_interface[0].network_ip, null)
      instance_id = node.instance_id
      ssh_user    = local.ssh_user
      ssh_port    = 22
      host_key    = null # made by the node at first boot; its guest attributes and serial console have it
    }
  ]
}
