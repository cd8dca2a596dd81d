"""Looks into containers of a storage account."""

from __future__ import annotations

from azure.core.exceptions import AzureError, ClientAuthenticationError, ResourceNotFoundError
from azure.identity import DefaultAzureCredential
from azure.storage.blob import ContainerClient

from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing


def holds_data(account: Account, holder: str | None, name: str) -> bool:  # noqa: ARG001 -- the chain knows the tenant
    try:
        with ContainerClient(
            f"https://{holder}.blob.core.windows.net", name, credential=DefaultAzureCredential()
        ) as container:
            return any(container.list_blobs(include=["versions", "deleted"], results_per_page=1))
    except ResourceNotFoundError:
        return False
    except ClientAuthenticationError as error:
        raise CredentialsMissing(f"azure: {error.message}", hint="az login") from error
    except AzureError as error:
        raise CommandFailed(f"azure: {error.message}", details={"cloud": "azure"}) from error
