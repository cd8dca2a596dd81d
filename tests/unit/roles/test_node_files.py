"""The module that lays down a role's files, run as Ansible runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MODULE = Path(__file__).parents[3] / "ansible/library/node_files.py"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return tmp_path / "node"


def run(node: Path, *files: dict[str, str], check: bool = False, role: str = "base") -> dict[str, Any]:
    arguments = {
        "role": role,
        "files": [{**f, "path": str(node / f["path"])} for f in files],
        "manifests": str(node / "manifests"),
        "_ansible_check_mode": check,
    }
    done = subprocess.run(
        [sys.executable, MODULE],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        capture_output=True,
        text=True,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


CONF = {"path": "etc/a.conf", "content": "a = 1\n"}


def test_files_directories_and_links_are_laid_down_and_then_left_alone(node: Path) -> None:
    wanted = ({**CONF, "mode": "0640"}, {"path": "srv/d", "mode": "0777"}, {"path": "etc/b.timer", "link": "/dev/null"})
    assert run(node, *wanted)["changed"] is True
    assert (node / "etc/a.conf").read_text() == "a = 1\n"
    assert (node / "etc/a.conf").stat().st_mode & 0o777 == 0o640
    assert (node / "srv/d").stat().st_mode & 0o777 == 0o777
    assert (node / "etc/b.timer").readlink() == Path("/dev/null")
    assert run(node, *wanted) == {**run(node, *wanted), "changed": False, "paths": []}


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


SPOILS: dict[str, Callable[[Path], object]] = {
    "content": lambda path: path.write_text("a = 2\n"),
    "mode": lambda path: path.chmod(0o666),
    "gone": Path.unlink,
    "link": _link,
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_what_was_changed_by_hand_is_found_by_a_check_and_mended_by_a_run(node: Path, spoil: str) -> None:
    run(node, CONF)
    path = node / "etc/a.conf"
    SPOILS[spoil](path)
    assert run(node, CONF, check=True)["paths"] == [str(path)]
    assert run(node, CONF)["paths"] == [str(path)]
    assert path.read_text() == "a = 1\n"
    assert not path.is_symlink()


def test_a_check_changes_nothing(node: Path) -> None:
    assert run(node, CONF, check=True)["changed"] is True
    assert not node.exists()


def test_a_file_that_the_role_no_longer_has_is_removed(node: Path) -> None:
    run(node, CONF, {"path": "etc/old.conf", "content": "x"})
    (node / "etc/users-own.conf").write_text("theirs")
    assert str(node / "etc/old.conf") in run(node, CONF)["paths"]
    assert sorted(p.name for p in (node / "etc").iterdir()) == ["a.conf", "users-own.conf"]


def test_what_somebody_laid_beside_a_unit_of_ours_is_removed(node: Path) -> None:
    unit, other = ({"path": f"etc/{name}.service", "content": "[Service]\n"} for name in ("trainrig-a", "b"))
    run(node, unit, other)
    for name in ("trainrig-a", "b"):
        (node / f"etc/{name}.service.d").mkdir()
        (node / f"etc/{name}.service.d/x.conf").write_text("[Service]\nExecStart=\n")
    dropped = str(node / "etc/trainrig-a.service.d/x.conf")
    assert run(node, unit, other, check=True)["paths"] == [dropped]
    assert run(node, unit, other)["paths"] == [dropped]
    assert run(node, unit, other)["paths"] == []
    assert (node / "etc/b.service.d/x.conf").exists()


def test_what_cannot_be_written_is_named(node: Path) -> None:
    answer = run(node, {"path": f"etc/{'a' * 300}", "content": ""})
    assert answer["failed"] is True
    assert answer["msg"].endswith(f"{'a' * 300}: File name too long")


def test_a_directory_in_the_place_of_a_file_is_put_aside(node: Path) -> None:
    for _ in range(2):  # the second time one is aside already
        (node / "etc" / "a.conf").unlink(missing_ok=True)
        (node / "etc" / "a.conf" / "x").mkdir(parents=True)
        assert run(node, CONF)["changed"]
        assert (node / "etc" / "a.conf").read_text() == "a = 1\n"
        assert (node / "etc" / "a.conf.trainrig-aside" / "x").is_dir()


def test_a_record_of_another_shape_is_written_anew(node: Path) -> None:
    (node / "manifests").mkdir(parents=True)
    (node / "manifests" / "base.json").write_text("[]")
    assert run(node, CONF)["changed"]
    assert not run(node, CONF)["changed"]


def test_a_file_in_the_place_of_a_directory_is_put_aside(node: Path) -> None:
    node.mkdir()
    (node / "etc").write_text("mine")
    assert run(node, {"path": "etc/a.conf", "content": "a"})["changed"]
    assert (node / "etc" / "a.conf").read_text() == "a"
    assert (node / "etc.trainrig-aside").read_text() == "mine"
    (node / "srv").symlink_to(node / "etc")
    assert run(node, {"path": "srv"}, role="job")["changed"]
    assert not (node / "srv").is_symlink()
