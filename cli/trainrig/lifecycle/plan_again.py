"""Plans a job whose rig is up: what an apply of the rig's own root would change, which is nothing when all is well."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trainrig import settings
from trainrig.lifecycle import plan_resources, run_context
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.plan_resources import Planned
from trainrig.model.job import Job
from trainrig.model.placement import Candidate, Placement
from trainrig.model.rig import RigIdentity
from trainrig.store.journal import Attempt, AttemptState
from trainrig.tools import terraform_state

LOOK = "look.tfplan"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A rig that is up. Its placement has the candidate first that it came up on."""

    identity: RigIdentity
    placement: Placement
    planned: Planned


def standing(context: Context, job: Job) -> Standing | None:
    """The rig of this very job, as `apply` made it; None when none is up.

    Raises:
        TerraformFailed: the cloud could not be read.
        UnsafePlan: an apply would delete or replace something of it.
    """
    for rig in context.journal.rigs():
        if rig.name == job.name and rig.details.get("job_digest") == job.digest and rig.details.get("verb") != "run":
            for attempt in context.journal.attempts(rig.run_id):
                if attempt.state is AttemptState.UP:
                    placement = run_context.load(settings.home(), rig.run_id, context.observe).placement
                    return Standing(
                        identity=rig.identity,
                        placement=_first(placement, attempt),
                        planned=_look(context, rig.identity, attempt),
                    )
    return None


def _first(placement: Placement, attempt: Attempt) -> Placement:
    def is_it(c: Candidate) -> bool:
        o = c.offer
        return (o.cloud, o.region, o.zone, o.instance_type, o.market) == (
            *(attempt.cloud, attempt.region, attempt.zone),
            *(attempt.instance_type, attempt.market),
        )

    up = next(filter(is_it, placement.candidates), placement.candidates[0])
    return replace(placement, chosen=up, fallbacks=tuple(c for c in placement.candidates if c is not up))


def _look(context: Context, identity: RigIdentity, attempt: Attempt) -> Planned:
    root = context.rig_dir(identity).attempt(attempt.generation, attempt.number)
    with context.terraform(root, attempt.cloud) as terraform:
        serial = terraform_state.serial(terraform.state_pull())
        terraform.plan(out=LOOK).check()
        plan = terraform.show_plan(LOOK)
        version = terraform.version()
    (root / LOOK).unlink(missing_ok=True)
    plan.raise_if_unsafe()
    return Planned(resources=plan_resources.resources(plan), plan=plan, serial=serial, version=version)
