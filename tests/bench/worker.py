"""What one `trainrig worker` takes that watches many runs whose jobs say nothing.

    python tests/bench/worker.py [RUNS]

prints the table that docs/performance.md quotes, and exits with 1 when a limit is passed. Watching is real, what comes
before it is not: machines are files (support/cheap_steps.py), and `ssh` and `rsync` are shell scripts that answer at
once, as a shared connection does. So the children's share is a lower bound: the real ssh does more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import cheap_steps
from trainrig.app import run as trainrig
from trainrig.lifecycle import run_watch
from trainrig.store.journal import Journal

LIMIT_MB, LIMIT_CORE = 2.0, 0.10
SECONDS = 30
TICKS = os.sysconf("SC_CLK_TCK")
SSH = """#!/bin/sh
case "$*" in *job-poll*) echo '{"active":"active","notice":null,"heartbeat":null,"checkpoints":"1 0"}' ;;
*"cp -al"*) printf '1 0\\n1 0\\n' ;;
*names*) echo '1 0' ;; esac
"""


def child(runs: int) -> None:
    watch = run_watch.watch_job
    cheap_steps.install()
    setattr(run_watch, watch.__name__, watch)
    sys.exit(trainrig(["worker", "--runs", str(runs)]))


def cpu(pid: int) -> tuple[float, float]:
    """Seconds of the process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, others = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / TICKS, others / TICKS


def memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def measured(runs: int) -> tuple[float, float, float]:
    """MB, and shares of a core: of the worker, of its children."""
    with tempfile.TemporaryDirectory(prefix="trainrig-bench-", dir="/tmp") as folder:
        root = Path(folder)
        (root / "bin").mkdir()
        for name, text in (("ssh", SSH), ("rsync", "#!/bin/sh\n")):
            (root / "bin" / name).write_text(text)
            (root / "bin" / name).chmod(0o755)
        os.environ |= {
            "TRAINRIG_HOME": str(root / "home"),
            "STUB_CLOUD": str(root / "cloud"),
            "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": cheap_steps.pythonpath(),
        }
        for number in range(runs):
            cheap_steps.put(f"job-{number}")
        argv = [sys.executable, __file__, "child", str(runs)]
        with subprocess.Popen(argv, stderr=subprocess.DEVNULL, start_new_session=True) as worker:
            try:
                journal = Journal(root / "home")
                while sum(r.state.value == "running" for r in journal.rigs()) < runs:
                    assert worker.poll() is None
                    time.sleep(0.5)
                journal.close()
                time.sleep(80)  # until pauses are as long as they get
                before, began = cpu(worker.pid), time.monotonic()
                time.sleep(SECONDS)
                took = time.monotonic() - began
                own, others = (b - a for a, b in zip(before, cpu(worker.pid), strict=True))
                return memory_mb(worker.pid), own / took, others / took
            finally:
                worker.kill()


def main(runs: int) -> int:
    one, many = measured(1), measured(runs)
    per_run = (many[0] - one[0]) / (runs - 1)
    print("| runs | MB | of a core, the worker | of a core, its ssh and rsync |")
    print("| --- | --- | --- | --- |")
    for number, (mb, own, others) in ((1, one), (runs, many)):
        print(f"| {number} | {mb:.0f} | {own:.1%} | {others:.1%} |")
    print(
        f"\n{per_run:.2f} MB a run (limit {LIMIT_MB}), {many[1]:.1%} of a core for {runs} runs (limit {LIMIT_CORE:.0%})"
    )
    return int(per_run > LIMIT_MB or many[1] > LIMIT_CORE)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(int(sys.argv[2]))
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
