"""One apply on one candidate: all of its nodes, or a failure with its class and nothing left behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainrig.clouds import registry
from trainrig.clouds.base import CloudFacts
from trainrig.errors import Interrupted, RigError, TerraformFailed
from trainrig.lifecycle.check_nodes import deviation, nodes_of
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.teardown import remove
from trainrig.lifecycle.watchdog import Failure, Watchdog, failure
from trainrig.model.fault import FaultClass
from trainrig.model.node import Node
from trainrig.model.placement import Candidate
from trainrig.render.late_bound import TFVARS
from trainrig.store import ledger
from trainrig.store.journal import Attempt, AttemptState, Rig
from trainrig.tools import proc
from trainrig.tools.terraform import Terraform
from trainrig.tools.terraform_events import PlannedChange, TerraformEvent
from trainrig.tools.terraform_plan import TerraformPlan

# Writes the Terraform root of a candidate into a folder; the word is `<generation>-<attempt>`.
MakeRoot = Callable[[Candidate, Path, str], None]


# Raises PlanStale when a plan is not the one that was reviewed.
Review = Callable[[Terraform, TerraformPlan], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Up:
    """The nodes exist, as planned."""

    attempt: Attempt
    nodes: tuple[Node, ...]
    root: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """The attempt failed. `clean`: nothing of it is left, as far as the cloud can tell at once."""

    attempt: Attempt
    failure: Failure
    clean: bool


def try_candidate(
    context: Context,
    rig: Rig,
    generation: int,
    candidate: Candidate,
    make_root: MakeRoot,
    review: Review | None = None,
) -> Up | Failed:
    """Journals the intent, then renders, plans and applies.

    Raises:
        Interrupted: what was created is in state and in the journal.
        UnsafePlan: the plan does more than create.
        PlanStale: it is not the one that was reviewed.
    """
    journal, cloud = context.journal, candidate.offer.cloud
    facts = registry.facts(cloud)
    attempt = journal.start_attempt(rig.run_id, generation, candidate)
    if attempt.tries > 1:
        _forget_roots(context, rig, generation)
    root = context.rig_dir(rig.identity).attempt(generation, attempt.number)
    with context.terraform(root, cloud) as terraform:
        try:
            if registry.has(cloud, "prepare"):
                registry.prepare(cloud).prepare(proc.run, context.observe)
            make_root(candidate, root, f"{generation}-{attempt.number}")
            found = _plan(terraform, facts, review)
        except RigError as error:
            # The cloud has been asked for nothing yet.
            journal.update_attempt(attempt, AttemptState.GONE, reason=error.message)
            raise
        if isinstance(found, Failure):
            journal.update_attempt(attempt, AttemptState.GONE, fault=found.fault, reason=found.reason)
            return Failed(attempt=attempt, failure=found, clean=True)
        attempt = journal.update_attempt(attempt, AttemptState.APPLYING)
        ledger.begin(journal, attempt, context.now())
        watch = Watchdog(facts, phase="apply", total=found, observe=context.observe)
        deadline = facts.apply_deadline_seconds if facts.interruptible_creates else None
        try:
            result = terraform.apply(watch=watch, deadline_seconds=deadline)
        except Interrupted:
            journal.update_attempt(attempt, AttemptState.APPLYING, reason="interrupted")
            raise
    if not result.ok:
        return roll_back(context, rig, attempt, failure(result, facts))
    try:
        nodes = nodes_of(result.outputs, candidate)
        wrong = deviation(context, rig.identity, candidate, nodes, _ordered_image(root))
    except TerraformFailed as error:
        return roll_back(context, rig, attempt, Failure(fault=FaultClass.CONFIG, meaning=error.message))
    if wrong:
        return roll_back(context, rig, attempt, Failure(fault=FaultClass.CAPACITY, meaning=wrong))
    attempt = journal.update_attempt(attempt, AttemptState.UP, nodes=nodes)
    return Up(attempt=attempt, nodes=nodes, root=root)


def _forget_roots(context: Context, rig: Rig, generation: int) -> None:
    """Of tries whose line has become a later one's, since nothing of them was left."""
    directory = context.rig_dir(rig.identity)
    known = {directory.attempt(a.generation, a.number) for a in context.journal.attempts(rig.run_id)}
    for root in directory.path.glob(f"{generation}-*"):
        if root.is_dir() and root not in known:
            shutil.rmtree(root, ignore_errors=True)


def _ordered_image(root: Path) -> str | None:
    inputs = root / TFVARS
    return json.loads(inputs.read_text(encoding="utf-8")).get("image") if inputs.exists() else None


def _plan(terraform: Terraform, facts: CloudFacts, review: Review | None) -> Failure | int:
    """Plans into the plan file; how many resources it will make, or why there is no plan."""
    actions: list[str] = []

    def watch(event: TerraformEvent) -> None:
        if isinstance(event, PlannedChange):
            actions.append(event.action)

    result = terraform.init()
    if result.ok:
        result = terraform.plan(watch=watch)
    if not result.ok:
        return failure(result, facts)
    # The events say enough of a plan that only creates. To read the plan file starts each provider once more.
    if review is None and set(actions) <= {"create", "read"}:
        return actions.count("create")
    plan = terraform.show_plan()
    plan.raise_if_unsafe()
    if review is not None:
        review(terraform, plan)
    return plan.count("create")


def roll_back(context: Context, rig: Rig, attempt: Attempt, failed: Failure) -> Failed:
    """Destroys a partial rig from the state just written, then sweeps by label."""
    journal = context.journal
    attempt = journal.update_attempt(attempt, AttemptState.ROLLING_BACK, fault=failed.fault, reason=failed.reason)
    torn, reaped = remove(context, rig, attempt)
    clean = not (reaped.refused or torn.remaining)
    state = AttemptState.GONE if clean and not reaped.doubts else AttemptState.UNSURE
    if clean:  # before it is called gone: what is gone, nobody ends a second time
        ledger.end(journal, attempt, context.now())
    attempt = journal.update_attempt(attempt, state)
    return Failed(attempt=attempt, failure=failed, clean=clean)
