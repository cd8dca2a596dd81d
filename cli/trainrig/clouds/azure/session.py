"""Azure in its standard credential chain (DefaultAzureCredential): Resource Manager through the Azure SDK.

`account.settings`: `subscription` (else ARM_SUBSCRIPTION_ID), `endpoint` (Resource Manager of another Azure, a proxy).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from azure.core import exceptions as core
from azure.core.rest import HttpRequest
from azure.identity import CredentialUnavailableError, DefaultAzureCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.resource.resources import ResourceManagementClient

from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing, PreflightFailed

# The chain logs at length what it tried; what matters of it is in the error.
logging.getLogger("azure.identity").addHandler(logging.NullHandler())

ENDPOINT = "https://management.azure.com"
LOGIN = "az login"
# A stalled connection must not stall us: the SDK's own defaults are five minutes and ten retries.
PATIENCE = {"connection_timeout": 5, "read_timeout": 30, "retry_total": 2, "retry_backoff_factor": 0.4}


@cache
def credential(client_id: str | None = None) -> Any:
    """The chain; `client_id` is the identity that workload and managed identity take."""
    named = {"workload_identity_client_id": client_id, "managed_identity_client_id": client_id} if client_id else {}
    return DefaultAzureCredential(process_timeout=10, **named)


def subscription(account: Account) -> str:
    """Raises CredentialsMissing when no subscription is named anywhere."""
    found = account.settings.get("subscription") or os.environ.get("ARM_SUBSCRIPTION_ID")
    if not found:
        raise CredentialsMissing(
            "azure: no subscription is named",
            hint="set clouds.azure.account.subscription in the environment, or ARM_SUBSCRIPTION_ID",
        )
    return found


def compute(account: Account) -> Any:
    return ComputeManagementClient(
        credential(account.settings.get("client_id")), subscription(account), **_options(account)
    )


def resources(account: Account) -> Any:
    return ResourceManagementClient(
        credential(account.settings.get("client_id")), subscription(account), **_options(account)
    )


def _options(account: Account) -> dict[str, Any]:
    endpoint = account.settings.get("endpoint", ENDPOINT)
    return {"base_url": endpoint, "credential_scopes": [f"{ENDPOINT}/.default"], **PATIENCE}


def get(account: Account, path: str, *, api_version: str) -> Mapping[str, Any]:
    """One read of Resource Manager that has no client here; `path` starts below the subscription."""
    base = f"/subscriptions/{subscription(account)}"
    with translated():
        request = HttpRequest("GET", f"{base}/{path}".rstrip("/"), params={"api-version": api_version})
        answer = resources(account).send_request(request)
        answer.raise_for_status()
        found: Mapping[str, Any] = answer.json()
        return found


@contextmanager
def translated() -> Iterator[None]:
    """Turns what the Azure SDK raises into our errors.

    Raises:
        CredentialsMissing: there are none, or Azure does not take them.
        PreflightFailed: Azure cannot be reached.
        CommandFailed: Azure refuses; the message holds its own code, which the fault table knows.
    """
    try:
        yield
    except (CredentialUnavailableError, core.ClientAuthenticationError) as error:
        raise CredentialsMissing(f"azure: {_brief(error)}", hint=LOGIN, details={"cloud": "azure"}) from error
    except (core.ServiceRequestError, core.ServiceResponseError) as error:
        raise PreflightFailed(f"azure: no answer: {_brief(error)}", hint="check the network and any proxy") from error
    except core.HttpResponseError as error:
        code = error.error.code if error.error else f"status {error.status_code}"
        raise CommandFailed(
            f"azure: {code}: {error.error.message if error.error else _brief(error)}",
            details={"cloud": "azure", "code": code, "status": error.status_code},
        ) from error


def _brief(error: core.AzureError) -> str:
    """The first line; the chain's message goes on to list every credential that was tried."""
    return (str(error).splitlines() or [type(error).__name__])[0]
