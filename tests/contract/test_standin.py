"""The stand-ins refuse what the real providers refuse: a test that passes against them was checked by something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.rig_cases import CASES
from support.standin import schemas
from support.standin.serve import serve
from support.terraform_root import Root, render

pytestmark = pytest.mark.terraform


def block(provider: str, resource: str) -> dict[str, Any]:
    document = schemas.load(provider, resources=[resource])["resource_schemas"][resource]
    found: dict[str, Any] = document["block"]
    return found


def test_rebuilt_schemas_say_what_the_providers_documentation_says() -> None:
    aws = block("aws", "aws_instance")
    assert aws["attributes"]["ami"] == {"type": "string", "optional": True, "computed": True}
    assert aws["attributes"]["spot_instance_request_id"] == {"type": "string", "computed": True}
    assert {k: v for k, v in aws["block_types"]["instance_market_options"].items() if k != "block"} == {
        "nesting_mode": "list",
        "max_items": 1,
    }
    # An attribute that is written like a block.
    kind, (shape, members) = block("aws", "aws_security_group")["attributes"]["ingress"]["type"]
    assert (kind, shape, members["cidr_blocks"]) == ("set", "object", ["list", "string"])

    google = block("google", "google_compute_instance")["block_types"]
    assert (google["boot_disk"]["min_items"], google["boot_disk"]["max_items"]) == (1, 1)
    assert "max_items" not in google["network_interface"]
    assert google["scheduling"]["block"]["block_types"]["max_run_duration"]["block"]["attributes"]["seconds"] == {
        "type": "number",
        "required": True,
    }

    azure = block("azurerm", "azurerm_linux_virtual_machine")
    assert azure["block_types"]["admin_ssh_key"]["nesting_mode"] == "set"
    assert azure["block_types"]["source_image_reference"]["block"]["attributes"]["version"]["required"]
    assert azure["attributes"]["custom_data"]["sensitive"]


# What is spoilt in the module, with which command Terraform says so, and in which words.
MISTAKES = {
    "misspelt argument": ("machine_type ", "machine_typ ", "validate", "Unsupported argument"),
    "missing argument": (
        "  member = google_service_account.node[0].member\n",
        "",
        "validate",
        "Missing required argument",
    ),
    "one block too many": (
        "  boot_disk {\n",
        "  boot_disk {}\n  boot_disk {\n",
        "validate",
        "Too many boot_disk blocks",
    ),
    "wrong type": ("mtu                     = 8896", 'mtu = "big"', "validate", "a number is required"),
    "a GPU that migrates": ('? "TERMINATE" : "MIGRATE"', '? "MIGRATE" : "MIGRATE"', "plan", "live migration"),
    "spot that restarts": (
        "automatic_restart           = false",
        "automatic_restart = true",
        "plan",
        "automatic_restart",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str, tmp_path: Path) -> None:
    before, after, command, words = MISTAKES[mistake]
    with serve(tmp_path / "cloud", ["google"]) as env:
        root = render(next(c for c in CASES if c.name == "gcp-spot-one"), tmp_path / "root", env)
        spoil(root, before, after)
        root.run("init", "-input=false")
        done = root.attempt(command, "-no-color", *(["-input=false"] if command == "plan" else []))
    assert done.returncode == 1
    assert words in " ".join((done.stdout + done.stderr).split())


def spoil(root: Root, before: str, after: str) -> None:
    for path in (root.folder / "module").glob("*.tf"):
        text = path.read_text(encoding="utf-8")
        if before in text:
            path.write_text(text.replace(before, after, 1), encoding="utf-8")
            return
    raise AssertionError(f"no file of the module has {before!r}")
