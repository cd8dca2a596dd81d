from __future__ import annotations

import base64
import json
from datetime import timedelta
from pathlib import Path

import pytest

from support import rigs
from support.rigs import NOW
from trainrig.errors import CredentialsMissing
from trainrig.lifecycle.credential_life import require
from trainrig.model.clock import iso

AWS, AZURE, GCP = (rigs.candidate(cloud=cloud) for cloud in ("aws", "azure", "gcp"))


def token(minutes: int) -> str:
    claims = json.dumps({"exp": int((NOW + timedelta(minutes=minutes)).timestamp())}).encode()
    return f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.signature"


def test_a_session_that_ends_too_soon_is_refused_with_what_to_do() -> None:
    soon = {"AWS_CREDENTIAL_EXPIRATION": iso(NOW + timedelta(minutes=9))}
    with pytest.raises(CredentialsMissing, match="2026-03-01T12:09:00Z") as caught:
        require([AWS], soon, NOW)
    assert "role-duration-seconds" in caught.value.hint
    require([AWS], {"AWS_CREDENTIAL_EXPIRATION": iso(NOW + timedelta(hours=2))}, NOW)


def test_a_token_in_a_file_says_when_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(token(5) + "\n")
    with pytest.raises(CredentialsMissing, match="AZURE_FEDERATED_TOKEN_FILE"):
        require([AZURE], {"AZURE_FEDERATED_TOKEN_FILE": str(file)}, NOW)
    file.write_text(token(300))
    require([AZURE], {"AZURE_FEDERATED_TOKEN_FILE": str(file)}, NOW)


def test_a_fallback_on_another_cloud_counts_and_a_cloud_that_is_not_used_does_not() -> None:
    env = {"ARM_OIDC_TOKEN": token(5)}
    with pytest.raises(CredentialsMissing):
        require([AWS, AZURE], env, NOW)
    require([AWS, GCP], env, NOW)


@pytest.mark.parametrize("text", ["", "opaque", "a.b.c", "e30.e30.e30", "x" * 50])
def test_what_does_not_say_when_it_ends_is_let_through(text: str, tmp_path: Path) -> None:
    require([AZURE], {"ARM_OIDC_TOKEN": text, "AZURE_FEDERATED_TOKEN_FILE": str(tmp_path)}, NOW)
    require([AWS], {"AWS_CREDENTIAL_EXPIRATION": text}, NOW)
