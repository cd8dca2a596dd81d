"""The steps of a run. Each can be taken again after a crash, wherever in it the crash was, and does nothing twice.

A step returns a JSON object with `kind`; an expected failure is a result, so that the workflow can act on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from trainrig import errors
from trainrig.clouds import registry
from trainrig.lifecycle import (
    admitted,
    apply,
    collect,
    configure,
    deliver,
    host_keys,
    job_control,
    job_image,
    notify,
    results,
    rig_request,
    run_facts,
    verify,
)
from trainrig.lifecycle.checkpoint_stores import patiently
from trainrig.lifecycle.checkpoint_sync import CheckpointSync
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.destroy import prove_gone
from trainrig.lifecycle.last_save import save_and_stop
from trainrig.lifecycle.log_files import LogFiles
from trainrig.lifecycle.order import order_of
from trainrig.lifecycle.origin import checkpoint_of as origin_checkpoint
from trainrig.lifecycle.rig_site import driver_of
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.secret_values import secret_values, store_variables
from trainrig.lifecycle.watch import Hooks, watch
from trainrig.model.events import Progress
from trainrig.model.node import Node
from trainrig.model.offer import Market
from trainrig.model.rig import RigState
from trainrig.placement.admission import use_of
from trainrig.recovery.decide import decide
from trainrig.recovery.facts import AskCloud, Continue, Fail, Finish, Observation, Replace, RestartJob, Stop
from trainrig.recovery.guards import Breach
from trainrig.render.identity import lease_end, lease_seconds
from trainrig.render.launch import Launch
from trainrig.store.journal import Attempt
from trainrig.tools import container
from trainrig.tools import ssh as ssh_tool
from trainrig.tools.ssh import Ssh

T = TypeVar("T")
Seen = Mapping[str, Any]
LAST_WORDS_ROUNDS = 5
_BEGIN_ANEW = "--set checkpoints.resume=fresh begins anew"


def begin(run: RunContext) -> dict[str, Any]:
    """Takes a run that waited: `begun`; `cancelled` or destroyed while it waited; `refused`: it cannot be done here."""
    with run.opened() as context:
        if run.stop.is_set() or context.journal.rig(run.run_id).clean:
            return {"kind": "cancelled"}
        try:
            secret_values(run.job, os.environ)
        except errors.CredentialsMissing as error:
            return {"kind": "refused", "error": as_result(error)}
        lease = lease_seconds(run.job, run.environment)
        context.journal.begin(run.run_id, lease_end(context.now(), lease))
    return {"kind": "begun"}


def bring_up(run: RunContext, generation: int, market: Market | None) -> dict[str, Any]:
    """A rig of this generation: `up`, `interrupted`, or `refused` with the error."""
    with run.opened() as context:
        if run.stop.is_set() or context.journal.rig(run.run_id).clean:  # destroyed while nobody was at it
            return {"kind": "interrupted"}
        try:
            apply.apply(
                context,
                order_of(
                    context,
                    run.job,
                    run.environment,
                    tuple(admitted.with_room(context.journal, run, run_facts.candidates(context, run, market))),
                    identity=run.identity,
                    rig=run.rig,
                    generation=generation,
                ),
            )
        except errors.Interrupted:
            return {"kind": "interrupted"}
        except errors.RigError as error:
            return {"kind": "refused", "error": as_result(error)}
        found = run_facts.candidate_of(run.placement, run_facts.living(context, run.run_id))
        admitted.take(context.journal, run.run_id, use_of(run.environment, found))
    return {"kind": "up"}


def launch(run: RunContext, generation: int) -> dict[str, Any]:
    """Configures the nodes, brings what the job needs and starts it: `launched`, `interrupted`, `setup_failed`."""
    with run.opened() as context:
        if run.stop.is_set() or context.journal.rig(run.run_id).clean:
            return {"kind": "interrupted"}
        attempt = run_facts.living(context, run.run_id)
        context.journal.set_state(run.run_id, RigState.CONFIGURING)
        try:
            _of_store(run, lambda: run.checkpoints.fence(generation))
            start = _launch_of(run, attempt, generation)
            attempt = host_keys.learn(context, attempt, stop=run.stop)
            driver = driver_of(run, start.offer)
            bucket = rig_request.bucket_of(run.job, run.environment, run.identity, start.offer)
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
                    secrets=store_variables(run.job, os.environ),
                    stopped=run.stop.is_set,
                    on_ready=image.begin,
                )
            try:
                deliver.deliver(ssh, start, run.observe)
                verify.require(
                    verify.accept(ssh, run.job, start.offer, start.image, run.observe, driver=driver, bucket=bucket)
                )
                _restore(context, run, ssh)
                job_control.start(ssh, start, run.observe)
            finally:
                ssh.close()
        except errors.Interrupted:
            return {"kind": "interrupted"}
        except errors.ConfigureFailed as error:
            return {"kind": "setup_failed", "error": as_result(error), "mendable": _mendable(error)}
        except (errors.CommandFailed, errors.StoreFailed) as error:
            failed = errors.ConfigureFailed(error.message, hint=error.hint, details=error.details)
            return {"kind": "setup_failed", "error": as_result(failed), "mendable": False}
        hazard = registry.tariff(attempt.cloud).hazard(start.offer.gpu)
        expected = hazard.per_hour if start.offer.market is Market.SPOT else 0
        context.journal.append(run.run_id, "job_started", {"generation": generation, "preemptions_hour": str(expected)})
        context.journal.set_state(run.run_id, RigState.RUNNING)
        again = "recovered" if generation > 1 else "started"
        notify.tell(context, run, again, f"the job runs on {len(attempt.node_list)} nodes", generation=generation)
    return {"kind": "launched"}


def watch_job(run: RunContext, generation: int) -> dict[str, Any]:
    """Follows the job to its end: `done`, `failed`, `noticed`, `lost`, `policy`, `cancelled`, `interrupted`."""
    with run.opened() as context:
        if context.journal.rig(run.run_id).clean:  # destroyed while nobody was at it
            return {"kind": "interrupted"}
        attempt = run_facts.living(context, run.run_id)
        ssh = ssh_tool.connect(run.rig.path, attempt.node_list)
        log = LogFiles(run.logs, run.observe, generation=generation)
        sync = _sync(run, ssh, generation)
        sync.start()

        def first_checkpoint() -> None:
            wanted = context.journal.rig(run.run_id).details.get("drill")
            if wanted and not _happened(context, run.run_id, "drill"):
                context.journal.append(run.run_id, "drill", {"generation": generation})
                preempt(context, attempt, attempt.node_list[0])
                run.observe(Progress(phase="run", message="preempted on purpose", node=attempt.node_list[0].name))

        def guarded(breach: Breach) -> None:
            run.observe(Progress(phase="run", message=f"guard {breach.guard}: {breach.reason}"))
            context.journal.append(run.run_id, "guard", {"guard": breach.guard, "reason": breach.reason})
            notify.tell(context, run, "guard", breach.reason, generation=generation, detail=breach.guard)
            if breach.do == "checkpoint":
                _last_commit(run, sync)

        def tick() -> bool:
            log.flush()
            _note_saves(context, run, generation, sync)
            run.go_on()
            return run.stop.is_set() or run_facts.cancelled(context, run.run_id)

        try:
            seen = watch(
                ssh,
                sync,
                log,
                Hooks(
                    facts=lambda: run_facts.facts(context, run, generation, Observation.HEALTHY),
                    cancelled=tick,
                    gone=lambda: run_facts.gone(context, run.run_id),
                    committed=first_checkpoint,
                    guarded=guarded,
                ),
                cursors=log.cursors,
                guards=run.job.guards,
            )
            if seen.kind == "noticed":
                _save_on_notice(context, run, attempt, seen.noticed, ssh, sync, log)
            sync.stop()
            if seen.kind in {"policy", "cancelled"} and seen.collect:
                job_control.stop(ssh, run.observe)
                _last_words(ssh, log)
            if seen.kind not in {"lost", "noticed"} and seen.collect:
                _last_commit(run, sync)
        finally:
            sync.stop()
            _note_saves(context, run, generation, sync)
            log.close()
            ssh.close()
        context.journal.append(
            run.run_id,
            "job_ended",
            {
                "generation": generation,
                "kind": seen.kind,
                "exit_code": seen.exit_code,
                "reason": seen.reason,
                "checkpoints": sync.committed,
            },
        )
    return {
        "kind": seen.kind,
        "exit_code": seen.exit_code,
        "limit": seen.limit,
        "reason": seen.reason,
        "collect": seen.collect,
    }


def next_step(run: RunContext, generation: int, seen: Seen) -> dict[str, Any]:
    """What follows: `{do: end|replace|restart, end: {...}}`; `alive`: the nodes can still be asked for outputs."""
    if run.stop.is_set() or seen["kind"] in {"interrupted", "cancelled"}:
        return _end("cancelled", alive=seen["kind"] in {"cancelled", "launched"})
    if seen["kind"] == "refused":
        return _end("refused", error=seen["error"])
    if seen["kind"] == "policy":
        return _end("policy", alive=seen["collect"], limit=seen["limit"], reason=seen["reason"])
    with run.opened() as context:
        if seen["kind"] == "setup_failed" and not seen["mendable"] and not run_facts.gone(context, run.run_id):
            return _end("refused", error=seen["error"])
        observation = {
            "done": Observation.JOB_DONE,
            "failed": Observation.JOB_FAILED,
            "lost": Observation.SILENT,
            "noticed": Observation.SAVED,
            "setup_failed": Observation.SETUP_FAILED,
        }[seen["kind"]]
        facts = run_facts.facts(context, run, generation, observation, exit_code=seen.get("exit_code"))
        action = decide(facts)
        if isinstance(action, AskCloud):
            gone = run_facts.gone(context, run.run_id)
            # A cloud that does not answer leaves the job's own word, or the silence, as the best evidence.
            alive = not gone if gone is not None else observation is Observation.JOB_FAILED
            action = decide(run_facts.asked(facts, alive=alive))
            if isinstance(action, Continue):
                # Its cloud has it, and it answers nobody: hung, or cut off. It is ended before the next one comes up.
                run.observe(Progress(phase="recover", message="a node lives, as its cloud says, and answers nobody"))
                action = decide(run_facts.asked(facts, alive=False))
        run.observe(Progress(phase="recover", message=_said(action)))
        match action:
            case Finish():
                return _end("done", alive=True)
            case Fail():
                return _end("failed", alive=True, exit_code=action.job_exit_code, reason=seen.get("reason", ""))
            case Stop():
                ended = _end("policy", alive=False, limit=action.limit, reason=action.reason)
                if "error" in seen:
                    ended["end"]["error"] = seen["error"]
                return ended
            case RestartJob():
                return {"do": "restart"}
            case Replace():
                context.journal.append(run.run_id, "recovery", {"generation": generation, "reason": action.reason})
                notify.tell(context, run, "preempted", action.reason, generation=generation)
                return {"do": "replace", "market": action.market}
            case _:
                raise errors.RigError(f"nothing to do about {seen['kind']}: {action}")


def release_rig(run: RunContext) -> dict[str, Any]:
    """Destroys the rig and proves it, before the next one: two of a run never exist at once."""
    with run.opened() as context:
        context.journal.set_state(run.run_id, RigState.RECOVERING)
        proof = prove_gone(context, context.journal.rig(run.run_id))
        return {"kind": "released", "clean": proof.clean, "doubts": list(proof.doubts)}


def collect_results(run: RunContext) -> dict[str, Any]:
    """Fetches and checks the outputs while the nodes are there."""
    with run.opened() as context:
        attempt = run_facts.living(context, run.run_id)
        context.journal.set_state(run.run_id, RigState.COLLECTING)
        ssh = ssh_tool.connect(run.rig.path, attempt.node_list)
        try:
            found = collect.collect_outputs(ssh, run.job, run.outputs, run.observe)
        except errors.CommandFailed as error:
            return {"kind": "uncollected", "reason": error.message, "outputs": {}, "metrics": {}}
        finally:
            ssh.close()
    return {
        "kind": "collected",
        "outputs": results.outputs_document(found),
        "metrics": results.metrics_of(found),
    }


def tear_down(run: RunContext) -> dict[str, Any]:
    """Destroys what is left and proves it."""
    with run.opened() as context:
        rig = context.journal.rig(run.run_id)
        proof = prove_gone(context, rig)
        state = RigState.DESTROYED if proof.clean else RigState.FAILED
        context.journal.set_state(run.run_id, state, clean=proof.clean, reason="; ".join(proof.doubts))
        if proof.clean:
            ssh_tool.forget(run.rig.path)
    return {"kind": "destroyed", "clean": proof.clean, "doubts": list(proof.doubts), "resources": len(proof.fates)}


def tell_end(run: RunContext, generation: int, end: Mapping[str, Any], *, clean: bool) -> dict[str, Any]:
    """The last event of a run, told before its process may end."""
    kind = end["kind"] if end["kind"] in {"done", "cancelled"} and clean else "failed"
    because = end.get("reason") or end.get("error", {}).get("message") or f"it ended as {end['kind']}"
    message = "nothing is left" if kind == "done" else because if clean else f"{because}; something may still bill"
    with run.opened() as context:
        if end["kind"] == "policy":
            notify.tell(context, run, "guard", because, generation=generation, detail=end["limit"])
        code = 0 if end["kind"] == "done" else end.get("exit_code")
        notify.tell(context, run, kind, message, generation=generation, exit_code=code)
    notify.flush(run)
    return {"kind": "told"}


def preempt(context: Context, attempt: Attempt, node: Node, *, notice: bool = False) -> None:
    registry.drill(attempt.cloud).preempt(
        context.account(attempt.cloud, (attempt.region,), attempt.account), node, notice=notice
    )


def as_result(error: errors.RigError) -> dict[str, Any]:
    return {**errors.document(error), "exit_code": error.exit_code}


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


def _restore(context: Context, run: RunContext, ssh: Ssh) -> None:
    """Gives the nodes the run's own newest checkpoint; before it has one, that of the run it goes on from."""
    newest, skipped = _of_store(run, run.checkpoints.newest)
    origin, of = context.journal.rig(run.run_id).details.get("origin"), ""
    if newest is None and origin is not None:
        try:
            newest, passed = _of_store(run, lambda: origin_checkpoint(context, run, origin))
        except errors.RigUnknown as error:
            raise errors.ConfigureFailed(error.message, hint=_BEGIN_ANEW) from error
        skipped, of = [*skipped, *passed], f" of run {origin}"
        if newest is None:
            raise errors.ConfigureFailed(f"run {origin} has no whole checkpoint any more", hint=_BEGIN_ANEW)
    for words in skipped:
        run.observe(Progress(phase="deliver", message=f"passed over: {words}"))
    if newest is not None:
        collect.restore_checkpoints(ssh, newest.files, run.observe)
        run.observe(Progress(phase="deliver", message=f"resume from checkpoint {newest.manifest.id}{of}"))


def _of_store(run: RunContext, ask: Callable[[], T]) -> T:
    return patiently(ask, run.stop, run.observe, go_on=run.go_on)


def _sync(run: RunContext, ssh: Ssh, generation: int) -> CheckpointSync:
    return CheckpointSync(
        ssh,
        run.checkpoints,
        staging=run.rig.path / "staging" / str(generation),
        run_id=run.run_id,
        generation=generation,
        checkpoints=run.job.checkpoints,
        observe=run.observe,
    )


def _save_on_notice(
    context: Context,
    run: RunContext,
    attempt: Attempt,
    noticed: tuple[int, ...],
    ssh: Ssh,
    sync: CheckpointSync,
    log: LogFiles,
) -> None:
    seconds = registry.facts(attempt.cloud).preemption_notice_seconds
    signal = run.job.checkpoints.save_signal if run.job.checkpoints else None
    run.observe(Progress(phase="run", message=f"saving: {seconds} s of notice"))
    saved = save_and_stop(ssh, sync, notice_seconds=seconds, save_signal=signal, noticed=noticed)
    _last_words(ssh, log)
    told = "saved and stopped" if saved.something else "stopped, with nothing new saved,"
    run.observe(Progress(phase="run", message=f"{told} {saved.seconds:.0f} s after the notice was heard"))
    context.journal.append(
        run.run_id,
        "notice",
        {
            "generation": attempt.generation,
            "ranks": list(noticed),
            "saved": saved.something,
            "seconds": round(saved.seconds, 1),
        },
    )


def _note_saves(context: Context, run: RunContext, generation: int, sync: CheckpointSync) -> None:
    while sync.saves:
        save = sync.saves.popleft()
        data = {
            "generation": generation,
            "id": str(save.id),
            "saved_at": round(save.saved_at, 3),
            "save_seconds": None if save.seconds is None else round(save.seconds, 3),
        }
        context.journal.append(run.run_id, "checkpoint", data)


def _last_words(ssh: Ssh, log: LogFiles) -> None:
    """What a job that was stopped said at the end: a few rounds, since the node may be gone in any of them."""
    rounds = iter(range(LAST_WORDS_ROUNDS))
    job_control.follow(
        ssh, log, on_tick=lambda: next(rounds, None) is not None, cursors=log.cursors, heed_notice=False, lost_seconds=0
    )


def _last_commit(run: RunContext, sync: CheckpointSync) -> None:
    try:
        sync.commit_now()
    except (errors.CommandFailed, errors.StoreFailed) as error:  # what was committed before stands
        run.observe(Progress(phase="run", message=f"the last checkpoint is not safe: {error.message}"))


def _mendable(error: errors.ConfigureFailed) -> bool:
    """Whether other nodes may do better: these did not answer. A task or a delivery that failed would fail again."""
    failures = error.details.get("failures")
    if isinstance(failures, list):
        return any(f["unreachable"] for f in failures)
    return bool(error.details.get("unreachable"))


def _happened(context: Context, run_id: str, kind: str) -> bool:
    return any(h.kind == kind for h in context.journal.happenings(run_id))


def _end(kind: str, *, alive: bool = False, **more: Any) -> dict[str, Any]:
    return {"do": "end", "end": {"kind": kind, "alive": alive, **more}}


def _said(action: object) -> str:
    match action:
        case Finish():
            return "the job is done"
        case Fail():
            return f"the job failed with exit code {action.job_exit_code}"
        case Stop():
            return f"stop: {action.reason}"
        case Replace():
            return f"replace the rig: {action.reason}"
        case RestartJob():
            return "start the job again on the same nodes"
        case _:
            return str(action)
