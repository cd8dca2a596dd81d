"""Google Cloud as a server on this machine, reached with a real service account key in the standard chain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_gcp import PROJECT, FakeGcp, private_key, write_key_file
from support.loopback import Loopback
from trainrig.clouds.base import Account
from trainrig.clouds.gcp import session


@pytest.fixture(scope="session")
def key() -> str:
    return private_key()


@pytest.fixture
def cloud(loopback: Loopback, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGcp]:
    key_file = tmp_path / "key.json"
    write_key_file(key_file, key=key, token_uri=f"{loopback.url}/token")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key_file))
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    session._default.cache_clear()
    yield FakeGcp(loopback)
    session._default.cache_clear()


@pytest.fixture
def account(loopback: Loopback) -> Account:
    return Account(cloud="gcp", settings={"project": PROJECT, "endpoint": loopback.url})
