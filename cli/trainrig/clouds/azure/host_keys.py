"""SSH host keys of virtual machines, from the serial log of their boot diagnostics."""

from __future__ import annotations

from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import BlobClient

from trainrig.clouds import console_keys
from trainrig.clouds.azure.session import PATIENCE, compute, translated
from trainrig.clouds.base import Account
from trainrig.model.node import Node


def host_key(account: Account, node: Node, *, region: str, zone: str | None) -> str | None:  # noqa: ARG001
    # /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachines/NAME
    parts = node.instance_id.split("/")
    patience: dict[str, Any] = dict(PATIENCE)
    with translated():
        try:
            diagnostics = compute(account).virtual_machines.retrieve_boot_diagnostics_data(parts[4], parts[-1])
            if not diagnostics.serial_console_log_blob_uri:
                return None
            # The address carries its own short-lived right to read.
            with BlobClient.from_blob_url(diagnostics.serial_console_log_blob_uri, **patience) as blob:
                console = blob.download_blob().readall()
        except ResourceNotFoundError:
            return None
    return console_keys.host_key(console.decode("utf-8", "replace"))
