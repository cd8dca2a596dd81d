output "nodes" {
  description = "The nodes in rank order; rank 0 is the rendezvous address."
  value = [
    for rank, node in aws_instance.node : {
      rank = rank
      name = "${var.rig.id}-${rank}"
      # A node that could not be made has no address, and must not add an error of its own to the one that tells why.
      public_ip   = local.elastic_ip ? try(aws_eip.node[rank].public_ip, null) : local.launch_public_ip ? node.public_ip : null
      private_ip  = node.private_ip
      instance_id = node.id
      ssh_user    = local.ssh_user
      ssh_port    = 22
      host_key    = null # made by the node at first boot; its console has it
    }
  ]
}
