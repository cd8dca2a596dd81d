"""What the applying machine fills in anew: run id, lease hour, SSH key, caller's address and owner.

They differ from machine to machine and from hour to hour, so no reviewer can approve them. Digests are taken with
placeholders in their places, and a reviewed root gets the values of the machine that applies it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trainrig.model.clock import iso
from trainrig.model.rig import RigIdentity

TFVARS = "terraform.tfvars.json"
# TEST-NET-1: stands for the caller's address where it cannot be known.
UNKNOWN_ADDRESS = "192.0.2.1/32"
_OWNER = "trainrig-owner"
_HOUR = "daily_recurrence_time"  # in which Azure has no day: the lease as 0930


@dataclass(frozen=True, kw_only=True, slots=True)
class LateBound:
    """`cidrs` is empty where the environment fixes who may reach SSH: then that is reviewed like everything else."""

    run_id: str
    expires: tuple[str, ...]  # as text, as a calendar time, in seconds, as an hour of the day
    owner: str
    public_key: str
    cidrs: tuple[str, ...]

    @classmethod
    def of(cls, identity: RigIdentity, *, public_key: str, cidrs: Sequence[str]) -> LateBound:
        return cls(
            run_id=identity.run_id,
            expires=_moments(identity.expires_at),
            owner=identity.owner,
            public_key=public_key,
            cidrs=tuple(cidrs),
        )


def _moments(moment: datetime) -> tuple[str, ...]:
    return iso(moment), f"{moment:%Y-%m-%d %H:%M:%S} UTC", str(int(moment.timestamp())), f"{moment:%H%M}"


def placeholders(late: LateBound) -> LateBound:
    return LateBound(
        run_id="RUN-ID",
        expires=("LEASE", "LEASE-CALENDAR", "LEASE-SECONDS", "LEASE-HOUR"),
        owner="OWNER",
        public_key="SSH-PUBLIC-KEY",
        cidrs=tuple(f"CALLER-{i}" for i, _ in enumerate(late.cidrs)),
    )


def rebind(value: Any, old: LateBound, new: LateBound) -> Any:
    """`value`, JSON of any shape, with the texts of `old` replaced by those of `new`, in base64 too."""
    pairs = [
        *zip(old.expires[:3], new.expires[:3], strict=True),
        (old.public_key, new.public_key),
        (old.run_id, new.run_id),
        *zip(old.cidrs, new.cidrs, strict=False),
    ]
    return _rebind(value, pairs, {_OWNER: new.owner, _HOUR: new.expires[3]})


def _rebind(value: Any, pairs: Sequence[tuple[str, str]], by_key: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _text(value, pairs)
        case Mapping():
            return {
                _text(k, pairs): by_key[k] if k in by_key and isinstance(v, str) else _rebind(v, pairs, by_key)
                for k, v in value.items()
            }
        case list() | tuple():
            return [_rebind(v, pairs, by_key) for v in value]
        case _:
            return value


def _text(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    decoded = _decoded(text)
    if decoded is not None:
        return base64.b64encode(_text(decoded, pairs).encode()).decode()
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def _decoded(text: str) -> str | None:
    """The text inside base64, as clouds take user data; None: it is not base64."""
    if len(text) < 64 or len(text) % 4 or " " in text:
        return None
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def tfvars_for(text: str, old: LateBound, new: LateBound) -> str:
    """terraform.tfvars.json with the values of another machine."""
    values = rebind(json.loads(text), old, new)
    values["rig"]["owner"] = new.owner
    if new.cidrs:
        values["ssh_ingress_cidrs"] = list(new.cidrs)
    return json.dumps(values, ensure_ascii=False, indent=2) + "\n"


def meaning_of(files: Mapping[str, str], late: LateBound) -> dict[str, str]:
    """The files of a root with placeholders. job.json is left out: it holds paths of this machine, and the job has a
    digest of its own."""
    blank = placeholders(late)
    return {
        path: tfvars_for(text, late, blank) if path == TFVARS else rebind(text, late, blank)
        for path, text in files.items()
        if path != "job.json"
    }
