from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.loopback import Loopback, Reply, Request, serve
from trainrig.errors import PreflightFailed
from trainrig.tools import oci

DIGEST = "sha256:" + "a" * 64


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serve() as server:
        yield server


@pytest.fixture
def name(loopback: Loopback) -> str:
    return loopback.url.removeprefix("http://") + "/team/train"


def manifest(request: Request) -> Reply:
    return Reply(body="", headers={"Docker-Content-Digest": DIGEST})


def test_a_tag_becomes_the_registrys_digest(loopback: Loopback, name: str) -> None:
    loopback.route("HEAD", "/v2/team/train/manifests/v1", manifest)
    assert oci.digest(name, "v1") == DIGEST


def test_an_anonymous_token_is_fetched_where_the_registry_says(loopback: Loopback, name: str) -> None:
    def guarded(request: Request) -> Reply:
        if request.headers.get("Authorization") == "Bearer t0ken":
            return manifest(request)
        realm = f'Bearer realm="{loopback.url}/token",service="reg",scope="repository:team/train:pull"'
        return Reply(body="", status=401, headers={"WWW-Authenticate": realm})

    def token(request: Request) -> object:
        assert request.query == {"service": "reg", "scope": "repository:team/train:pull"}
        return {"token": "t0ken"}

    loopback.route("HEAD", "/v2/team/train/manifests/v1", guarded)
    loopback.route("GET", "/token", token)
    assert oci.digest(name, "v1") == DIGEST


def test_an_image_of_this_machine_is_pinned_by_its_id(
    loopback: Loopback, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oci, "local_image", lambda _reference: (DIGEST, ()))
    assert oci.digest(name, "v1") == f"local:{DIGEST}"
    monkeypatch.setattr(oci, "local_image", lambda _reference: ("sha256:b", (f"{name}@{DIGEST}",)))
    assert oci.digest(name, "v1") == DIGEST


def test_what_nobody_knows_is_said(loopback: Loopback, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oci, "local_image", lambda _reference: None)
    with pytest.raises(PreflightFailed, match=r"no digest of .*(404|says)"):
        oci.digest(name, "v1")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("ubuntu", ("registry-1.docker.io", "library/ubuntu")),
        ("pytorch/pytorch", ("registry-1.docker.io", "pytorch/pytorch")),
        ("docker.io/pytorch/pytorch", ("registry-1.docker.io", "pytorch/pytorch")),
        ("nvcr.io/nvidia/pytorch", ("nvcr.io", "nvidia/pytorch")),
        ("localhost:5000/x", ("localhost:5000", "x")),
    ],
)
def test_short_names_are_docker_hubs(name: str, place: tuple[str, str]) -> None:
    assert oci._place(name) == place
