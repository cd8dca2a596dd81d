output "nodes" {
  description = "The nodes in rank order; rank 0 is the rendezvous address."
  value = [
    for rank, node in nebius_compute_v1_instance.node : {
      rank        = rank
      name        = node.name
      public_ip   = local.public_ip ? split("/", node.status.network_interfaces[0].public_ip_address.address)[0] : null
      private_ip  = split("/", node.status.network_interfaces[0].ip_address.address)[0]
      instance_id = node.id
      ssh_user    = local.ssh_user
      ssh_port    = 22
      host_key    = null # made by the node at first boot; its serial console has it
    }
  ]
}
