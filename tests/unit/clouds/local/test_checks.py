from __future__ import annotations

import shutil
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Self

import pytest

from trainrig.clouds.base import Account
from trainrig.clouds.local import checks
from trainrig.errors import CredentialsMissing
from trainrig.localcloud import recipe
from trainrig.model.readiness import Check

ACCOUNT = Account(cloud="local")


class FakeEngine:
    def __init__(self, *, images: set[str], free: float | None, runtimes: Mapping[str, Any]) -> None:
        self.images, self.free = images, free
        info = {"ServerVersion": "27.5", "CgroupVersion": "2", "Runtimes": runtimes}
        self.client = SimpleNamespace(info=lambda: info)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def has_image(self, reference: str) -> bool:
        return reference in self.images

    def free_gb(self) -> float | None:
        return self.free


def found(
    monkeypatch: pytest.MonkeyPatch,
    *programs: str,
    images: set[str] | None = None,
    free: float | None = 100,
    runtimes: Mapping[str, Any] | None = None,
    suite: str = "bookworm",
) -> dict[str, Check]:
    engine = FakeEngine(images=images or set(), free=free, runtimes=runtimes or {})
    monkeypatch.setattr(checks, "connect", lambda: engine)
    monkeypatch.setattr(recipe, "host_suite", lambda: suite)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
    return {check.name: check for check in checks.checks(ACCOUNT)}


def test_a_machine_that_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    image = recipe.NODE.reference("bookworm")
    ready = found(monkeypatch, images={image, image.replace("node:", "node-nested:")})
    assert {name: check.status for name, check in ready.items()} == dict.fromkeys(
        ("docker", "disk", "node image"), "pass"
    )
    assert "cgroup v2" in ready["docker"].detail
    assert ready["node image"].detail.endswith(", nested")


def test_no_rights_is_one_line_with_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise CredentialsMissing("this user may not use Docker", hint="sudo usermod -aG docker $USER")

    monkeypatch.setattr(checks, "connect", refuse)
    (only,) = checks.checks(ACCOUNT)
    assert (only.status, only.mend) == ("fail", "sudo usermod -aG docker $USER")


def test_little_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, free=1)["disk"].status == "fail"
    assert found(monkeypatch, free=None)["disk"].status == "skip"


def test_what_the_node_image_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch)["node image"].mend == "sudo apt-get install mmdebstrap"
    assert found(monkeypatch, "mmdebstrap")["node image"].status == "pass"
    assert "Debian or Ubuntu" in found(monkeypatch, "mmdebstrap", suite="")["node image"].mend


def test_gpus_need_the_container_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "gpu" not in found(monkeypatch)
    assert found(monkeypatch, "nvidia-smi")["gpu"].status == "fail"
    assert found(monkeypatch, "nvidia-smi", "nvidia-container-runtime-hook")["gpu"].status == "pass"
    assert found(monkeypatch, "nvidia-smi", runtimes={"nvidia": {}})["gpu"].status == "pass"
