"""Writes a first job file and the environment that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainrig import assets
from trainrig.errors import UsageError

# Template -> shipped environment. The first line of each template is its description.
ENVIRONMENTS = {"hello": "local", "minimal": "team", "finetune": "team", "multi-node": "team"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    written: tuple[Path, ...]
    kept: tuple[Path, ...]  # there before, and left as they are
    environment: str


def templates() -> dict[str, str]:
    """Name -> description."""
    return {name: _source(name).read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ") for name in ENVIRONMENTS}


def start_project(template: str, folder: Path) -> Started:
    """Raises UsageError for an unknown template, and when the job file is there already."""
    environment = ENVIRONMENTS.get(template)
    if environment is None:
        raise UsageError(f"no template {template!r}", hint=f"known: {', '.join(ENVIRONMENTS)}")
    job = folder / f"{template}.yaml"
    if job.exists():
        raise UsageError(f"{job} is there already", hint="nothing is overwritten: move it away, or use --dir")
    policy = folder / "environments" / f"{environment}.yaml"
    sources = {job: _source(template), policy: assets.path("environments") / f"{environment}.yaml"}
    written, kept = [], []
    for target, source in sources.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with target.open("x", encoding="utf-8") as f:
                f.write(source.read_text(encoding="utf-8"))
        except FileExistsError:
            kept.append(target)
        else:
            written.append(target)
    return Started(written=tuple(written), kept=tuple(kept), environment=environment)


def _source(template: str) -> Path:
    return assets.path("templates") / "init" / f"{template}.yaml"
