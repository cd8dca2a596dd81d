"""Plans a job file as two Git revisions have it, and compares the plans."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from trainrig.errors import UsageError
from trainrig.lifecycle import plan, plan_out
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.diff import diff
from trainrig.lifecycle.load_job import load_job
from trainrig.render import lockfile
from trainrig.reports.plan_diff import PlanDiff
from trainrig.tools import git


def between(
    context: Context,
    job: Path,
    revisions: Sequence[str],
    *,
    environment: str | None,
    overrides: Sequence[str],
    tolerance_percent: Decimal,
) -> PlanDiff:
    """Offline, with the lock that each revision has beside the job, and with today's environment and prices.

    Raises:
        UsageError: there is no such revision or file, or it holds several jobs.
    """
    with TemporaryDirectory() as folder:
        folders = []
        for number, revision in enumerate(revisions):
            source, out = Path(folder, f"source-{number}"), Path(folder, f"plan-{number}")
            _check_out(job, revision, source)
            (found, *others), policy = load_job(source / job.name, environment, overrides)
            if others:
                raise UsageError(
                    f"{job} holds {1 + len(others)} jobs at {revision}, and --job compares one",
                    hint="plan both with --out, and compare the folders of each job",
                )
            planned = plan.plan(context, found, policy, keep=False, offline=True)
            plan_out.write(planned, out, overrides=overrides, cloud=None)
            folders.append(out)
        old, new = folders
        return diff(old, new, tolerance_percent=tolerance_percent)


def _check_out(job: Path, revision: str, into: Path) -> None:
    into.mkdir()
    for name in (job.name, lockfile.FILE_NAME):
        text = git.show(job.parent, revision, name)
        if text is not None:
            (into / name).write_text(text, encoding="utf-8")
        elif name == job.name:
            raise UsageError(f"{revision} has no {job}", hint="diff OLD NEW --job FILE, inside its Git repository")
