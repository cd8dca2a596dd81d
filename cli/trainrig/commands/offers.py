"""offers: what is for sale, by GPU, place, market and price."""

from __future__ import annotations

from typing import Annotated

import typer

from trainrig.commands.options import Format, OutputFormat
from trainrig.model.offer import Market

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


def _gpu(text: str | None) -> tuple[str | None, int | None]:
    """`A100:8` as (canonical name, count)."""
    from trainrig.catalog import normalise
    from trainrig.errors import UsageError

    if text is None:
        return None, None
    name, colon, count = text.partition(":")
    if colon and not count.isdigit():
        raise UsageError(f"--gpu {text}: NAME or NAME:COUNT is wanted", hint="--gpu A100:8")
    if normalise.gpu(name) is None:
        from difflib import get_close_matches

        near = get_close_matches(name, normalise.names(), n=3, cutoff=0.4)
        raise UsageError(f"--gpu {name}: no such GPU", hint=f"did you mean {', '.join(near)}?" if near else "")
    return normalise.canonical(name), int(count) if count else None
