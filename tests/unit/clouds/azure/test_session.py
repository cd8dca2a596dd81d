"""Azure's own credential chain, in which something answers: the CLI, or the identity of a machine. No token is real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from support.loopback import Loopback, Request, serve
from trainrig.clouds.azure import checks, session
from trainrig.clouds.azure.session import credential as chain  # before a fixture takes its place
from trainrig.clouds.base import Account
from trainrig.errors import CredentialsMissing

BASE = r"/subscriptions/[\w-]+"
AZURE = ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET")
MACHINE = ("IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT")


@pytest.fixture
def tokens(azure: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """The tokens with which the subscription was asked for."""
    for name in (*AZURE, *MACHINE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(session, "credential", chain)
    chain.cache_clear()
    seen: list[str] = []

    def subscription(request: Request) -> object:
        seen.append(request.headers["Authorization"])
        return {"displayName": "Training", "state": "Enabled"}

    azure.route("GET", BASE, subscription)
    yield seen
    chain.cache_clear()


def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """The CLI is `script`. The links of the chain before it, which look for a machine's identity in the network, are
    left out by the chain's own switch."""
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "dev")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/bin:/usr/bin")
    program = tmp_path / "bin/az"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_the_login_of_the_cli_is_taken(
    tokens: list[str], account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = datetime.now() + timedelta(hours=1)  # noqa: DTZ005 - the CLI writes local time
    answer = {
        "accessToken": "of-the-cli",
        "expiresOn": f"{until:%Y-%m-%d %H:%M:%S.%f}",
        "expires_on": int(until.timestamp()),
        "subscription": "s",
        "tenant": "t",
        "tokenType": "Bearer",
    }
    cli(tmp_path, monkeypatch, f"echo '{json.dumps(answer)}'")

    assert next(checks.checks(account)).status == "pass"
    assert tokens == ["Bearer of-the-cli"]


def test_the_identity_that_the_environment_names_is_the_machines(
    tokens: list[str], account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[str] = []

    def token(request: Request) -> object:
        assert request.headers["X-IDENTITY-HEADER"] == "secret"
        named.append(request.query["client_id"])
        return {"access_token": "of-the-machine", "expires_on": 2**31 - 1, "resource": request.query["resource"]}

    with serve() as machine:
        machine.route("GET", "/token", token)
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{machine.url}/token")
        monkeypatch.setenv("IDENTITY_HEADER", "secret")
        with_client = Account(cloud="azure", settings={**account.settings, "client_id": "an-id"})
        assert next(checks.checks(with_client)).status == "pass"

    assert named == ["an-id"]
    assert tokens == ["Bearer of-the-machine"]


def test_where_nobody_answers_the_error_is_short(
    tokens: list[str],
    account: Account,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    cli(tmp_path, monkeypatch, "echo 'Please run az login' >&2; exit 1")
    with pytest.raises(CredentialsMissing) as caught:
        session.get(account, "", api_version="2022-12-01")
    assert "\n" not in caught.value.message
    assert caught.value.hint == "az login"
    assert capfd.readouterr().err == ""
    assert tokens == []
