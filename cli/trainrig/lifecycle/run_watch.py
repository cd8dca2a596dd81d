"""The step of a run that follows its job to the end, and saves what can be saved before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trainrig import errors
from trainrig.clouds import registry
from trainrig.lifecycle import extend, job_control, notify, run_facts
from trainrig.lifecycle.checkpoint_courier import courier_of
from trainrig.lifecycle.checkpoint_sync import CheckpointSync
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.drill import preempt
from trainrig.lifecycle.elsewhere import Lookout
from trainrig.lifecycle.job_control import JobEnd
from trainrig.lifecycle.last_save import Saved, save_and_stop
from trainrig.lifecycle.log_files import LogFiles, written_at
from trainrig.lifecycle.next_rig import NextRig
from trainrig.lifecycle.run_context import RunContext
from trainrig.lifecycle.watch import Hooks, Watched, watch
from trainrig.model.events import Progress
from trainrig.recovery.decide import decide
from trainrig.recovery.facts import Facts, Observation, Prepare
from trainrig.recovery.guards import Breach
from trainrig.store.journal import Attempt
from trainrig.tools import ssh as ssh_tool
from trainrig.tools.ssh import Ssh

LAST_WORDS_ROUNDS = 5
MOVE_SECONDS = 180.0  # in which a job that moves saves and ends; nobody takes its rig back meanwhile


def watch_job(run: RunContext, generation: int) -> dict[str, Any]:
    """Follows the job to its end: `done`, `failed`, `noticed`, `lost`, `policy`, `cancelled`, `interrupted`; or until
    it is stopped in order to move: `moving`."""
    with run.opened() as context:
        if ended := run_facts.ended(context, run.run_id, generation):
            return _result(ended.data)
        if context.journal.rig(run.run_id).clean:  # destroyed while nobody was at it
            return {"kind": "interrupted"}
        attempt = run_facts.living(context, run.run_id)
        ssh = ssh_tool.connect(run.rig.path, attempt.node_list)
        log = LogFiles(run.logs, run.observe, generation=generation)
        sync = _sync(run, attempt, ssh, generation)
        lookout = Lookout(run, attempt)
        following = NextRig(run, generation)
        decided = run_facts.moving(context, run.run_id, generation)  # by a process that was killed since
        stopping = run_facts.stopping(context, run.run_id, generation)  # likewise

        def facts() -> Facts:
            extend.as_asked(context, context.journal.rig(run.run_id), ssh)
            now = run_facts.facts(context, run, generation, Observation.HEALTHY)
            return lookout.seen(replace(now, committed=now.committed and not sync.failing))

        def first_checkpoint() -> None:
            wanted = context.journal.rig(run.run_id).details.get("drill")
            if wanted and not _happened(context, run.run_id, "drill"):
                context.journal.append(run.run_id, "drill", {"generation": generation})
                preempt(context, attempt, attempt.node_list[0])
                run.observe(Progress(phase="run", message="preempted on purpose", node=attempt.node_list[0].name))

        def silent(seconds: float) -> None:
            seen = run_facts.facts(context, run, generation, Observation.SILENT)
            if isinstance(decide(replace(seen, silent_seconds=seconds)), Prepare):
                following.begin()

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

        hooks = Hooks(
            facts=facts,
            cancelled=tick,
            gone=lambda: run_facts.gone(context, run.run_id),
            committed=first_checkpoint,
            silent=silent,
            guarded=guarded,
        )
        sync.start()
        try:
            if decided is not None:
                seen = Watched(kind="moving", reason=decided.data["reason"], to=decided.data["to"])
            elif stopping is not None:
                why = stopping.data
                seen = Watched(
                    kind=why.get("kind", "policy"),
                    limit=why["limit"],
                    reason=why["reason"],
                    collect=why.get("collect", True),
                )
            else:
                seen = watch(
                    ssh,
                    sync,
                    log,
                    hooks,
                    cursors=log.cursors,
                    guards=run.job.guards,
                    quiet_seconds=_quiet_seconds(context, run, generation),
                )
            if seen.kind == "noticed":
                _save_on_notice(context, run, attempt, seen.noticed, ssh, sync, log)
            if seen.kind == "moving":
                # Before the job is stopped: whoever finds it ended must know that this was not its own doing.
                line = {"generation": generation, "to": seen.to, "reason": seen.reason}
                if decided is None:
                    context.journal.append(run.run_id, run_facts.MOVING, line)
                run.observe(Progress(phase="run", message=f"move: {seen.reason}"))
                _, end = _save(run, ssh, sync, log, seconds=MOVE_SECONDS)
                if end.verdict == "succeeded":  # it was done before it heard of the move
                    seen = Watched(kind="done", exit_code=0)
            if seen.kind in {"policy", "cancelled"} and stopping is None:
                # Before the round of the copy that runs is waited for: whoever goes on would count a silence anew.
                line = {
                    "generation": generation,
                    "kind": seen.kind,
                    "limit": seen.limit,
                    "reason": seen.reason,
                    "collect": seen.collect,
                }
                context.journal.append(run.run_id, run_facts.STOPPING, line)
            sync.stop()
            if seen.kind in {"policy", "cancelled"} and seen.collect:
                job_control.stop(ssh, run.observe)
                _last_words(ssh, log)
            if seen.kind not in {"lost", "noticed", "moving"} and seen.collect:
                _last_commit(run, sync)
        finally:
            sync.stop()
            _note_saves(context, run, generation, sync)
            log.close()
            ssh.close()
        last = {
            "generation": generation,
            "kind": seen.kind,
            "exit_code": seen.exit_code,
            "limit": seen.limit,
            "reason": seen.reason,
            "collect": seen.collect,
            "to": seen.to,
            # One whose times the node could not tell any more is not noted.
            "checkpoints": max(sync.committed, run_facts.saves(context, run.run_id, generation)),
        }
        context.journal.append(run.run_id, "job_ended", last)
    return _result(last)


def _result(last: Mapping[str, Any]) -> dict[str, Any]:
    """What the step returns, from the last line about a job, which is believed when its process was killed right
    after: its nodes may be gone by now."""
    known = {"limit": "", "collect": True, "to": None, **last}  # older lines have none of these
    return {k: known[k] for k in ("kind", "exit_code", "limit", "reason", "collect", "to")}


def _quiet_seconds(context: Context, run: RunContext, generation: int) -> float:
    """For how long the job has written nothing: whoever goes on after a crash does not count anew. What it wrote
    meanwhile comes with the first look."""
    now, begun = context.now().timestamp(), run_facts.started(context, run.run_id, generation)
    return max(0.0, now - max(written_at(run.logs), begun.at.timestamp() if begun else now))


def _sync(run: RunContext, attempt: Attempt, ssh: Ssh, generation: int) -> CheckpointSync:
    return CheckpointSync(
        ssh,
        run.checkpoints,
        courier_of(run, attempt, ssh),
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
    run.observe(Progress(phase="run", message=f"saving: {seconds} s of notice"))
    saved, _ = _save(run, ssh, sync, log, seconds=seconds, noticed=noticed)
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


def _save(
    run: RunContext, ssh: Ssh, sync: CheckpointSync, log: LogFiles, *, seconds: float, noticed: tuple[int, ...] = ()
) -> tuple[Saved, JobEnd]:
    """Lets the job save within that time, commits it, and stops the job; how it ended."""
    signal = run.job.checkpoints.save_signal if run.job.checkpoints else None
    saved = save_and_stop(ssh, sync, notice_seconds=seconds, save_signal=signal, noticed=noticed)
    end = _last_words(ssh, log)
    told = "saved and stopped" if saved.something else "stopped, with nothing new saved,"
    run.observe(Progress(phase="run", message=f"{told} after {saved.seconds:.0f} s"))
    return saved, end


def _note_saves(context: Context, run: RunContext, generation: int, sync: CheckpointSync) -> None:
    while sync.saves:
        save = sync.saves.popleft()
        data = {
            "generation": generation,
            "id": str(save.id),
            "saved_at": round(save.saved_at, 3),
            "save_seconds": None if save.seconds is None else round(save.seconds, 3),
            "progress": None if save.progress is None else str(save.progress),
        }
        context.journal.append(run.run_id, "checkpoint", data)


def _last_words(ssh: Ssh, log: LogFiles) -> JobEnd:
    """What a job that was stopped said at the end: a few rounds, since the node may be gone in any of them."""
    rounds = iter(range(LAST_WORDS_ROUNDS))
    return job_control.follow(
        ssh, log, on_tick=lambda: next(rounds, None) is not None, cursors=log.cursors, heed_notice=False, lost_seconds=0
    )


def _last_commit(run: RunContext, sync: CheckpointSync) -> None:
    try:
        sync.commit_now()
    except (errors.CommandFailed, errors.StoreFailed) as error:  # what was committed before stands
        run.observe(Progress(phase="run", message=f"the last checkpoint is not safe: {error.message}"))


def _happened(context: Context, run_id: str, kind: str) -> bool:
    return any(h.kind == kind for h in context.journal.happenings(run_id))
