"""Breaks the lease on an Azure state blob, with the az program: what force-unlock cannot do without a lock id."""

from __future__ import annotations

from collections.abc import Mapping

from trainrig.model.process import Command
from trainrig.tools import proc


def break_lease(backend: Mapping[str, str]) -> None:
    """`backend`: the settings of Terraform's azurerm backend.

    Raises:
        MissingTool, CommandFailed: with az's words.
    """
    argv = [
        proc.find("az", hint="install the Azure CLI and log in: az login"),
        *("storage", "blob", "lease", "break", "--auth-mode", "login", "--only-show-errors"),
        *("--account-name", backend["storage_account_name"]),
        *("--container-name", backend["container_name"]),
        *("--blob-name", backend["key"]),
    ]
    proc.run(Command(argv=argv, timeout_seconds=120))
