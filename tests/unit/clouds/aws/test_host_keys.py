from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from support import rigs
from trainrig.clouds.aws import host_keys
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed

ACCOUNT = Account(cloud="aws", regions=("us-east-1",))
PRINTED = "-----BEGIN SSH HOST KEY KEYS-----\nssh-ed25519 AAAAkey= root@ip\n-----END SSH HOST KEY KEYS-----\n"


class Ec2:
    """Answers get_console_output alone, as EC2 does for Nitro machines or for older ones."""

    def __init__(self, answer: Callable[[bool], dict[str, Any]]) -> None:
        self._answer = answer

    def get_console_output(self, *, InstanceId: str, Latest: bool) -> dict[str, Any]:  # noqa: N803
        assert InstanceId == "i-0"
        return self._answer(Latest)


def ask(monkeypatch: pytest.MonkeyPatch, answer: Callable[[bool], dict[str, Any]]) -> str | None:
    monkeypatch.setattr(host_keys, "client", lambda _account, _service, _region: Ec2(answer))
    return host_keys.host_key(ACCOUNT, rigs.node(instance_id="i-0"), region="us-east-1", zone=None)


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetConsoleOutput")


def test_the_console_of_now_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, lambda latest: {"Output": PRINTED if latest else ""}) == "ssh-ed25519 AAAAkey="


def test_an_instance_that_has_printed_nothing_has_no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, lambda _latest: {"InstanceId": "i-0"}) is None


def test_older_machines_have_only_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(latest: bool) -> dict[str, Any]:
        if latest:
            raise refused("UnsupportedOperation")
        return {"Output": PRINTED}

    assert ask(monkeypatch, answer) == "ssh-ed25519 AAAAkey="


def test_a_refusal_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(latest: bool) -> dict[str, Any]:
        raise refused("UnauthorizedOperation")

    with pytest.raises(CommandFailed, match="UnauthorizedOperation"):
        ask(monkeypatch, answer)
