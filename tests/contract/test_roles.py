"""Every Ansible role is described as its variables are, and nothing in them is silenced."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from support import role_docs
from support.role_docs import ROLES

EVERY_ROLE = pytest.mark.parametrize("role", role_docs.names())


@EVERY_ROLE
def test_role_readme_is_what_its_argument_specs_say(role: str, update_golden: bool) -> None:
    path = ROLES / role / "README.md"
    if update_golden:
        path.write_text(role_docs.readme(role), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == role_docs.readme(role), "pytest tests/contract --update-golden"


@EVERY_ROLE
def test_role_specifies_every_default_with_its_value(role: str) -> None:
    options = role_docs.spec(role)["options"]
    assert {n: o["default"] for n, o in options.items() if not o.get("required")} == role_docs.defaults(role)


@EVERY_ROLE
def test_role_prefixes_its_variables(role: str) -> None:
    assert [n for n in role_docs.spec(role)["options"] if not n.startswith(f"{role}_")] == []


@EVERY_ROLE
def test_role_says_what_each_variable_means(role: str) -> None:
    options = role_docs.spec(role)["options"]
    assert [n for n, o in options.items() if o["description"].replace(" ", "_") == n or not o["description"]] == []


@EVERY_ROLE
def test_role_ignores_no_error(role: str) -> None:
    for path in (ROLES / role).rglob("*.yml"):
        assert not re.search(r"ignore_errors|ignore_unreachable|failed_when: false", path.read_text()), path


@EVERY_ROLE
def test_every_download_of_a_role_has_a_checksum_or_a_fingerprint(role: str) -> None:
    for path in (ROLES / role / "tasks").rglob("*.yml"):
        tasks = yaml.safe_load(path.read_text())
        for task in _flat(tasks):
            download = task.get("ansible.builtin.get_url")
            # apt_repository compares the fingerprint of the key that it has downloaded
            assert download is None or "checksum" in download or role == "apt_repository", task["name"]


def _flat(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [inner for task in tasks for inner in (_flat(task["block"]) if "block" in task else [task])]
