"""How long the credentials of this pipeline live: the hours that its variables and token files name."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

# What the common login actions and CLIs set. A token of a file is a JSON web token, whose `exp` anybody can read.
_MOMENTS = {"aws": ("AWS_CREDENTIAL_EXPIRATION", "AWS_SESSION_EXPIRATION"), "gcp": (), "azure": ()}
_TOKENS = {"aws": (), "gcp": ("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"), "azure": ("ARM_OIDC_TOKEN",)}
_FILES = {
    "aws": ("AWS_WEB_IDENTITY_TOKEN_FILE",),
    "gcp": (),
    "azure": ("AZURE_FEDERATED_TOKEN_FILE", "ARM_OIDC_TOKEN_FILE_PATH"),
}


# Where the login of a pipeline lays credentials, often in the middle of the checkout.
_CREDENTIAL_FILES = (
    *(name for names in _FILES.values() for name in names),
    *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_GHA_CREDS_PATH", "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE"),
    *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "ARM_CLIENT_CERTIFICATE_PATH", "KUBECONFIG"),
)


def credential_files(env: Mapping[str, str]) -> list[Path]:
    """The files that an environment names as credentials, whether they are there or not."""
    return [Path(env[name]).expanduser() for name in _CREDENTIAL_FILES if env.get(name)]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLife:
    """`name` is the variable that says it."""

    cloud: str
    name: str
    ends_at: datetime


def token_life(cloud: str, env: Mapping[str, str]) -> TokenLife | None:
    """The end that comes first; None where nothing says when."""
    found = [TokenLife(cloud=cloud, name=name, ends_at=end) for name, end in _ends(cloud, env)]
    return min(found, key=lambda life: life.ends_at, default=None)


def _ends(cloud: str, env: Mapping[str, str]) -> Iterator[tuple[str, datetime]]:
    for name in _MOMENTS.get(cloud, ()):
        try:
            moment = datetime.fromisoformat(env[name])
        except (KeyError, ValueError):
            continue
        yield name, moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    texts = {name: env[name] for name in _TOKENS.get(cloud, ()) if name in env}
    for name in _FILES.get(cloud, ()):
        try:
            texts[name] = Path(env[name]).read_text(encoding="utf-8")
        except (KeyError, OSError, UnicodeDecodeError):
            continue
    for name, text in texts.items():
        end = _expiry(text.strip())
        if end is not None:
            yield name, end


def _expiry(token: str) -> datetime | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(int(claims["exp"]), UTC)
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
