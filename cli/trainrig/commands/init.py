"""init: write a job file and an environment to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainrig.commands.options import Format, OutputFormat, Quiet
from trainrig.console import Console
from trainrig.lifecycle.start_project import start_project, templates


def command(
    template: Annotated[
        str, typer.Argument(metavar="[TEMPLATE]", help="hello, minimal, finetune, multi-node.")
    ] = "hello",
    directory: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where to write.")] = Path(),
    listing: Annotated[bool, typer.Option("--list", help="Only list the templates.")] = False,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
) -> None:
    """Writes a job file and the environment that goes with it. Nothing is overwritten."""
    console = Console(format=output.value, quiet=quiet)
    if listing:
        known = templates()
        if output is OutputFormat.JSON:
            console.document({"schema": "trainrig.templates/1", "templates": known})
        else:
            console.data("\n".join(f"{name:<12} {text}" for name, text in known.items()))
        return
    started = start_project(template, directory)
    if output is OutputFormat.JSON:
        document = {
            "schema": "trainrig.init/1",
            "written": [str(p) for p in started.written],
            "kept": [str(p) for p in started.kept],
            "environment": started.environment,
        }
        console.document(document)
    else:
        console.data("\n".join(str(p) for p in started.written))
    for path in started.kept:
        console.say(f"{path} is there already and stays as it is")
    choice = "" if started.environment == "local" else f" --env {started.environment}"
    console.say(f"next: trainrig explain {started.written[0]}{choice}")
