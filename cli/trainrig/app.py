"""Assembles the command line from commands/ (one file a verb, loaded when it is called) and holds the one place
where errors become exit codes."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from trainrig import __version__, crash_log, errors

COMMANDS = Path(__file__).parent / "commands"

# typer carries its own copy of click and exports only some of its exceptions; the base of BadParameter is UsageError.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def verbs() -> dict[str, str]:
    """Verb -> one-line help, read from the first line of each file of commands/ without importing it."""
    found = {}
    for path in sorted(COMMANDS.glob("*.py")):
        with path.open(encoding="utf-8") as f:
            first = f.readline().strip()
        # `"""plan: freeze placement, root and plan for review."""`; helpers of the verbs have no verb before a colon
        head, colon, help_text = first.strip('"').partition(": ")
        if colon and head == path.stem.rstrip("_").replace("_", "-"):
            found[head] = help_text
    return found


class LazyVerbs(TyperGroup):
    """Lists verbs without importing them; imports the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(verbs())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        known = verbs()
        if cmd_name not in known:
            return None
        # Only the help page and shell completion of verb names get here without resolve_command having loaded it.
        return TyperCommand(cmd_name, short_help=known[cmd_name], help=known[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name in verbs():
            return name, load(name), args[1:]
        return super().resolve_command(ctx, args)


def load(verb: str) -> Any:
    """The command of a verb: `app` of its module where it has sub-commands, else its `command` function."""
    stem = verb.replace("-", "_")
    if not (COMMANDS / f"{stem}.py").exists():  # `import` and the like are keywords: import_.py
        stem += "_"
    module = import_module(f"trainrig.commands.{stem}")
    if hasattr(module, "app"):
        group = get_group(module.app)
        group.name = verb
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    settings_of_command = getattr(module, "CONTEXT", {})
    single.command(name=verb, context_settings=settings_of_command, no_args_is_help=False)(module.command)
    return get_command(single)


app = typer.Typer(
    cls=LazyVerbs,
    name="trainrig",
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"trainrig {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", "-V", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Rents GPU machines for one training job on the cheapest cloud that will finish it, runs it in a container,
    survives preemption, and proves that nothing is left.

    Start with: trainrig init, trainrig explain JOB, trainrig run JOB.
    """


def run(argv: Sequence[str]) -> int:
    """Runs one command line and returns its exit code; the single place where errors are caught."""
    try:
        result = get_command(app).main(args=list(argv), prog_name="trainrig", standalone_mode=False)
        if result == errors.Interrupted.exit_code:  # typer turns a KeyboardInterrupt into this result
            raise KeyboardInterrupt
    except errors.RigError as error:
        _report(error, argv)
        return error.exit_code
    except _UsageError as error:
        path = getattr(getattr(error, "ctx", None), "command_path", "trainrig")
        _report(errors.UsageError(_format_usage(error), hint=f"{path} --help"), argv)
        return errors.UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _report(errors.Interrupted("interrupted", hint="trainrig status shows what is left"), argv)
        return errors.Interrupted.exit_code
    except BrokenPipeError:
        # The reader of our stdout has gone (`trainrig offers | head`); that is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001
        _report(crash_log.internal(error, verb=argv[0] if argv else ""), argv)
        return errors.RigError.exit_code
    return result if isinstance(result, int) else 0


def _format_usage(error: Exception) -> str:
    formatted = getattr(error, "format_message", None)
    return str(formatted()) if callable(formatted) else str(error)


def _report(error: errors.RigError, argv: Sequence[str]) -> None:
    from trainrig.console import Console, masked_document

    console = Console()
    console.error(f"error: {errors.render(error)}")
    if _wants_json(argv) and not error.documented:
        console.document(masked_document(errors.document(error)), line=True)


def _wants_json(argv: Sequence[str]) -> bool:
    """Whether `--format json` was asked for; read from the words themselves, since parsing may be what failed."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    return "--format=json" in words or any(a == "--format" and b == "json" for a, b in itertools.pairwise(words))
