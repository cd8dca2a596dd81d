"""Finds clouds by folder name and loads their capabilities on first use; there is no list to edit."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import cast

from trainrig.clouds import base
from trainrig.errors import NotBuilt, UsageError
from trainrig.model.tariff import Tariff

ENTRY_POINTS = "trainrig.clouds"


_HERE = Path(__file__).parent


def _package(cloud: str) -> str | None:
    """The dotted package of a cloud. Ours are folders beside this file; others register an entry point."""
    if cloud.isidentifier() and (_HERE / cloud / "facts.py").is_file():
        return f"trainrig.clouds.{cloud}"
    return _registered().get(cloud)


@cache
def _registered() -> dict[str, str]:
    """Reads what all installed packages say of themselves, which takes a while: only for a cloud that is not ours."""
    from importlib.metadata import entry_points

    return {e.name: e.value for e in entry_points(group=ENTRY_POINTS)}


def forget() -> None:
    """Looks again at what is installed, for a process that installs a cloud while it runs."""
    _registered.cache_clear()


def names() -> list[str]:
    return sorted({*_registered(), *(p.parent.name for p in _HERE.glob("*/facts.py"))})


def capability(cloud: str, name: str) -> ModuleType:
    """The module `clouds/<cloud>/<name>.py`.

    Raises:
        UsageError: no such cloud.
        NotBuilt: the cloud does not have it, or the SDK that it needs is not installed.
    """
    package = _package(cloud)
    if package is None:
        raise UsageError(f"unknown cloud {cloud!r}", hint=f"known: {', '.join(names())}")
    module = f"{package}.{name}"
    if find_spec(module) is None:
        raise NotBuilt(f"{cloud}: {name} is not built yet", details={"cloud": cloud, "capability": name})
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("trainrig"):
            raise
        extra = facts(cloud).python_extra or cloud
        raise NotBuilt(
            f"{cloud}: {name} needs the Python package {error.name}",
            hint=f"pip install 'trainrig[{extra}]'",
        ) from error


def file(cloud: str, name: str) -> Path | None:
    """A data file in a cloud's folder, or None."""
    spec = find_spec(_package(cloud) or "")
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / name if folders else None
    return path if path and path.is_file() else None


def has(cloud: str, name: str) -> bool:
    package = _package(cloud)
    return package is not None and find_spec(f"{package}.{name}") is not None


def facts(cloud: str) -> base.CloudFacts:
    return cast("base.CloudFacts", capability(cloud, "facts").FACTS)


def price(cloud: str) -> base.PriceModule:
    return cast("base.PriceModule", capability(cloud, "price"))


def tariff(cloud: str) -> Tariff:
    """Empty for a cloud that has no tariff.py."""
    return cast("base.TariffModule", capability(cloud, "tariff")).TARIFF if has(cloud, "tariff") else Tariff()


def offers(cloud: str) -> base.OffersModule:
    return cast("base.OffersModule", capability(cloud, "offers"))


def computed_offers(cloud: str) -> base.ComputedOffersModule:
    return cast("base.ComputedOffersModule", capability(cloud, "computed_offers"))


def quota(cloud: str) -> base.QuotaModule:
    return cast("base.QuotaModule", capability(cloud, "quota"))


def checks(cloud: str) -> base.ChecksModule:
    return cast("base.ChecksModule", capability(cloud, "checks"))


def inventory(cloud: str) -> base.InventoryModule:
    return cast("base.InventoryModule", capability(cloud, "inventory"))


def images(cloud: str) -> base.ImagesModule:
    return cast("base.ImagesModule", capability(cloud, "images"))


def store(cloud: str) -> base.StoreModule:
    return cast("base.StoreModule", capability(cloud, "store"))


def objects(cloud: str) -> base.ObjectsModule:
    return cast("base.ObjectsModule", capability(cloud, "objects"))


def host_keys(cloud: str) -> base.HostKeysModule:
    return cast("base.HostKeysModule", capability(cloud, "host_keys"))


def tfvars(cloud: str) -> base.TfvarsModule:
    return cast("base.TfvarsModule", capability(cloud, "tfvars"))


def image_rights(cloud: str) -> base.ImageRightsModule:
    return cast("base.ImageRightsModule", capability(cloud, "image_rights"))


def grants(cloud: str) -> base.GrantsModule:
    return cast("base.GrantsModule", capability(cloud, "grants"))


def fabric(cloud: str) -> base.FabricModule:
    return cast("base.FabricModule", capability(cloud, "fabric"))


def provider(cloud: str) -> base.ProviderModule:
    return cast("base.ProviderModule", capability(cloud, "provider"))


def prepare(cloud: str) -> base.PrepareModule:
    return cast("base.PrepareModule", capability(cloud, "prepare"))


def drill(cloud: str) -> base.DrillModule:
    return cast("base.DrillModule", capability(cloud, "drill"))


def built_images(cloud: str) -> base.BuiltImagesModule:
    return cast("base.BuiltImagesModule", capability(cloud, "built_images"))
