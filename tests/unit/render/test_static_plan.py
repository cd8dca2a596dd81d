from __future__ import annotations

from trainrig.render.static_plan import blocks, evaluation_root, instances

NETWORK = """
locals {
  # a comment that names local.own = nothing
  own   = length(var.existing) == 0
  rules = {
    for version, cidrs in { "4" = var.cidrs } : version => cidrs
  }
  image = data.cloud_image.named.id
}
resource "cloud_network" "rig" {
  count = local.own ? 1 : 0
  name  = "x"
}
resource "cloud_rule" "ssh" {
  for_each = local.rules
}
resource "cloud_disk" "node" {
  count = length(cloud_network.rig)
}
resource "cloud_node" "node" {
  image = local.image
}
"""
FILES = {"variables.tf": "vars", "terraform.tfvars.json": "{}", "module/main.tf": NETWORK, "module/t.json": "{}"}


def test_only_what_repeats_are_made_of_is_evaluated() -> None:
    root = evaluation_root(FILES)
    assert root["t.json"] == "{}"
    assert "own = length(var.existing) == 0" in root["main.tf"]
    assert '"cloud_network.rig" = local.own ? 1 : 0' in root["main.tf"]
    assert '"cloud_rule.ssh" = [for key, _ in local.rules : key]' in root["main.tf"]
    assert "cloud_image" not in root["main.tf"]
    assert "resource" not in root["main.tf"]


def test_what_a_provider_alone_knows_is_not_guessed() -> None:
    assert '"cloud_disk.node" =' not in evaluation_root(FILES)["main.tf"]
    values = {"cloud_network.rig": 2, "cloud_rule.ssh": ["4"]}
    assert {b.address: instances(b, values) for b in blocks(FILES)} == {
        "cloud_network.rig": ("module.rig.cloud_network.rig[0]", "module.rig.cloud_network.rig[1]"),
        "cloud_rule.ssh": ('module.rig.cloud_rule.ssh["4"]',),
        "cloud_disk.node": None,
        "cloud_node.node": ("module.rig.cloud_node.node",),
    }
