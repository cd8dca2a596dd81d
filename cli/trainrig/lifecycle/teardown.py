"""Removes one attempt: what its state holds through Terraform, what its labels show through the cloud.

It reports and does not raise, so that whatever fails here, the look at the cloud that follows still happens.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from trainrig.clouds import registry
from trainrig.errors import RigBusy, RigError
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.reap import Place, Reaped, reap_once
from trainrig.lifecycle.unlock import probe, release_own
from trainrig.lifecycle.watchdog import Failure, Watchdog, failure
from trainrig.model.events import Progress
from trainrig.model.fault import FaultClass
from trainrig.store.journal import Attempt, Rig
from trainrig.tools import leftover, terraform_state
from trainrig.tools.terraform import Terraform
from trainrig.tools.terraform_state import StateResource

RETRY_SECONDS = (0.0, 2.0, 5.0, 15.0)  # for dependants that the cloud lets go of late
BEFORE_LOCK_SECONDS = 5.0  # from the start of a Terraform to its lock
RETRY = {FaultClass.DEPENDENCY, FaultClass.EVENTUAL}


@dataclass(frozen=True, kw_only=True, slots=True)
class Teardown:
    """`remaining` is still there, as far as we know, for the reason that `problem` gives."""

    destroyed: tuple[StateResource, ...] = ()
    remaining: tuple[StateResource, ...] = ()
    problem: str = ""
    again: bool = False  # the reason may pass


def remove(context: Context, rig: Rig, attempt: Attempt) -> tuple[Teardown, Reaped]:
    """Terraform first, since it knows the order; then by label, which also takes what Terraform never knew and what
    holds up its destroy; again while the cloud still names dependants.

    Raises:
        RigBusy: another Terraform works on this state.
    """
    root = context.rig_dir(rig.identity).attempt(attempt.generation, attempt.number)
    place = Place(cloud=attempt.cloud, regions=(attempt.region,), account=attempt.account)
    total, reaped = Teardown(), Reaped()
    for delay in RETRY_SECONDS:
        time.sleep(delay)
        torn = teardown(context, root, attempt.cloud)
        reaped = reaped.then(reap_once(context, (place,), rig.run_id))
        swept = tuple(r for r in torn.remaining if reaped.is_gone(r.id))
        remaining = tuple(r for r in torn.remaining if r not in swept)
        total = replace(torn, destroyed=(*total.destroyed, *torn.destroyed), remaining=remaining)
        if not (remaining and torn.again):
            break
    return total, reaped


def teardown(context: Context, root: Path, cloud: str) -> Teardown:
    """One `terraform destroy` of one root."""
    if not (root / "main.tf").exists():
        return Teardown()  # killed before the root was written: nothing was asked of a cloud
    try:
        patience = registry.facts(cloud).apply_deadline_seconds
        leftover.settle(root, patience)
        _wait_for_other_machine(context, root, cloud, patience)
        with context.terraform(root, cloud) as terraform:
            try:
                return _destroy(context, terraform, cloud)
            except RigBusy as busy:
                # A Terraform of ours that was killed leaves its lock in a remote backend.
                if not release_own(terraform, busy):
                    raise
                return _destroy(context, terraform, cloud)
    except RigBusy:
        raise
    except (RigError, ValueError) as error:
        return Teardown(problem=str(error))


def _wait_for_other_machine(context: Context, root: Path, cloud: str, patience_seconds: int) -> None:
    """Waits until the Terraform of a machine whose trainrig has died lets go of the state: until then, the state does
    not have what is being created.

    Raises:
        RigBusy: it is still at it, or its machine died and the backend has not noticed.
    """
    other = leftover.elsewhere(root)
    if other is None:
        return
    context.observe(Progress(phase="destroy", message=f"a Terraform of {other} may still work here: wait for its end"))
    time.sleep(BEFORE_LOCK_SECONDS)
    with context.terraform(root, cloud, lock_timeout_seconds=patience_seconds) as terraform:
        probe(terraform)
    leftover.forget(root)


def _destroy(context: Context, terraform: Terraform, cloud: str) -> Teardown:
    remote = (terraform.root / "backend.tf.json").exists()
    if remote and not (terraform.root / ".terraform").exists():
        terraform.init().check()  # without it the state cannot be seen at all
    terraform.rescue_state()
    before = terraform_state.parse(terraform.state_pull())
    failed = _try_destroy(context, terraform, cloud, len(before)) if before else None
    if failed is None:
        return Teardown(destroyed=before)
    remaining = terraform_state.parse(terraform.state_pull())
    return Teardown(
        destroyed=tuple(r for r in before if r not in remaining),
        remaining=remaining,
        problem=failed.reason,
        again=failed.fault in RETRY,
    )


def _try_destroy(context: Context, terraform: Terraform, cloud: str, total: int) -> Failure | None:
    """None when all of the state is destroyed. An installation that was cut off is made whole once."""
    facts = registry.facts(cloud)
    watch = Watchdog(facts, phase="destroy", total=total, observe=context.observe, stops=False)
    result = terraform.destroy(watch=watch)
    if any("terraform init" in e.text for e in result.errors):
        terraform.init().check()
        result = terraform.destroy(watch=watch)
    return None if result.ok else failure(result, facts)
