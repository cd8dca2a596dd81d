"""Google Cloud in its standard credential chain (ADC): Compute Engine through its client library, the rest over REST.

`account.settings["endpoint"]` sends every call to another base address (a private endpoint, a proxy).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

# Read at import time: how long google.auth waits for the metadata server of a machine that is not Google's.
os.environ.setdefault("GCE_METADATA_TIMEOUT", "1")

with warnings.catch_warnings():
    # The library announces at import time when it will drop this Python version; that is no news for our users.
    warnings.simplefilter("ignore", FutureWarning)
    import google.auth
    import requests
    from google.api_core import exceptions as api
    from google.auth import exceptions as auth
    from google.auth import impersonated_credentials
    from google.auth.transport.requests import AuthorizedSession
    from google.cloud import compute_v1

from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing, PreflightFailed

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_session: Any = AuthorizedSession  # both have no types
_from_answer: Any = api.from_http_response
LOGIN = "gcloud auth application-default login"
TIMEOUT_SECONDS = 30


def credentials(account: Account) -> tuple[Any, str]:
    """Application default credentials and the project to work in.

    Raises:
        CredentialsMissing: there are none, or no project is named anywhere.
    """
    with translated():
        found, default_project = _default()
    actor = account.settings.get("impersonate_service_account")
    if actor:
        found = _impersonated(found, actor)
    project = account.settings.get("project") or default_project
    if not project:
        raise CredentialsMissing(
            "gcp: no project is named",
            hint="set clouds.gcp.account.project in the environment, or GOOGLE_CLOUD_PROJECT",
        )
    return found, project


@cache
def _default() -> tuple[Any, str | None]:
    found: tuple[Any, str | None] = google.auth.default(scopes=[SCOPE])
    return found


def _impersonated(source: Any, actor: str) -> Any:
    credentials: Any = impersonated_credentials.Credentials
    return credentials(source_credentials=source, target_principal=actor, target_scopes=[SCOPE])


def project(account: Account) -> str:
    return credentials(account)[1]


def compute(account: Account, kind: str) -> Any:
    """A client of compute_v1 by the name of its resource: `compute(account, "Instances")`."""
    endpoint = account.settings.get("endpoint")
    return getattr(compute_v1, f"{kind}Client")(
        credentials=credentials(account)[0], client_options={"api_endpoint": endpoint} if endpoint else None
    )


def pages(account: Account, kind: str, call: str = "aggregated_list", **arguments: Any) -> Iterator[tuple[str, Any]]:
    """(scope, item) of a list of compute_v1, over all its pages. The scope is "zones/Z", "regions/R" or ""."""
    with translated():
        method = getattr(compute(account, kind), call)
        request = {"project": project(account), **arguments}
        for entry in method(request=request, timeout=TIMEOUT_SECONDS):
            if not isinstance(entry, tuple):
                yield "", entry
                continue
            scope, scoped = entry
            for field in type(scoped).meta.fields.values():
                if field.repeated:
                    for item in getattr(scoped, field.name):
                        yield scope, item


def rest(
    account: Account, method: str, url: str, *, query: Mapping[str, str] | None = None, body: Any = None
) -> dict[str, Any]:
    """One call of a Google API that has no client here; `url` is absolute, as its reference gives it."""
    endpoint = account.settings.get("endpoint")
    if endpoint:
        url = endpoint + "/" + url.removeprefix("https://").partition("/")[2]
    with translated():
        session: Any = _session(credentials(account)[0])
        answer = session.request(method, url, params=query, json=body, timeout=TIMEOUT_SECONDS)
        if answer.status_code >= 400:
            raise _from_answer(answer)
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found


@contextmanager
def translated() -> Iterator[None]:
    """Turns what Google's libraries raise into our errors.

    Raises:
        CredentialsMissing: there are none, or Google does not take them.
        PreflightFailed: Google cannot be reached.
        CommandFailed: Google refuses, in its own words, which the fault table knows.
    """
    try:
        yield
    except (auth.DefaultCredentialsError, auth.RefreshError) as error:
        raise CredentialsMissing(f"gcp: {_first_line(error)}", hint=LOGIN, details={"cloud": "gcp"}) from error
    except api.Unauthorized as error:
        raise CredentialsMissing(f"gcp: {error.message}", hint=LOGIN, details={"cloud": "gcp"}) from error
    except (auth.TransportError, requests.ConnectionError, requests.Timeout, api.RetryError) as error:
        raise PreflightFailed(
            f"gcp: no answer: {_first_line(error)}", hint="check the network and any proxy"
        ) from error
    except api.GoogleAPICallError as error:
        reasons = ", ".join(str(e.get("reason", "")) for e in error.errors if isinstance(e, dict))
        raise CommandFailed(
            f"gcp: Error {error.code}: {error.message}" + (f", {reasons}" if reasons else ""),
            details={"cloud": "gcp", "code": int(error.code or 0)},
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
