# The network of the rig: its own, or a given one. The rules sit on the interfaces, so that they hold in both.

resource "azurerm_virtual_network" "rig" {
  count = local.own_network ? 1 : 0

  name                = var.rig.id
  resource_group_name = azurerm_resource_group.rig.name
  location            = azurerm_resource_group.rig.location
  address_space       = ["10.77.0.0/16"]
  tags                = local.labels
}

resource "azurerm_subnet" "rig" {
  count = local.own_network ? 1 : 0

  name                 = "nodes"
  resource_group_name  = azurerm_resource_group.rig.name
  virtual_network_name = azurerm_virtual_network.rig[0].name
  address_prefixes     = ["10.77.0.0/20"]
}

resource "azurerm_network_security_group" "node" {
  name                = var.rig.id
  resource_group_name = azurerm_resource_group.rig.name
  location            = azurerm_resource_group.rig.location
  tags                = local.labels
}

# Azure's own rules follow these: traffic within the network may pass, all other from outside may not.
resource "azurerm_network_security_rule" "ssh" {
  for_each = { for i, cidr in sort(var.ssh_ingress_cidrs) : tostring(i) => cidr }

  name                        = "ssh-${each.key}"
  description                 = "SSH from ${each.value}"
  resource_group_name         = azurerm_resource_group.rig.name
  network_security_group_name = azurerm_network_security_group.node.name
  priority                    = 100 + tonumber(each.key)
  direction                   = "Inbound"
  access                      = "Allow"
  protocol                    = "Tcp"
  source_address_prefix       = each.value
  source_port_range           = "*"
  destination_address_prefix  = "*"
  destination_port_range      = "22"
}

resource "azurerm_public_ip" "node" {
  count = local.public_ip ? var.nodes : 0

  name                = "${var.rig.id}-${count.index}"
  resource_group_name = azurerm_resource_group.rig.name
  location            = azurerm_resource_group.rig.location
  allocation_method   = "Static"
  sku                 = "Standard" # closed to all but the rules above
  zones               = local.zone == null ? null : [local.zone]
  tags                = local.labels
}

resource "azurerm_network_interface" "node" {
  count = var.nodes

  name                           = "${var.rig.id}-${count.index}"
  resource_group_name            = azurerm_resource_group.rig.name
  location                       = azurerm_resource_group.rig.location
  accelerated_networking_enabled = !contains(local.families.no_accelerated_networking, var.instance_type)
  tags                           = local.labels

  ip_configuration {
    name                          = "primary"
    subnet_id                     = local.subnet_id
    private_ip_address_allocation = "Dynamic"
    public_ip_address_id          = local.public_ip ? azurerm_public_ip.node[count.index].id : null
  }
}

resource "azurerm_network_interface_security_group_association" "node" {
  count = var.nodes

  network_interface_id      = azurerm_network_interface.node[count.index].id
  network_security_group_id = azurerm_network_security_group.node.id
}
