"""The digest of a container tag, asked of its registry (OCI distribution API) or of this machine's Docker."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from http import HTTPStatus
from typing import Any

from trainrig.errors import CommandFailed, PreflightFailed
from trainrig.tools.container import local_image

TIMEOUT_SECONDS = 15
_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
LOCAL = "local:"  # before the id of an image that no registry knows


def digest(name: str, tag: str) -> str:
    """`sha256:...` of `name:tag` as its registry has it, else `local:sha256:...`, the id of the image on this machine.

    Raises:
        PreflightFailed: neither knows it.
    """
    try:
        return _asked(name, tag)
    except (CommandFailed, OSError) as error:
        here = local_image(f"{name}:{tag}")
        if here is None:
            raise PreflightFailed(
                f"no digest of {name}:{tag}: {error}",
                hint="check the reference and the network; private registries: docker pull it first",
            ) from error
        image_id, from_registries = here
        return from_registries[0].partition("@")[2] if from_registries else f"{LOCAL}{image_id}"


def _asked(name: str, tag: str) -> str:
    host, path = _place(name)
    scheme = "http" if host.partition(":")[0] in {"localhost", "127.0.0.1"} else "https"
    request = urllib.request.Request(f"{scheme}://{host}/v2/{path}/manifests/{tag}", method="HEAD")  # noqa: S310
    request.add_header("Accept", ", ".join((*_INDEXES, *_MANIFESTS)))
    try:
        answer = _open(request)
    except urllib.error.HTTPError as error:
        challenge = error.headers.get("WWW-Authenticate", "")
        if error.code != HTTPStatus.UNAUTHORIZED or not challenge.lower().startswith("bearer "):
            raise CommandFailed(f"{host} says {error.code}") from error
        request.add_header("Authorization", f"Bearer {_token(challenge)}")
        answer = _open(request)
    with answer:
        found = str(answer.headers.get("Docker-Content-Digest", ""))
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
        raise CommandFailed(f"{host} gives no digest")
    return found


def _token(challenge: str) -> str:
    """An anonymous token, from the place that the registry names."""
    said = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    realm = said.pop("realm", "")
    if not realm.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise CommandFailed(f"the registry sends us to {realm!r} for a token")
    request = urllib.request.Request(f"{realm}?{urllib.parse.urlencode(said)}")  # noqa: S310 -- checked above
    with _open(request) as answer:
        document: dict[str, Any] = json.load(answer)
    return str(document.get("token") or document.get("access_token") or "")


def _open(request: urllib.request.Request) -> Any:
    """Raises OSError: HTTPError for a refusal, URLError for no answer."""
    return urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)  # noqa: S310 -- our callers write the scheme


def _place(name: str) -> tuple[str, str]:
    """Registry host and repository; Docker Hub has the short names."""
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return ("registry-1.docker.io" if first == "docker.io" else first), rest
    return "registry-1.docker.io", name if slash else f"library/{name}"
