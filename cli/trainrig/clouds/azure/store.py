"""Looks into containers of a storage account."""

from __future__ import annotations

from typing import Any

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
    ServiceRequestError,
)
from azure.identity import DefaultAzureCredential
from azure.storage.blob import ContainerClient

from trainrig.clouds.azure import session
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing, PreflightFailed

BLOBS = "https://{}.blob.core.windows.net"


def holds_data(account: Account, holder: str | None, name: str) -> bool:  # noqa: ARG001 -- the chain knows the tenant
    try:
        with ContainerClient(BLOBS.format(holder), name, credential=DefaultAzureCredential()) as container:
            return any(container.list_blobs(include=["versions", "deleted"], results_per_page=1))
    except ResourceNotFoundError:
        return False
    except ClientAuthenticationError as error:
        raise CredentialsMissing(f"azure: {error.message}", hint="az login") from error
    except AzureError as error:
        raise CommandFailed(f"azure: {error.message}", details={"cloud": "azure"}) from error


def access(
    account: Account,
    holder: str | None,
    name: str,
    *,
    region: str | None,  # noqa: ARG001 -- a storage account is found without its region
    endpoint: str | None,  # noqa: ARG001 -- only S3 has other servers
) -> str:
    credential = session.credential(account.settings.get("client_id"))
    options: dict[str, Any] = {**session.PATIENCE, "retry_total": 0}
    try:
        with ContainerClient(BLOBS.format(holder), name, credential=credential, **options) as container:
            any(container.list_blobs(results_per_page=1))
    except ClientAuthenticationError as error:
        raise CredentialsMissing(f"azure: {error.message}", hint="az login") from error
    except ResourceNotFoundError as error:
        raise PreflightFailed(f"there is no container {name} in {holder}", hint="trainrig store apply") from error
    except ServiceRequestError as error:
        raise PreflightFailed(f"no answer from {holder}: is there such a storage account?") from error
    except HttpResponseError as error:
        raise PreflightFailed(
            f"no access to {holder}/{name}: {error.reason}",
            hint="assign Storage Blob Data Contributor on the container to this identity",
        ) from error
    return "readable; whether it can be written was not asked"
