"""How quickly trainrig answers from a cold process, as ratios to `python -c pass` in the same run.

    python tests/bench/start_up.py

prints the table that docs/performance.md quotes, and exits with 1 when a limit is passed.
Each command runs ROUNDS times, in turn with the others, so that a busy machine is busy for all of them; the least of
each is taken. Bytecode is compiled once before, as in an installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = Path(__file__).with_name("catalogue.py")
ROUNDS = 15
PYTHON = (sys.executable, "-c", "pass")
TRAINRIG = (sys.executable, "-m", "trainrig")
JOB = """
name: finetune-llm
resources:
  accelerators: A100:8
  use_spot: true
  any_of:
    - {cloud: aws, region: us-east-1}
    - {cloud: aws, region: us-west-2}
    - {cloud: gcp, region: us-central1}
file_mounts:
  /data:
    source: s3://your-training-data-bucket/dataset/
    mode: COPY
run: python /workspace/train.py --data-dir /data
"""
TEAM = "clouds: {aws: {}, gcp: {}, azure: {}}\n"


@dataclass(kw_only=True, slots=True)
class Measure:
    """The least of all rounds. `limit` and `limit_mb` None: only shown."""

    name: str
    argv: tuple[str, ...]
    limit: float | None = None
    limit_mb: int | None = None
    wall: float = float("inf")
    cpu: float = float("inf")
    rss_mb: float = 0.0

    def run(self, env: dict[str, str]) -> None:
        begin = time.perf_counter()
        with subprocess.Popen(self.argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            _pid, status, used = os.wait4(child.pid, 0)
            self.wall = min(self.wall, time.perf_counter() - begin)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{' '.join(self.argv)} exited with {child.returncode}")
        self.cpu = min(self.cpu, used.ru_utime + used.ru_stime)
        self.rss_mb = max(self.rss_mb, used.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        env = {**os.environ, "TRAINRIG_HOME": str(home), "PYTHONPATH": str(ROOT / "cli")}
        env = {**env, "PYTHONPYCACHEPREFIX": str(home / "pyc"), "PYTHONDONTWRITEBYTECODE": ""}
        (home / "job.yaml").write_text(JOB)
        (home / "team.yaml").write_text(TEAM)
        # In a process of its own: memory of this one would count as theirs until they have started.
        subprocess.run([sys.executable, str(CATALOGUE), str(home)], env=env, check=True)
        explain = ("explain", str(home / "job.yaml"), "--env", str(home / "team.yaml"))
        base = Measure(name="python -c pass", argv=PYTHON)
        measures = [
            Measure(name="trainrig --version", argv=(*TRAINRIG, "--version"), limit=5),
            Measure(name="trainrig --help", argv=(*TRAINRIG, "--help"), limit=20),
            Measure(name="trainrig explain, 80,880 offers", argv=(*TRAINRIG, *explain), limit=30, limit_mb=120),
            Measure(name="the same, --format json", argv=(*TRAINRIG, *explain, "--format", "json")),
        ]
        for _ in range(ROUNDS):
            for measure in (base, *measures):
                measure.run(env)
        return report(base, measures)


def report(base: Measure, measures: list[Measure]) -> int:
    over = 0
    print("| command | wall s | CPU s | ratio, wall | ratio, CPU | limit | memory MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for m in (base, *measures):
        wall, cpu = m.wall / base.wall, m.cpu / base.cpu
        limit = "" if m.limit is None else f"{m.limit:g}"
        print(f"| `{m.name}` | {m.wall:.3f} | {m.cpu:.3f} | {wall:.1f} | {cpu:.1f} | {limit} | {m.rss_mb:.0f} |")
        # On an idle machine the two ratios are alike; on a busy one, waiting for a processor is in the wall ratio only.
        over += m.limit is not None and min(wall, cpu) > m.limit
        over += m.limit_mb is not None and m.rss_mb > m.limit_mb
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
