"""store: make or end the long-lived buckets for checkpoints and Terraform state."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Env, Format, OutputFormat, Quiet, Yes

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Make or end the long-lived buckets that an environment names: its checkpoint_store and state backend. Each"
    " has a Terraform root and state of its own under TRAINRIG_HOME/stores, so that no rig's destroy can reach it.",
)

Region = Annotated[
    str | None, typer.Option("--region", metavar="REGION", help="Where the environment does not say it.")
]


@app.command("apply")
def apply(env: Env = None, region: Region = None, output: Format = OutputFormat.TEXT, quiet: Quiet = False) -> None:
    """Makes the buckets, or brings them up to date: versioned, encrypted, private, TLS only."""
    from trainrig.console import Console
    from trainrig.lifecycle import store
    from trainrig.lifecycle.load_job import find_environment

    console = Console(format=output.value, quiet=quiet)
    with console.progress() as observe:
        made = store.apply(find_environment(env), region=region, observe=observe)
    if output is OutputFormat.JSON:
        stores = [
            {
                "url": one.url,
                "cloud": one.store.cloud,
                "region": one.store.region,
                "purposes": list(one.store.purposes),
                "backend": dict(one.backend),
            }
            for one in made
        ]
        console.document({"schema": "trainrig.store/1", "stores": stores})
        return
    for one in made:
        console.data(f"{one.store.url} in {one.store.region} for {' and '.join(one.store.purposes)}")


@app.command("destroy")
def destroy(
    env: Env = None,
    region: Region = None,
    delete_data: Annotated[
        bool, typer.Option("--delete-data", help="Delete what the buckets hold, old versions included.")
    ] = False,
    yes: Yes = False,
    quiet: Quiet = False,
) -> None:
    """Ends the buckets. Refuses while one holds data, unless told with --delete-data."""
    from trainrig.console import Console
    from trainrig.errors import UsageError
    from trainrig.lifecycle import store
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.render.store import stores_of

    console = Console(quiet=quiet)
    environment = find_environment(env)
    urls = ", ".join(one.url for one in stores_of(environment, region))
    what = f"{urls} and all that is in there" if delete_data else urls
    if not (yes or console.confirm(f"Delete {what}?")):
        raise UsageError(f"nothing was deleted: {what}", hint="--yes, where there is no terminal to ask on")
    with console.progress() as observe:
        for gone in store.destroy(environment, region=region, delete_data=delete_data, observe=observe):
            console.data(f"{gone.url} is gone")
