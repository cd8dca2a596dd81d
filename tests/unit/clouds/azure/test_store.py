from __future__ import annotations

import pytest
from azure.core.credentials import AccessToken

from support.loopback import Loopback, Reply
from trainrig.clouds.azure import session, store
from trainrig.clouds.base import Account
from trainrig.errors import PreflightFailed


@pytest.fixture(autouse=True)
def blobs(azure: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    class Credential:
        def __init__(self, client_id: str | None = None) -> None:
            pass

        def get_token(self, *scopes: str, **_: object) -> AccessToken:
            assert scopes == ("https://storage.azure.com/.default",)
            return AccessToken("token", 2**40)

    monkeypatch.setattr(session, "credential", Credential)
    monkeypatch.setattr(store, "BLOBS", azure.url)
    return azure


def asked(account: Account) -> str:
    return store.access(account, "teamstore", "ckpt", region=None, endpoint=None)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (404, "ContainerNotFound", "there is no container ckpt in teamstore"),
        (403, "AuthorizationPermissionMismatch", "no access to teamstore/ckpt"),
    ],
)
def test_a_container_that_is_not_ours(azure: Loopback, account: Account, status: int, code: str, said: str) -> None:
    azure.route("GET", "/ckpt", lambda _request: Reply(status=status, body="", headers={"x-ms-error-code": code}))
    with pytest.raises(PreflightFailed, match=said):
        asked(account)


def test_a_storage_account_that_does_not_answer(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BLOBS", "https://127.0.0.1:1")
    with pytest.raises(PreflightFailed, match="no answer from teamstore"):
        asked(account)
