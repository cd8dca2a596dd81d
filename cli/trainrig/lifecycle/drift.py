"""What a rig's cloud shows otherwise than its state, with a name for each kind of difference."""

from __future__ import annotations

from collections.abc import Sequence

from trainrig.clouds import registry
from trainrig.clouds.base import Resource
from trainrig.errors import RigUnknown
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.reap import Place, look
from trainrig.model.offer import Market
from trainrig.model.status import Drift, DriftKind
from trainrig.store.journal import Attempt, AttemptState, Rig
from trainrig.tools import terraform_state
from trainrig.tools.terraform_plan import ResourceDrifted

DRIFT_PLAN = "drift.tfplan"
# How the clouds' providers say that a machine no longer runs although it is still listed.
_STOPPED = {"status", "current_status", "instance_state", "power_state"}


def drift(context: Context, rig: Rig) -> tuple[Drift, ...]:
    """By a refresh-only plan of the rig's state, which changes nothing, and by the cloud's inventory.

    Raises:
        RigUnknown: the rig has no nodes that are up.
        TerraformFailed: the cloud could not be read.
    """
    up = [a for a in context.journal.attempts(rig.run_id) if a.state is AttemptState.UP]
    if not up:
        raise RigUnknown(f"{rig.name} has nothing that is up", hint=f"trainrig status {rig.name}")
    found: list[Drift] = []
    for attempt in up:
        root = context.rig_dir(rig.identity).attempt(attempt.generation, attempt.number)
        with context.terraform(root, attempt.cloud) as terraform:
            terraform.plan(out=DRIFT_PLAN, refresh_only=True).check()
            found += [_typed(d, attempt) for d in terraform.show_plan(DRIFT_PLAN).drift]
            known = {r.id for r in terraform_state.parse(terraform.state_pull())}
        (root / DRIFT_PLAN).unlink(missing_ok=True)
        if registry.has(attempt.cloud, "inventory"):
            seen = look(
                context, Place(cloud=attempt.cloud, regions=(attempt.region,), account=attempt.account), rig.run_id
            )
            found += _extra(seen, known)
    return tuple(found)


def _extra(seen: Sequence[Resource], known: set[str]) -> list[Drift]:
    """What is not in state, of the kinds that are: a node's own disk has our labels too, and is in no state."""
    kinds = {r.type for r in seen if r.id in known}
    return [
        Drift(kind="extra", type=r.type, id=r.id, detail=r.name) for r in seen if r.type in kinds and r.id not in known
    ]


def _typed(drifted: ResourceDrifted, attempt: Attempt) -> Drift:
    lost = drifted.gone or bool(_STOPPED & set(drifted.changed))
    node = drifted.id in {n.instance_id for n in attempt.node_list}
    kind: DriftKind = "edited" if not lost else "preempted" if node and attempt.market is Market.SPOT else "gone"
    detail = drifted.address if drifted.gone else f"{drifted.address}: {', '.join(drifted.changed)}"
    return Drift(kind=kind, type=drifted.type, id=drifted.id, detail=detail)
