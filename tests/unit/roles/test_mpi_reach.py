"""What carries mpirun's wishes to other nodes, with a stand-in for ssh. Who asks is a container, and may be hostile."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / "ansible/roles/job/files/mpi-reach.py"


@pytest.fixture(scope="module")
def module() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("mpi_reach", str(FILE))
    spec = importlib.util.spec_from_loader("mpi_reach", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def carry(module: ModuleType, tmp_path: Path) -> Callable[[], None]:
    """Takes up all that is asked for, and waits for it."""
    for name, text in {"known_hosts": "[10.0.0.2]:29522 ssh-ed25519 A\n", "address": "10.0.0.1\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "asked").mkdir()
    (tmp_path / "ssh").write_text('#!/bin/sh\nfor last; do :; done\nprintf "%s" "$last"\necho "$*" >&2\nexit 3\n')
    (tmp_path / "ssh").chmod(0o755)
    reach: Any = module.Reach(str(tmp_path), str(tmp_path / "asked"), ssh=str(tmp_path / "ssh"))

    def work() -> None:
        for thread in reach.look():
            thread.join(30)

    return work


def test_a_command_reaches_the_node_as_one_word_and_its_end_comes_back(
    tmp_path: Path, carry: Callable[[], None]
) -> None:
    command = "a 'b' \"c\" $(d)\n; e"
    (tmp_path / "asked/one.ask").write_text(f"10.0.0.2\n{command}")
    carry()
    assert (tmp_path / "asked/one.out").read_text() == command
    assert (tmp_path / "asked/one.code").read_text() == "3\n"
    said = (tmp_path / "asked/one.err").read_text()
    assert "StrictHostKeyChecking=yes" in said
    assert "BindAddress=10.0.0.1" in said
    assert "root@10.0.0.2 -- " in said


@pytest.mark.parametrize("node", ["10.0.0.9", "-oProxyCommand=touch /tmp/x", ""])
def test_who_is_no_other_node_of_the_rig_is_not_reached(tmp_path: Path, carry: Callable[[], None], node: str) -> None:
    (tmp_path / "asked/one.ask").write_text(f"{node}\nid")
    carry()
    assert (tmp_path / "asked/one.code").read_text() == "255\n"
    assert "is not another node" in (tmp_path / "asked/one.err").read_text()
    assert (tmp_path / "asked/one.out").read_text() == ""


def test_a_link_is_not_followed(tmp_path: Path, carry: Callable[[], None], module: ModuleType) -> None:
    (tmp_path / "secret").write_text("10.0.0.2\nsecret")
    (tmp_path / "asked/read.ask").symlink_to(tmp_path / "secret")
    (tmp_path / "asked/folder.ask").mkdir()
    carry()
    assert (tmp_path / "asked/read.code").read_text() == "255\n"
    assert "secret" not in (tmp_path / "asked/read.err").read_text()
    assert (tmp_path / "asked/folder.code").read_text() == "255\n"
    (tmp_path / "asked/write.ask").write_text("10.0.0.2\nid")
    (tmp_path / "asked/write.out").symlink_to(tmp_path / "secret")
    with pytest.raises(FileExistsError):
        module.Reach(str(tmp_path), str(tmp_path / "asked")).new("write.out")
    assert (tmp_path / "secret").read_text() == "10.0.0.2\nsecret"
