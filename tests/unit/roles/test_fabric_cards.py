from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainrig.model.process import Command
from trainrig.tools import proc

SCRIPT = Path(__file__).parents[3] / "ansible/roles/fabric/files/cards.sh"


def a_card(root: Path, name: str, driver: str, layer: str | None = None) -> None:
    """A device as Linux shows it: its driver is a link, the layer of its port a file."""
    card = root / "class" / ("net" if layer is None else "infiniband") / name
    (root / "drivers" / driver).mkdir(parents=True, exist_ok=True)
    (card / "device").mkdir(parents=True)
    (card / "device" / "driver").symlink_to(root / "drivers" / driver)
    if layer is not None:
        (card / "ports" / "1").mkdir(parents=True)
        (card / "ports" / "1" / "link_layer").write_text(layer + "\n")


def cards(root: Path) -> list[str]:
    return proc.run(Command(argv=["sh", str(SCRIPT)], env={**os.environ, "SYSFS": str(root)})).stdout.split()


@pytest.mark.parametrize(
    ("driver", "layer", "kind"),
    [
        ("efa", "Unspecified", "efa"),
        ("mlx5_core", "InfiniBand", "infiniband"),
        ("mlx5_core", "Ethernet", "roce"),
    ],
)
def test_a_card_is_named_by_its_driver_and_its_link(tmp_path: Path, driver: str, layer: str, kind: str) -> None:
    a_card(tmp_path, "card0", driver, layer)
    a_card(tmp_path, "card1", driver, layer)
    assert cards(tmp_path) == [kind, kind]


def test_an_accelerated_ethernet_card_is_not_infiniband(tmp_path: Path) -> None:
    a_card(tmp_path, "mlx5_ib0", "mlx5_core", "InfiniBand")
    a_card(tmp_path, "mlx5_an0", "mlx5_core", "Ethernet")
    assert sorted(cards(tmp_path)) == ["infiniband", "roce"]


def test_googles_cards_are_counted_and_others_are_not(tmp_path: Path) -> None:
    a_card(tmp_path, "eth0", "gve")
    a_card(tmp_path, "eth1", "gve")
    a_card(tmp_path, "docker0", "bridge")
    assert cards(tmp_path) == ["gvnic", "gvnic"]
    assert cards(tmp_path / "nothing") == []
