from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.core.credentials import AccessToken

from support.loopback import Loopback, Reply, serve
from trainrig.clouds.azure import store
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed

ACCOUNT = Account(cloud="azure")
LIST = (
    '<?xml version="1.0"?><EnumerationResults ContainerName="team"><Blobs>{}</Blobs><NextMarker/></EnumerationResults>'
)
XML = {"Content-Type": "application/xml"}
OLD = (
    "<Blob><Name>run/1</Name><VersionId>2026-01-31T12:00:00.0000000Z</VersionId>"
    "<Properties><BlobType>BlockBlob</BlobType></Properties></Blob>"
)


class Credential:
    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        assert scopes == ("https://storage.azure.com/.default",)
        return AccessToken("token", 1 << 40)


@pytest.fixture
def blobs(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.setattr(store, "DefaultAzureCredential", Credential)
    with serve(certificate) as server:
        monkeypatch.setattr(store, "BLOBS", f"{server.url}/{{}}")
        yield server


def answer(blobs: Loopback, status: int, body: str) -> None:
    blobs.route("GET", "/teamstate/team", Reply(status=status, body=body.encode(), headers=XML))


def test_an_old_version_is_data(blobs: Loopback) -> None:
    answer(blobs, 200, LIST.format(OLD))
    assert store.holds_data(ACCOUNT, "teamstate", "team")


def test_an_empty_container_and_one_that_is_gone_have_none(blobs: Loopback) -> None:
    answer(blobs, 200, LIST.format(""))
    assert not store.holds_data(ACCOUNT, "teamstate", "team")


def test_a_container_that_is_gone_has_none(blobs: Loopback) -> None:
    answer(blobs, 404, "<Error><Code>ContainerNotFound</Code><Message>gone</Message></Error>")
    assert not store.holds_data(ACCOUNT, "teamstate", "team")


def test_a_refusal_is_no_answer(blobs: Loopback) -> None:
    answer(blobs, 403, "<Error><Code>AuthorizationFailure</Code><Message>no</Message></Error>")
    with pytest.raises(CommandFailed, match="azure: "):
        store.holds_data(ACCOUNT, "teamstate", "team")
