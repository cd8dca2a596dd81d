output "nodes" {
  description = "The nodes in rank order; rank 0 is the rendezvous address."
  value = [
    for rank, node in azurerm_linux_virtual_machine.node : {
      rank        = rank
      name        = node.name
      public_ip   = local.public_ip ? azurerm_public_ip.node[rank].ip_address : null
      private_ip  = azurerm_network_interface.node[rank].private_ip_address
      instance_id = node.id
      ssh_user    = local.ssh_user
      ssh_port    = 22
      host_key    = null # made by the node at first boot; its serial console has it
    }
  ]
}
