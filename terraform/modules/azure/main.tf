# Nodes. One resource group holds the whole rig and nothing else. A failed or interrupted create leaves machines that no
# state knows (terraform-provider-azurerm#753, #7516, #32230); they hold on to their interfaces, so that a destroy fails until
# the group is deleted as a whole, which is what trainrig's sweep does.

resource "azurerm_resource_group" "rig" {
  name     = var.rig.id
  location = var.region
  tags     = local.labels
}

resource "azurerm_availability_set" "rig" {
  count = local.availability_set ? 1 : 0

  name                         = var.rig.id
  resource_group_name          = azurerm_resource_group.rig.name
  location                     = azurerm_resource_group.rig.location
  platform_fault_domain_count  = 1 # one domain, one InfiniBand network
  platform_update_domain_count = 1
  tags                         = local.labels
}

resource "azurerm_proximity_placement_group" "rig" {
  count = local.proximity_group ? 1 : 0

  name                = var.rig.id
  resource_group_name = azurerm_resource_group.rig.name
  location            = azurerm_resource_group.rig.location
  tags                = local.labels
}

# What makes it another machine, and so replaces a node.
resource "terraform_data" "machine" {
  input = { instance_type = var.instance_type, market = var.market, reservation = var.reservation, zone = var.zone }
}

resource "azurerm_linux_virtual_machine" "node" {
  count = var.nodes

  name                  = "${var.rig.id}-${count.index}"
  resource_group_name   = azurerm_resource_group.rig.name
  location              = azurerm_resource_group.rig.location
  size                  = var.instance_type
  zone                  = local.zone
  network_interface_ids = [azurerm_network_interface.node[count.index].id]
  tags                  = local.labels # Azure copies them to the disk that it makes with the machine

  # A spot machine needs an eviction policy, any other must not have one (intel/terraform-intel-azure-linux-vm#20,
  # ComputeCanada/magic_castle#199). Delete, since a deallocated one goes on billing its disk.
  priority        = local.spot ? "Spot" : "Regular"
  eviction_policy = local.spot ? "Delete" : null
  max_bid_price   = local.spot ? -1 : null

  availability_set_id           = one(azurerm_availability_set.rig[*].id)
  proximity_placement_group_id  = one(azurerm_proximity_placement_group.rig[*].id)
  capacity_reservation_group_id = var.reservation

  admin_username                  = local.ssh_user
  disable_password_authentication = true
  custom_data                     = base64encode(var.cloud_init)
  allow_extension_operations      = false
  encryption_at_host_enabled      = var.encryption_at_host

  admin_ssh_key {
    username   = local.ssh_user
    public_key = var.ssh_public_key
  }

  os_disk {
    name                 = "${var.rig.id}-${count.index}"
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS" # always encrypted at rest
    disk_size_gb         = var.disk_gb
  }

  source_image_reference {
    publisher = local.image[0]
    offer     = local.image[1]
    sku       = local.image[2]
    version   = local.image[3]
  }

  # User-assigned, so that its rights exist before the node does.
  dynamic "identity" {
    for_each = azurerm_user_assigned_identity.node
    content {
      type         = "UserAssigned"
      identity_ids = [identity.value.id]
    }
  }

  boot_diagnostics {} # the serial console, where the node prints its host key

  timeouts {
    create = "20m"
    delete = "30m"
  }

  lifecycle {
    replace_triggered_by = [terraform_data.machine]
    # Each of these makes a new machine when it changes, and none is worth one.
    ignore_changes = [custom_data, source_image_reference, admin_ssh_key]
  }

  depends_on = [
    azurerm_network_interface_security_group_association.node,
    azurerm_role_assignment.writes,
    azurerm_role_assignment.reads,
    azurerm_role_assignment.image,
  ]
}

# The lease, enforced by the cloud. The node's own timer only powers the machine off, and Azure bills a machine that is
# off but allocated; this deallocates it. It comes every day at that hour, so beyond a day it is off, and `trainrig sweep`
# is what ends the bill. (Off, not absent: a lease that is extended must not delete anything.)
resource "azurerm_dev_test_global_vm_shutdown_schedule" "node" {
  count = var.nodes

  virtual_machine_id    = azurerm_linux_virtual_machine.node[count.index].id
  location              = azurerm_resource_group.rig.location
  enabled               = local.cloud_lease
  daily_recurrence_time = formatdate("hhmm", var.rig.expires_at)
  timezone              = "UTC"
  tags                  = local.labels

  notification_settings {
    enabled = false
  }
}

check "infiniband" {
  assert {
    condition     = !local.infiniband || local.availability_set
    error_message = "InfiniBand needs an availability set, which Azure gives to on_demand machines only: these nodes talk over Ethernet."
  }
}
