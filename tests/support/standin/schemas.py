"""The schemas of today's providers, for the types that are asked for; rebuilt once and kept in the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock

from support.standin import jsii
from support.standin.wheels import SOURCES
from support.wheels import fetch
from trainrig import settings

# What the rebuilt schemas do not say; Terraform hides these in plans.
_SENSITIVE = {
    "azurerm_linux_virtual_machine": ("admin_password", "custom_data"),
    "azurerm_storage_account": ("primary_access_key", "secondary_access_key"),
}


def load(provider: str, *, resources: Iterable[str], data_sources: Iterable[str] = ()) -> dict[str, Any]:
    """`{"provider", "resource_schemas", "data_source_schemas"}`, shaped as in `terraform providers schema -json`."""
    if (read_off := Path(__file__).parent / f"{provider}.json").exists():
        documented: dict[str, Any] = json.loads(read_off.read_text(encoding="utf-8"))
        return documented
    wanted = {
        "provider": {"": "provider"},
        "resource_schemas": {name: jsii.folder_of(name) for name in resources},
        "data_source_schemas": {name: jsii.folder_of(name, data=True) for name in data_sources},
    }
    folders = _folders(provider, [folder for names in wanted.values() for folder in names.values()])
    out = {kind: {name: folders[folder] for name, folder in names.items()} for kind, names in wanted.items()}
    for name, schema in out["resource_schemas"].items():
        for attribute in _SENSITIVE.get(name, ()):
            schema["block"]["attributes"][attribute]["sensitive"] = True
    out["provider"][""]["block"]["attributes"].pop("alias", None)  # Terraform's own, not the provider's
    return {**out, "provider": out["provider"][""]}


def _folders(provider: str, folders: list[str]) -> dict[str, Any]:
    wheel = SOURCES[provider].wheel
    cache = settings.cache() / "test-schemas" / f"{wheel.project}-{wheel.version}-{_reader()}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{cache}.lock"):
        if missing := [f for f in folders if not (cache / f"{f}.json").exists()]:
            for folder, javascript in jsii.sources(fetch(wheel), missing).items():
                (cache / f"{folder}.json").write_text(json.dumps(jsii.schema(javascript)), encoding="utf-8")
        return {f: json.loads((cache / f"{f}.json").read_text(encoding="utf-8")) for f in folders}


def _reader() -> str:
    """The reader's own digest: another reader, another cache."""
    return hashlib.sha256(Path(jsii.__file__).read_bytes()).hexdigest()[:12]
