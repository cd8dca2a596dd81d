"""The step of a run that gets its job going on nodes that are up."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from trainrig import errors
from trainrig.clouds import registry
from trainrig.lifecycle import (
    collect,
    configure,
    deliver,
    host_keys,
    job_control,
    job_image,
    notify,
    rig_request,
    run_facts,
    verify,
)
from trainrig.lifecycle.checkpoint_courier import courier_of
from trainrig.lifecycle.checkpoint_stores import patiently
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.origin import checkpoint_of as origin_checkpoint
from trainrig.lifecycle.results import error_document
from trainrig.lifecycle.rig_site import driver_of
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.secret_values import secret_values, store_variables
from trainrig.model.events import Progress
from trainrig.model.offer import Market
from trainrig.model.rig import RigState
from trainrig.render.launch import Launch
from trainrig.store.journal import Attempt
from trainrig.tools import container
from trainrig.tools.ssh import UNREACHABLE, Ssh

T = TypeVar("T")
_BEGIN_ANEW = "--set checkpoints.resume=fresh begins anew"


def launch(run: RunContext, generation: int) -> dict[str, Any]:
    """Configures the nodes, brings what the job needs and starts it: `launched`, `interrupted`, `setup_failed`;
    `policy`: a limit has come."""
    with run.opened() as context:
        if run.stop.is_set() or context.journal.rig(run.run_id).clean:
            return {"kind": "interrupted"}
        attempt = run_facts.living(context, run.run_id)
        if run_facts.started(context, run.run_id, generation):
            return _launched(context, run, attempt, generation)
        if over := run_facts.over(context, run, generation):  # while nobody was at it
            return over
        context.journal.set_state(run.run_id, RigState.CONFIGURING)
        try:
            _of_store(run, lambda: run.checkpoints.fence(generation))
            start = _launch_of(run, attempt, generation)
            attempt = host_keys.learn(context, attempt, stop=run.stop)
            driver = driver_of(run, start.offer)
            bucket = rig_request.bucket_of(run.job, run.environment, run.identity, start.offer)
            keys = store_variables(run.job, os.environ)
            with container.Ahead(start.image, run.observe) as image:
                ssh = configure.configure(
                    run.rig.path,
                    run.job,
                    start.offer,
                    attempt.node_list,
                    start.image,
                    run.observe,
                    driver=driver,
                    fabric=rig_request.fabric_of(
                        run.job, run.environment.using(attempt.cloud, attempt.account), start.offer
                    ),
                    bucket=bucket,
                    secrets=keys,
                    stopped=run.stop.is_set,
                    gone=lambda: run_facts.gone(context, run.run_id),
                    on_ready=image.begin,
                )
            try:
                job_control.halt(ssh)
                if keys:  # a job that was halted took them along
                    configure.lay_secrets(ssh, ssh.nodes, keys)
                deliver.deliver(ssh, start, run.observe)
                verify.require(
                    verify.accept(ssh, run.job, start.offer, start.image, run.observe, driver=driver, bucket=bucket)
                )
                _restore(context, run, attempt, ssh)
                job_control.start(ssh, start, run.observe)
            finally:
                ssh.close()
        except errors.Interrupted:
            return {"kind": "interrupted"}
        except errors.ConfigureFailed as error:
            return {"kind": "setup_failed", "error": error_document(error), "mendable": _mendable(error)}
        except (errors.CommandFailed, errors.StoreFailed) as error:
            failed = errors.ConfigureFailed(error.message, hint=error.hint, details=error.details)
            return {"kind": "setup_failed", "error": error_document(failed), "mendable": _cut_off(error)}
        hazard = registry.tariff(attempt.cloud).hazard(start.offer.gpu)
        expected = hazard.per_hour if start.offer.market is Market.SPOT else 0
        work = run_facts.work_hours(run)
        context.journal.append(
            run.run_id,
            "job_started",
            {
                "generation": generation,
                "preemptions_hour": str(expected),
                "work_hours": None if work is None else str(work),
            },
        )
        return _launched(context, run, attempt, generation)


def _launched(context: Context, run: RunContext, attempt: Attempt, generation: int) -> dict[str, Any]:
    context.journal.set_state(run.run_id, RigState.RUNNING)
    again = "recovered" if generation > 1 else "started"
    notify.tell(context, run, again, f"the job runs on {len(attempt.node_list)} nodes", generation=generation)
    return {"kind": "launched"}


def _launch_of(run: RunContext, attempt: Attempt, generation: int) -> Launch:
    offer = run_facts.candidate_of(run.placement, attempt).offer
    return Launch(
        job=replace(run.job, secrets=secret_values(run.job, os.environ)),
        nodes=attempt.node_list,
        offer=offer,
        image=job_image.image_of(run.job, attempt.cloud),
        rig=run.identity.name,
        run_id=run.run_id,
        generation=generation,
        grace_seconds=registry.facts(attempt.cloud).preemption_notice_seconds,
    )


def _restore(context: Context, run: RunContext, attempt: Attempt, ssh: Ssh) -> None:
    """Gives the nodes the run's own newest checkpoint; before it has one, that of the run it goes on from."""
    courier = courier_of(run, attempt, ssh)
    given, skipped = _of_store(run, lambda: courier.restore(run.observe))
    _of_store(run, lambda: run.checkpoints.begin_with(given.id if given else None))
    origin, of = context.journal.rig(run.run_id).details.get("origin"), ""
    if given is None and origin is not None:
        try:
            newest, passed = _of_store(run, lambda: origin_checkpoint(context, run, origin))
        except errors.RigUnknown as error:
            raise errors.ConfigureFailed(error.message, hint=_BEGIN_ANEW) from error
        skipped, of = [*skipped, *passed], f" of run {origin}"
        if newest is None:
            raise errors.ConfigureFailed(f"run {origin} has no whole checkpoint any more", hint=_BEGIN_ANEW)
        # Nodes may reach their own run's place alone, so another's comes by this machine.
        collect.restore_checkpoints(ssh, newest.files, run.observe)
        given = newest.manifest
    for words in skipped:
        run.observe(Progress(phase="deliver", message=f"passed over: {words}"))
    if given is not None:
        run.observe(Progress(phase="deliver", message=f"resume from checkpoint {given.id}{of}"))


def _of_store(run: RunContext, ask: Callable[[], T]) -> T:
    return patiently(ask, run.stop, run.observe, go_on=run.go_on)


def _mendable(error: errors.ConfigureFailed) -> bool:
    """Whether other nodes may do better: these did not answer. A task or a delivery that failed would fail again."""
    failures = error.details.get("failures")
    if isinstance(failures, list):
        return any(f["unreachable"] for f in failures)
    return bool(error.details.get("unreachable")) or _cut_off(error)


def _cut_off(error: BaseException | None) -> bool:
    """Whether it comes of a connection that broke off."""
    details = error.details if isinstance(error, errors.RigError) else {}
    return details.get("returncode") == UNREACHABLE or (error is not None and _cut_off(error.__cause__))
