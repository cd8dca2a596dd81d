"""What a node that is killed without notice costs on the local cloud, as ratios in one run.

    python tests/bench/recovery.py [KILLS] [SEED]

prints the tables that docs/performance.md quotes, and exits with 1 when a limit is passed. The example `hello` is run
undisturbed, and then with its node killed KILLS times, each at a random moment of a checkpoint interval. A fresh start
is from the begin of `trainrig run` until the job trains, a recovery from the kill until it trains again; both runs
begin fresh. What was lost is the ledger's `lost_seconds`, up to the moment at which the loss was noticed. The copy is
the time from a save of the job until it is committed. The final loss must be that of the undisturbed run, bit for bit.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainrig import assets
from trainrig.clouds.local import prepare
from trainrig.model.events import silent
from trainrig.store.journal import AttemptState, Journal
from trainrig.tools import proc

RATIO_LIMIT = 1.3
INTERVAL_SECONDS = 5.0  # the job saves every 20 steps


@dataclass(kw_only=True)
class Seen:
    """Seconds since the run began, and what it ended with."""

    started: list[float] = field(default_factory=list)  # the job trains
    killed: list[float] = field(default_factory=list)
    noticed: list[float] = field(default_factory=list)  # by the journal, to the second
    copies: list[float] = field(default_factory=list)  # how long from a save to its commit
    document: dict[str, Any] = field(default_factory=dict)
    lost: list[float] = field(default_factory=list)  # the ledger's, of each attempt that was lost


def lines(directory: Path, steps: int, seen: Seen) -> Iterator[tuple[float, str]]:
    """Starts the run and yields what it says, with the second in which it says it."""
    pace = INTERVAL_SECONDS / 20
    settings = [f"envs.STEPS={steps}", f"envs.PACE_SECONDS={pace}", f"checkpoints.interval={INTERVAL_SECONDS:g}s"]
    argv = [sys.executable, "-m", "trainrig", "run", "examples/hello.yaml", "--format", "json"]
    argv += [word for setting in settings for word in ("--set", setting)]
    env = {**os.environ, "TRAINRIG_HOME": str(directory / "home")}
    began = time.monotonic()
    with subprocess.Popen(
        argv, cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    ) as process:
        assert process.stdout
        last = ""
        for line in process.stdout:
            last = line
            yield time.monotonic() - began, line
    if process.returncode:
        sys.exit(f"the run ended with {process.returncode}: {last}")
    seen.document = json.loads(last)


def run(directory: Path, steps: int, kills: int, chance: random.Random) -> Seen:
    seen, saved_at, armed, began = Seen(), 0.0, 0, time.time()

    def kill() -> None:
        seen.killed.append(time.time() - began)
        kill_node(directory)

    for at, line in lines(directory, steps, seen):
        if '"start"' in line:
            seen.started.append(at)
        elif '"step"' in line and '"event"' in line:
            saved_at = at
        elif "is safe" in line:
            seen.copies.append(at - saved_at)
            if armed < kills and armed == len(seen.started) - 1:
                armed += 1
                threading.Timer(chance.uniform(0, INTERVAL_SECONDS), kill).start()
    journal = Journal(directory / "home")
    try:
        ends = [h for h in journal.happenings(journal.find("hello").run_id) if h.kind == "job_ended"]
    finally:
        journal.close()
    seen.noticed = [h.at.timestamp() - began for h in ends[:-1]]
    status = [sys.executable, "-m", "trainrig", "status", "hello", "--format", "json"]
    env = {**os.environ, "TRAINRIG_HOME": str(directory / "home")}
    (rig,) = json.loads(subprocess.run(status, env=env, check=True, capture_output=True).stdout)["rigs"]
    seen.lost = [float(a["lost_seconds"]) for a in rig["attempts"] if a["lost_seconds"] is not None]
    return seen


def kill_node(directory: Path) -> None:
    journal = Journal(directory / "home")
    try:
        attempts = journal.attempts(journal.find("hello").run_id)
    finally:
        journal.close()
    (up,) = [a for a in attempts if a.state is AttemptState.UP]
    subprocess.run(["docker", "kill", up.node_list[0].instance_id], check=True, capture_output=True)


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1000)
    prepare.prepare(proc.run, silent)
    steps = 20 * (3 * kills + 3)  # so that the job is not done before it was killed so often
    directory = Path(tempfile.mkdtemp(prefix="tr-bench-"))
    shutil.copytree(assets.path("examples"), directory / "examples")
    try:
        calm = run(directory, steps, 0, random.Random(seed))
        shutil.rmtree(directory / "home")
        hit = run(directory, steps, kills, random.Random(seed))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    fresh = statistics.mean([calm.started[0], hit.started[0]])
    again = [min(t for t in hit.started if t > killed) - killed for killed in hit.killed]
    recovery = statistics.median(again)
    copy = max(hit.copies)
    late = [noticed - killed for noticed, killed in zip(hit.noticed, hit.killed, strict=True)]
    work = [lost - seconds for lost, seconds in zip(hit.lost[:kills], late, strict=True)]
    same = calm.document["metrics"] == hit.document["metrics"]
    print(f"{kills} kills, seed {seed}\n\n| | seconds | ratio | limit |\n| --- | --- | --- | --- |")
    print(f"| fresh start: run to training | {fresh:.1f} | 1 | |")
    print(f"| recovery: kill to training, median | {recovery:.1f} | {recovery / fresh:.2f} | {RATIO_LIMIT} |")
    print(f"| of {len(again)}, the slowest | {max(again):.1f} | {max(again) / fresh:.2f} | |")
    print(f"| from a kill until it is noticed, the slowest | {max(late):.1f} | | |")
    print(f"| from a save until it is safe, the slowest | {copy:.1f} | | |")
    print(f"| most work lost before a kill | {max(work):.1f} | {max(work) / INTERVAL_SECONDS:.2f} of an interval | |")
    print(f"| final loss | {hit.document['metrics']['loss']!r} | {'the same' if same else 'ANOTHER'} | the same |")
    return int(recovery / fresh > RATIO_LIMIT or max(work) > INTERVAL_SECONDS + copy or not same)


if __name__ == "__main__":
    sys.exit(main())
