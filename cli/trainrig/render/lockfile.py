"""trainrig.lock: every moving part of a job's rigs, fixed, in a file that is committed and only `trainrig lock` writes.

The shipped pins (data/pins.yaml) have the same shape and serve where a job has no lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from trainrig.errors import SpecInvalid
from trainrig.render import references

SCHEMA = "trainrig.lock/1"
PINS_SCHEMA = "trainrig.pins/1"
FILE_NAME = "trainrig.lock"
_HEADER = "# Written by `trainrig lock`. Commit it; do not edit it.\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderPin:
    version: str
    hashes: tuple[str, ...] = ()  # as .terraform.lock.hcl has them; empty: not known yet


@dataclass(frozen=True, kw_only=True, slots=True)
class ImagePin:
    """One exact machine image of a cloud. `ids` are per region; `id` serves everywhere; with `by_name` the module finds
    it by its name where neither is known."""

    cloud: str
    arch: str
    name: str
    driver: str | None
    cuda: str | None
    kernel_module: str = "open"
    id: str | None = None
    ids: Mapping[str, str] = field(default_factory=dict)
    by_name: bool = False

    def id_in(self, region: str) -> str | None:
        """What Terraform gets; None: the image is not known in that region."""
        return self.ids.get(region) or self.id or (self.name if self.by_name else None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lock:
    providers: Mapping[str, ProviderPin] = field(default_factory=dict)
    images: tuple[ImagePin, ...] = ()  # preferred first
    containers: Mapping[str, str] = field(default_factory=dict)  # reference as written -> sha256:...


def plain(text: str) -> Any:
    """YAML as plain data, by libyaml where it is there: these files are read before every placement."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def parse(text: str, file: str) -> Lock:
    """A lock file or the shipped pins.

    Raises:
        SpecInvalid: it is not one, or of a newer trainrig.
    """
    hint = "restore it from version control, or write it anew with `trainrig lock`"
    try:
        data = plain(text)
        if data["schema"] not in {SCHEMA, PINS_SCHEMA}:
            raise SpecInvalid(f"{file}: schema {data['schema']!r} is not {SCHEMA}", hint="update trainrig")
        lock = Lock(
            providers={name: _provider(pin) for name, pin in data.get("providers", {}).items()},
            images=tuple(ImagePin(**image) for image in data.get("images", ())),
            containers=dict(data.get("containers", {})),
        )
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise SpecInvalid(f"{file} is not a lock file of trainrig: {error}", hint=hint) from error
    for image in lock.images:
        for reference in (image.name, image.id or "", *image.ids.values()):
            if why := references.machine_floats(reference):
                raise SpecInvalid(f"{file}: {reference!r} is not exact: {why}", hint=hint)
    return lock


def _provider(pin: str | Mapping[str, Any]) -> ProviderPin:
    if isinstance(pin, str):
        return ProviderPin(version=pin)
    return ProviderPin(version=pin["version"], hashes=tuple(pin.get("hashes", ())))


def text(lock: Lock) -> str:
    """The file: one fact a line, keys in a fixed order, so that a diff shows what moved and nothing else."""
    document = {
        "schema": SCHEMA,
        "providers": {
            name: {"version": pin.version, "hashes": sorted(pin.hashes)} for name, pin in sorted(lock.providers.items())
        },
        "images": [_image(image) for image in lock.images],
        "containers": dict(sorted(lock.containers.items())),
    }
    return _HEADER + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)


def _image(image: ImagePin) -> dict[str, Any]:
    return {
        "cloud": image.cloud,
        "arch": image.arch,
        "name": image.name,
        "driver": image.driver,
        "cuda": image.cuda,
        "kernel_module": image.kernel_module,
        "by_name": image.by_name,
        "id": image.id,
        "ids": dict(sorted(image.ids.items())),
    }


def hcl(address: str, pin: ProviderPin) -> str:
    """Terraform's own lock file for one provider, `hashicorp/aws` or with a registry before it."""
    source = address if address.count("/") > 1 else f"registry.terraform.io/{address}"
    hashes = "".join(f'    "{h}",\n' for h in sorted(pin.hashes))
    return (
        "# From trainrig.lock: the provider that `terraform init` may install.\n\n"
        f'provider "{source}" {{\n  version = "{pin.version}"\n  hashes = [\n{hashes}  ]\n}}\n'
    )


def changes(old: Lock, new: Lock) -> list[str]:
    """What moved, one line each, for people."""
    lines = []
    before, after = _facts(old), _facts(new)
    for what in sorted(before.keys() | after.keys()):
        match before.get(what), after.get(what):
            case None, is_now:
                lines.append(f"+ {what}: {is_now}")
            case was, None:
                lines.append(f"- {what}: {was}")
            case was, is_now if was != is_now:
                lines.append(f"~ {what}: {was} -> {is_now}")
            case _:
                pass
    return lines


def _facts(lock: Lock) -> dict[str, str]:
    """`image aws x86_64 us-east-1` -> id, and the like; of several images of a kind, the preferred one."""
    found = {f"provider {name}": pin.version for name, pin in lock.providers.items()}
    found |= {f"container {name}": digest for name, digest in lock.containers.items()}
    for image in lock.images:
        kind = f"image {image.cloud} {image.arch}"
        if kind not in found:
            found[kind] = f"{image.name} (driver {image.driver or 'none'}, CUDA {image.cuda or 'not stated'})"
            found |= {f"{kind} {region}": id_ for region, id_ in image.ids.items()}
    return found
