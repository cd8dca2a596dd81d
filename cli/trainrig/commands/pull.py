"""pull: fetch the outputs and the newest checkpoint of a run, also while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands import options
from trainrig.console import Console


def command(
    rig: options.RigArg,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where to put them.")] = Path("outputs"),
    output_format: options.Format = options.OutputFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Fetch the outputs and the newest checkpoint of a run, also while it runs. Every file is checked by its sha256.

    Example: trainrig pull hello -o ./hello-results
    """
    from trainrig.lifecycle import pull

    console = Console(format=output_format.value, quiet=quiet)
    with console.progress() as observe:
        pulled = pull.pull(rig, out, observe)
    if output_format is options.OutputFormat.JSON:
        console.document(pulled.document)
    else:
        console.data("\n".join(str(p) for p in pulled.paths))
