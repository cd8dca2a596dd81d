"""What must hold after a seed, whatever went wrong in it."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from support import crash
from support.receiver import receiver
from support.soak.plan import Plan, Seen
from support.soak.schedule import Soak
from support.soak.settings import STEPS, chain, notes
from support.stub_cloud import objects
from trainrig import errors
from trainrig.model.money import cents
from trainrig.store import ledger
from trainrig.store.journal import Journal

CODES = {
    "done": {0, errors.ConfigureFailed.exit_code},
    "failed": {errors.JobFailed.exit_code},
    "cancelled": {errors.Interrupted.exit_code},
    "policy": {errors.StoppedByPolicy.exit_code, errors.ConfigureFailed.exit_code},
}
LATE_SECONDS = 1.0  # the journal keeps whole seconds


def judged(site: crash.Site, seed: int) -> list[str]:
    """Plays a seed; what is wrong with what came of it, which is also in the folder around the home."""
    with receiver() as hook:
        soak = Soak(site, seed, hook)
        seen = soak.play()
        site.settle()
        found = verdict(site, soak.plan, seen)
    document = {
        "aim": soak.plan.aim,
        "found": found,
        "ends": [d["end"] for d in seen.documents],
        "codes": seen.codes,
        "told": hook.events,
        "machines": len(seen.machines),
    }
    (site.home.parent / "verdict.json").write_text(json.dumps(document, indent=1))
    return found


def verdict(site: crash.Site, plan: Plan, seen: Seen) -> list[str]:
    return [*seen.complaints, *_found(site, plan, seen)]


def _found(site: crash.Site, plan: Plan, seen: Seen) -> Iterator[str]:
    if left := [o["id"] for o in objects.everything()]:
        yield f"left in the cloud: {left}"
    ends = {d["end"] for d in seen.documents}
    if len(ends) > 1:
        yield f"it ended as {sorted(ends)}"
    if not seen.began:
        yield from _happened(site)
        return
    if not seen.documents:
        yield "it has not ended"
        return
    yield from _end(plan, seen, seen.documents[-1])
    yield from _generations()
    yield from _bill(site, seen, seen.documents[-1])
    yield from _told(seen, seen.documents[-1])
    yield from _happened(site)


def _end(plan: Plan, seen: Seen, document: dict[str, Any]) -> Iterator[str]:
    end, limit = document["end"], document["limit"]
    wanted = {
        "done": {"done"},
        "fails once": {"done"},
        "fails": {"failed"},
        "guard": {"policy"},
        "limit": {"policy", "done"},
        "cancel": {"cancelled", "done"},
        "destroy": {"cancelled", "done"},
    }[plan.aim]
    if not seen.asked_to_end:
        wanted = wanted - {"cancelled"} | ({"done"} if plan.aim in {"cancel", "destroy"} else set())
    excused = limit in {"no_progress", "setup"} and _without_progress(limit)
    if end not in wanted and not excused:
        yield f"{plan.aim}: ended as {end} ({limit})"
    if plan.aim == "guard" and end == "policy" and limit != "silence" and not excused:
        yield f"the guard is silence, and {limit} is blamed"
    if end == "failed" and document["exit_code"] != 7:
        yield f"failed with {document['exit_code']}"
    model = document["outputs"].get("model")
    if end == "done" and model is None and not any(n["kind"] in {"preempt", "notice"} for n in notes("harm")):
        yield f"done, and no outputs: {document['outputs']}"
    if end == "done" and model is not None and model != {"step": STEPS, "digest": chain(STEPS)}:
        yield f"the model is {model}"
    if model is not None and model["digest"] != chain(model["step"]):
        yield f"steps were applied twice or left out: {model}"
    if not document["clean"]:
        yield "it is not clean"
    codes = [c for verb, c in seen.codes if verb in {"begin", "resume"} and c not in {-9, 11}]
    if codes and not set(codes) <= CODES.get(end, set()):
        yield f"exit codes {codes} for {end}"


def _without_progress(limit: str) -> bool:
    """Whether three generations in a row did save nothing, or never started, by the notes of who was there."""
    started = {n["generation"] for n in notes("start")}
    saved = {n["generation"] for n in notes("commit")}
    last = max((n["generation"] for n in notes("start", "fence")), default=0)
    ran = [g in (saved if limit == "no_progress" else started) for g in range(1, last + 1)]
    return any(not any(ran[n : n + 3]) for n in range(len(ran) - 2))


def _generations() -> Iterator[str]:
    """Who was replaced commits nothing; who starts has all that was committed before."""
    fence, step, ids = (0, 0.0), 0, set()
    for n in notes("fence", "commit", "start"):
        match str(n["what"]):
            case "fence":
                fence = max(fence, (n["generation"], n["at"]))
            case "commit":
                if n["generation"] < fence[0] and n["began"] > fence[1]:
                    yield f"generation {n['generation']} committed {n['id']} after {fence[0]} had taken over"
                if n["id"] in ids:
                    yield f"checkpoint {n['id']} was committed twice"
                ids.add(n["id"])
                step = n["step"] if n["who"] == "zombie" else max(step, n["step"])
            case "start":
                if n["base"] < step:
                    yield f"generation {n['generation']} began at {n['base']}, {step} was safe"
            case other:
                raise AssertionError(other)


def _bill(site: crash.Site, seen: Seen, document: dict[str, Any]) -> Iterator[str]:
    with contextlib.closing(Journal(site.home)) as journal:
        charges = ledger.charges(journal, document["run_id"])
        attempts = journal.attempts(document["run_id"])
    for a in attempts:
        if a.ended_at is None or a.ended_at < a.started_at:
            yield f"attempt {a.generation}-{a.number}: {a.state}, {a.started_at} to {a.ended_at}"
    spans = []
    for c in charges:
        if c.ended_at is None:
            yield f"{c.generation}-{c.number} still bills"
            return
        spans.append((c.started_at.timestamp(), c.ended_at.timestamp(), c))
    for (_, end, one), (begin, _, two) in itertools.pairwise(spans):
        if begin < end:
            yield f"{two.generation}-{two.number} bills before {one.generation}-{one.number} has ended"
    for ident, m in seen.machines.items():
        gone = m["gone"]
        inside = [c for b, e, c in spans if b <= m["seen"] and gone is not None and gone <= e + LATE_SECONDS]
        if not inside and not any(c.before_seconds for c in charges):  # of an earlier try, whose span is not kept
            short = [(f"{c.generation}-{c.number}", b, e) for b, e, c in spans]
            yield f"machine {ident} is in no charge: {m['seen']:.2f} to {gone and f'{gone:.2f}'}, {short}"
    lines = [cents(c.price_hour_usd * c.nodes * c.seconds(c.started_at) / 3600) for c in charges]
    if Decimal(document["cost_usd"]) != sum(lines, Decimal("0.00")):
        yield f"the bill says {document['cost_usd']}, its lines {lines}"


def _told(seen: Seen, document: dict[str, Any]) -> Iterator[str]:
    assert seen.hook is not None
    last = Counter(e for e in seen.hook.events if e in {"done", "failed", "cancelled"})
    wanted = document["end"] if document["end"] in {"done", "cancelled"} else "failed"
    if set(last) != {wanted}:
        yield f"it ended as {document['end']}, and was told as {dict(last)}"
    guards = {d.get("guard") for d in seen.hook.documents if d["event"] == "guard"}
    if guards and document["end"] != "policy":
        yield f"a guard was told ({guards}), and it ended as {document['end']}"


def _happened(site: crash.Site) -> Iterator[str]:
    with contextlib.closing(Journal(site.home)) as journal:
        for rig in journal.rigs(all_rigs=True):
            if not rig.clean:
                yield f"{rig.run_id} is {rig.state}, and not clean"
            count = Counter(h.data["generation"] for h in journal.happenings(rig.run_id, ("job_ended",)))
            if twice := [g for g, n in count.items() if n > 1]:
                yield f"the job of generation {twice} ended more than once"
