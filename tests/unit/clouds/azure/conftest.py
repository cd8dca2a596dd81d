"""Azure as a server on this machine, over TLS, since the SDK sends no token in the clear."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.core.credentials import AccessToken

from support.loopback import Loopback, self_signed, serve
from trainrig.clouds.azure import offers, session
from trainrig.clouds.base import Account

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"


class StaticCredential:
    """Stands for what the chain finds; the chain itself is the SDK's."""

    def __init__(self, client_id: str | None = None) -> None:
        pass

    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        assert scopes == ("https://management.azure.com/.default",)
        return AccessToken("token", int(time.time()) + 3600)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("azure") / "server.pem")


@pytest.fixture
def azure(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.delenv("ARM_SUBSCRIPTION_ID", raising=False)
    monkeypatch.setattr(session, "credential", StaticCredential)
    with serve(certificate) as server:
        monkeypatch.setattr(offers, "RETAIL_PRICES", f"{server.url}/retail")
        yield server


@pytest.fixture
def account(azure: Loopback) -> Account:
    return Account(cloud="azure", regions=("eastus",), settings={"subscription": SUBSCRIPTION, "endpoint": azure.url})
