"""A rig: N equal nodes under one Terraform state, with an owner and an hour at which it must be gone."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

LABEL_PREFIX = "trainrig"
MANAGED_BY = "trainrig"


class RigState(StrEnum):
    PLANNED = "planned"
    APPLYING = "applying"
    CONFIGURING = "configuring"
    RUNNING = "running"
    RECOVERING = "recovering"
    COLLECTING = "collecting"
    DESTROYING = "destroying"
    DESTROYED = "destroyed"
    FAILED = "failed"
    LOST = "lost"

    @property
    def may_bill(self) -> bool:
        """False only when nothing of the rig can exist any more."""
        return self not in {RigState.PLANNED, RigState.DESTROYED}


@dataclass(frozen=True, kw_only=True, slots=True)
class RigIdentity:
    """Who a rig is. Names and labels are a function of this alone, and it is journalled before the first API call,
    so that destroy and sweep work with no state and no outputs."""

    name: str
    run_id: str
    owner: str
    project: str
    environment: str
    expires_at: datetime  # timezone-aware; the lease
    labels: Mapping[str, str] = field(default_factory=dict)  # the user's own

    @property
    def resource_prefix(self) -> str:
        """At most 30 characters of [a-z0-9-], starting with a letter: valid on every cloud, unique by run id."""
        stem = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:18].strip("-") or "rig"
        if not stem[0].isalpha():
            stem = f"r{stem}"[:18]
        return f"tr-{stem}-{self.run_id}"

    def all_labels(self) -> dict[str, str]:
        """The user's labels and ours. Keys and values fit the strictest cloud (GCP: [a-z0-9_-], 63 characters)."""
        own = {
            "managed-by": MANAGED_BY,
            "trainrig-rig": label_value(self.name),
            "trainrig-run-id": self.run_id,
            "trainrig-owner": label_value(self.owner),
            "trainrig-project": label_value(self.project),
            "trainrig-env": label_value(self.environment),
            # GCP label values have no upper case and no colon, so the hour is a plain number of seconds.
            "trainrig-expires": str(int(self.expires_at.timestamp())),
        }
        return {**{label_key(k): label_value(v) for k, v in self.labels.items()}, **own}


def label_key(text: str) -> str:
    key = re.sub(r"[^a-z0-9_-]", "-", text.lower())[:63]
    return key if key and key[0].isalpha() else f"l-{key}"[:63]


def label_value(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[:63].strip("-")


def new_run_id() -> str:
    """Eight characters of base 32 without look-alikes; unique enough for one owner's rigs, short enough for names."""
    alphabet = "abcdefghijkmnpqrstuvwxyz23456789"
    return "".join(secrets.choice(alphabet) for _ in range(8))


def is_run_id(text: str) -> bool:
    """Whether a rig may have it: one of new_run_id, or one that a pipeline computed."""
    return re.fullmatch(r"[a-z0-9]{8}", text) is not None


def digest_of(text: str | bytes) -> str:
    return "sha256:" + hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()
