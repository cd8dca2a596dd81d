"""The network between the nodes of a rig."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

FabricKind = Literal["none", "efa", "infiniband", "roce", "gvnic"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fabric:
    """What was paid for. `cards` is how many of its devices each node must show."""

    kind: FabricKind
    cards: int

    @property
    def verbs(self) -> bool:
        """Whether the job's container reaches it through devices, not through the network stack."""
        return self.kind in {"efa", "infiniband", "roce"}


ETHERNET: Final = Fabric(kind="none", cards=0)
