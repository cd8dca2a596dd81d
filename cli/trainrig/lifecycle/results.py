"""What a job's outputs were, and what went wrong, as the run's last document says it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainrig import errors
from trainrig.recovery.checkpoint import FileEntry
from trainrig.store.checkpoint_dir import entry, scan

METRICS = "metrics"
JSON_LIMIT_BYTES = 256 * 1024
MOST_LEVELS = 50  # of a document that is shown: who keeps and prints it goes through it level by level


def outputs_document(outputs: Mapping[str, Path]) -> dict[str, Any]:
    """Name -> content of a small JSON file, else `{bytes, sha256}` of a file, or `{files, bytes}` of a directory.

    It says nothing of this machine and this moment: two runs that made the same make the same document.
    """
    return {name: _describe(path) for name, path in sorted(outputs.items())}


def metrics_of(outputs: Mapping[str, Path]) -> dict[str, Any]:
    """The job's metrics: the JSON object that it wrote as its output `metrics`, else as `metrics.json`."""
    candidates = [p for name, p in outputs.items() if name == METRICS]
    candidates += [p / "metrics.json" for p in outputs.values() if p.is_dir()]
    for path in candidates:
        file = path / "metrics.json" if path.is_dir() else path
        value = _json(file)
        if isinstance(value, dict):
            return value
    return {}


def error_document(error: errors.RigError) -> dict[str, Any]:
    return {**errors.document(error), "exit_code": error.exit_code}


def _describe(path: Path) -> Any:
    if path.is_file():
        value = _json(path)
        if value is not None:
            return value
        content = entry(path)
        return {"bytes": content.size, "sha256": content.sha256}
    files = {name: e for name, e in scan(path).items() if isinstance(e, FileEntry)}
    return {
        "bytes": sum(f.size for f in files.values()),
        "files": {name: _json(path / name) or {"bytes": f.size, "sha256": f.sha256} for name, f in files.items()},
    }


def _json(path: Path) -> Any:
    """The content of a small JSON file; None when it is something else, or a link to what the job did not make."""
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        return None
    if path.suffix != ".json" or not path.is_file() or path.stat().st_size > JSON_LIMIT_BYTES:
        return None
    try:
        # NaN, as diverged losses are written, is no JSON for those who read our documents: it is a word there.
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=str, parse_float=_number)
    except (ValueError, RecursionError):
        return None
    return value if _is_flat(value, MOST_LEVELS) else None


def _number(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _is_flat(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(v, levels - 1) for v in inner)
