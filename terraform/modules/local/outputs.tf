output "nodes" {
  description = "One object a node, in the order of their ranks."
  value = [
    for rank, node in trainrig_local_node.node : {
      rank        = rank
      name        = node.name
      public_ip   = "127.0.0.1"
      private_ip  = node.private_ip
      instance_id = node.id
      ssh_user    = "trainrig"
      ssh_port    = node.ssh_port
      host_key    = node.host_key
    }
  ]
}
