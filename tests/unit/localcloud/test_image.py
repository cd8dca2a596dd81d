from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trainrig.errors import PreflightFailed
from trainrig.localcloud.image import Distribution, host_distribution, mmdebstrap
from trainrig.localcloud.recipe import NODE, PYTHON, host_suite
from trainrig.model.process import Command, Outcome, Runner

LISTS = """\
Debian|http://mirror.example/debian/|bookworm|main
Debian|http://mirror.example/debian/|bookworm|main
Debian|http://mirror.example/debian-security/|bookworm-security|main
NodeSource|https://deb.example/node_20.x|nodistro|main
"""


def apt(lists: str) -> Runner:
    def run(command: Command, *, check: bool = True) -> Outcome:
        assert command.argv[:2] == ["apt-get", "indextargets"]
        return Outcome(returncode=0, stdout=lists, stderr="", seconds=0)

    return run


def test_nodes_come_from_the_hosts_own_mirror_and_from_no_third_party() -> None:
    assert host_distribution(apt(LISTS), "bookworm").sources == (
        "deb http://mirror.example/debian/ bookworm main",
        "deb http://mirror.example/debian-security/ bookworm-security main",
    )


def test_without_package_lists_it_says_to_fetch_them() -> None:
    with pytest.raises(PreflightFailed, match="no package lists") as caught:
        host_distribution(apt(""), "bookworm")
    assert "apt-get update" in caught.value.hint


@pytest.mark.parametrize(
    ("release", "suite"),
    [
        ("ID=debian\nVERSION_CODENAME=bookworm\n", "bookworm"),
        ('ID="ubuntu"\nID_LIKE=debian\nVERSION_CODENAME=noble\n', "noble"),
        ("ID=fedora\nVERSION_CODENAME=\n", ""),
    ],
)
def test_the_suite_of_the_host(tmp_path: Path, release: str, suite: str) -> None:
    (tmp_path / "os-release").write_text(release)
    assert host_suite(tmp_path / "os-release") == suite


def test_a_host_without_os_release_has_no_suite(tmp_path: Path) -> None:
    assert host_suite(tmp_path / "os-release") == ""


def test_an_image_is_named_by_what_it_is_made_from() -> None:
    assert NODE.reference("bookworm") == NODE.reference("bookworm")
    others = [NODE.reference("noble"), replace(NODE, packages=()).reference("bookworm"), PYTHON.reference("bookworm")]
    assert len({NODE.reference("bookworm"), *others}) == 4


def test_a_node_image_ships_no_identity() -> None:
    source = Distribution(suite="bookworm", sources=("deb http://mirror.example/debian bookworm main",))
    argv = list(mmdebstrap(NODE, source, Path("/scratch/image.tar")))
    assert argv[-3:] == ["bookworm", "/scratch/image.tar", *source.sources]
    hooks = "\n".join(a for a in argv if a.startswith("--customize-hook="))
    assert "ssh_host_" in hooks
    assert "machine-id" in hooks
