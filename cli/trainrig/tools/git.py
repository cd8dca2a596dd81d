"""Files as Git revisions have them."""

from __future__ import annotations

from pathlib import Path

from trainrig.errors import UsageError
from trainrig.model.process import Command
from trainrig.tools import proc


def show(folder: Path, revision: str, name: str) -> str | None:
    """A file of a folder at a revision; None when it is not there.

    Raises:
        UsageError: no such revision, or no repository.
    """
    if revision.startswith("-"):
        raise UsageError(f"{revision!r} is no Git revision")
    cwd = folder.resolve()
    known = proc.run(Command(argv=["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], cwd=cwd), check=False)
    if not known.ok:
        raise UsageError(f"{revision!r} is no Git revision in {folder}", hint=known.stderr.strip())
    found = proc.run(Command(argv=["git", "show", f"{revision}:./{name}"], cwd=cwd), check=False)
    return found.stdout if found.ok else None
