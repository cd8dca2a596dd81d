"""offers: what is for sale, by GPU, place, market and price."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainrig.commands.options import Env, Format, OutputFormat, Quiet
from trainrig.errors import PreflightFailed, UsageError
from trainrig.model.offer import Market

if TYPE_CHECKING:
    from trainrig.console import Console
    from trainrig.lifecycle.refresh_offers import Outcome

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    no_args_is_help=False,
)

Gpu = Annotated[str | None, typer.Option("--gpu", metavar="NAME[:COUNT]", help="Only this GPU, as in A100:8.")]
MarketOption = Annotated[Market | None, typer.Option("--market", help="Only this market.")]
Clouds = Annotated[list[str] | None, typer.Option("--cloud", metavar="CLOUD", help="Only this cloud. Repeatable.")]
Regions = Annotated[list[str] | None, typer.Option("--region", metavar="REGION", help="Only this region. Repeatable.")]
MaxPrice = Annotated[str | None, typer.Option("--max-price", metavar="USD", help="At most, a machine and hour.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Rows of text; JSON has all.")]


@app.callback()
def command(
    ctx: typer.Context,
    gpu: Gpu = None,
    market: MarketOption = None,
    cloud: Clouds = None,
    region: Regions = None,
    max_price: MaxPrice = None,
    limit: Limit = 40,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Lists known offers, cheapest first, with what is wrong with their prices. Needs no network."""
    if ctx.invoked_subcommand is not None:
        return
    from trainrig.catalog.query import OfferFilter
    from trainrig.commands.amounts import amount
    from trainrig.console import Console
    from trainrig.lifecycle.list_offers import list_offers
    from trainrig.model.clock import utc_now
    from trainrig.reports import offers_report

    name, count = _gpu(gpu)
    listing = list_offers(
        OfferFilter(
            clouds=tuple(cloud or ()),
            regions=tuple(region or ()),
            gpu=name,
            gpu_count=count,
            market=market,
            max_price_hour_usd=None if max_price is None else amount("--max-price", max_price),
        ),
        utc_now(),
    )
    console = Console(format=output.value)
    match output:
        case OutputFormat.JSON:
            console.document(offers_report.document(listing))
        case OutputFormat.TEXT:
            console.data(offers_report.text(listing, limit))
        case OutputFormat.MD | OutputFormat.GITHUB:
            console.data(offers_report.markdown(listing, limit))


@app.command("refresh")
def refresh(cloud: Clouds = None, env: Env = None, output: Format = OutputFormat.TEXT, quiet: Quiet = False) -> None:
    """Asks the clouds what they sell and what quotas you have, with this machine's credentials. One that fails keeps
    its old offers."""
    from trainrig.console import Console
    from trainrig.lifecycle import refresh_offers
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.model.clock import utc_now

    console = Console(format=output.value, quiet=quiet)
    accounts = refresh_offers.accounts(find_environment(env) if env else None, cloud or ())
    if not accounts:
        raise UsageError(
            "no cloud of the environment has prices to ask for", hint="trainrig offers refresh --cloud aws"
        )
    console.say(f"asking {', '.join(a.cloud for a in accounts)}")
    _report(console, refresh_offers.refresh(accounts, utc_now()), all_must_succeed=bool(cloud or env))


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", exists=True, help="A SkyPilot catalogue or gpuhunt CSV.")],
    cloud: Annotated[
        str | None, typer.Option("--cloud", metavar="CLOUD", help="Whose prices, where the name does not say it.")
    ] = None,
    captured_at: Annotated[
        datetime | None,
        typer.Option("--captured-at", help="When the prices were true, in UTC. By default the file's date."),
    ] = None,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Takes over offers from a price list: SkyPilot's vms.csv files or gpuhunt's CSV files."""
    from trainrig.console import Console
    from trainrig.lifecycle import refresh_offers

    when = captured_at.replace(tzinfo=UTC) if captured_at else None
    outcomes = refresh_offers.import_offers(path, cloud=cloud, captured_at=when)
    _report(Console(format=output.value), outcomes, all_must_succeed=True)


def _report(console: Console, outcomes: Iterable[Outcome], *, all_must_succeed: bool) -> None:
    """Prints each outcome as it comes; exit code 4 when a cloud that was asked for failed, or all did."""
    from trainrig.reports import refresh_report

    seen = []
    for outcome in outcomes:
        seen.append(outcome)
        if console.format != "json":
            (console.error if outcome.error else console.data)(refresh_report.text(outcome))
    if console.format == "json":
        console.document(refresh_report.document(seen))
    failed = [o for o in seen if o.error]
    if failed and (all_must_succeed or len(failed) == len(seen)):
        raise typer.Exit(PreflightFailed.exit_code)


def _gpu(text: str | None) -> tuple[str | None, int | None]:
    """`A100:8` as (canonical name, count)."""
    from trainrig.catalog import normalise
    from trainrig.lifecycle import known_gpus

    if text is None:
        return None, None
    name, colon, count = text.partition(":")
    if colon and not count.isdigit():
        raise UsageError(f"--gpu {text}: NAME or NAME:COUNT is wanted", hint="--gpu A100:8")
    if known_gpus.unheard_of([name]):
        raise UsageError(f"--gpu {name}: no such GPU", hint=known_gpus.hint(name))
    return normalise.canonical(name), int(count) if count else None
