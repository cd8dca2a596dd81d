"""apply and destroy against their bare parts, failover, many candidates and many rigs, as ratios within one run.

`python tests/bench/apply_destroy.py` prints the rows of the table in docs/performance.md. The cloud is the stub, whose
calls take no time, so what is measured is what trainrig adds.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support/plugins"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import rigs
from support.stub_cloud import objects, provider
from support.stub_rigs import ENVIRONMENT, candidate, order
from trainrig.errors import NoCapacity
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import opened
from trainrig.lifecycle.destroy import destroy
from trainrig.model.events import Event, Progress

ROUNDS = 5
RIGS = 50


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "STUB_CLOUD": f"{folder}/cloud",
            "TRAINRIG_HOME": f"{folder}/home",
            "TRAINRIG_CACHE": f"{folder}/cache",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        os.environ.pop("TF_CLI_CONFIG_FILE", None)
        for how in ("attached", "plugin"):
            if how == "plugin":
                os.environ["STUB_PLUGIN"] = "1"
            bare = best(partial(bare_round, Path(folder) / f"bare-{how}"))
            ours = best(partial(own_round, how))
            row(f"apply + destroy, provider {how}", f"{ours:.2f} s", f"{ours / bare:.2f} of bare ({bare:.2f} s)")
        del os.environ["STUB_PLUGIN"]
        row(
            "from a capacity error to the next create", f"{failover():.2f} s", "rollback, sweep, init and plan included"
        )
        (ten, _), (twenty, grown) = refusals(10), refusals(20)
        row("20 candidates that all refuse", f"{twenty:.1f} s", f"{twenty / ten:.2f} of 10 candidates, {grown:+d} KiB")
        took = parallel(Path(folder))
        left = len(objects.everything())
        row(f"{RIGS} rigs at once, up and down", f"{took:.1f} s", f"{took / RIGS:.2f} s a rig, {left} left behind")


def row(what: str, took: str, ratio: str) -> None:
    print(f"| {what} | {took} | {ratio} |")


def best(measured: Callable[[int], None]) -> float:
    """The shortest of some rounds: the others were disturbed."""
    times = []
    for number in range(ROUNDS):
        began = time.monotonic()
        measured(number)
        times.append(time.monotonic() - began)
    return min(times)


def bare_round(folder: Path, number: int) -> None:
    root = folder / str(number)
    order().make_root(candidate(), root, "1-1")
    with provider.serve() as env:
        for words in (["init"], ["apply", "-auto-approve"], ["destroy", "-auto-approve"]):
            argv = ["terraform", *words, "-input=false"]
            subprocess.run(argv, cwd=root, env={**os.environ, **env}, check=True, capture_output=True)


def own_round(how: str, number: int) -> None:
    run_id = f"{how}{number}"
    with opened(ENVIRONMENT) as context:
        apply(context, order(identity=rigs.identity(name=run_id, run_id=run_id)))
        destroy(context, context.journal.rig(run_id))


def failover() -> float:
    """From the end of a refused create to the begin of the next attempt's first create."""
    seen: list[tuple[float, str]] = []

    def observe(event: Event) -> None:
        if isinstance(event, Progress):
            seen.append((time.monotonic(), event.message))

    objects.order({"op": "create", "type": "stub_node", "zone": "z-a", "error": "InsufficientCapacity"})
    with opened(ENVIRONMENT, observe=observe) as context:
        identity = rigs.identity(name="failover", run_id="failove2")
        apply(context, order([candidate("z-a"), candidate("z-b")], identity=identity))
        destroy(context, context.journal.rig(identity.run_id))
    objects.order()
    refused = max(t for t, m in seen if "rig[" in m and "create begun" in m and t < _second_try(seen))
    return next(t for t, m in seen if "create begun" in m and t > _second_try(seen)) - refused


def _second_try(seen: list[tuple[float, str]]) -> float:
    return [t for t, m in seen if m.startswith("try ")][1]


def refusals(count: int) -> tuple[float, int]:
    """Seconds, and by how many KiB the peak of our memory grew."""
    objects.order({"op": "create", "type": "stub_node", "error": "InsufficientCapacity"})
    before, began = peak_kib(), time.monotonic()
    with opened(ENVIRONMENT) as context:
        run_id = f"refuse{count}"
        zones = [candidate(f"z-{n}") for n in range(count)]
        with contextlib.suppress(NoCapacity):
            apply(context, order(zones, identity=rigs.identity(name=run_id, run_id=run_id)))
    took = time.monotonic() - began
    objects.order()
    assert objects.everything() == []
    return took, peak_kib() - before


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def parallel(folder: Path) -> float:
    """Each rig is a process of its own, as from a shell."""

    def one(number: int) -> None:
        env = {**os.environ, "STUB_RUN_ID": f"par{number:05d}"}
        for verb in ("apply", "destroy"):
            subprocess.run([sys.executable, "-m", "support.stub_driver", verb], env=env, check=True, cwd=folder)

    began = time.monotonic()
    with ThreadPoolExecutor(RIGS) as pool:
        list(pool.map(one, range(RIGS)))
    assert objects.everything() == []
    return time.monotonic() - began


if __name__ == "__main__":
    main()
