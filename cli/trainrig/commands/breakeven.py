"""breakeven: hours after which a cheaper machine has earned back moving the data to it."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

import typer

from trainrig.commands.amounts import amount
from trainrig.commands.options import Format, OutputFormat


def command(
    data_gb: Annotated[str, typer.Option("--data-gb", metavar="GB", help="Data to move, once.")],
    egress_gb_usd: Annotated[str, typer.Option("--egress-gb-usd", metavar="USD", help="Price of moving a GB.")],
    price_from: Annotated[str, typer.Option("--price-from", metavar="USD", help="An hour beside the data.")],
    price_to: Annotated[str, typer.Option("--price-to", metavar="USD", help="An hour where it is cheaper.")],
    free_gb: Annotated[str, typer.Option("--free-gb", metavar="GB", help="GB that cost nothing to move.")] = "0",
    output: Format = OutputFormat.TEXT,
) -> None:
    """The egress inflection point: below these hours stay with the data, above them move."""
    from trainrig.console import Console
    from trainrig.model import money
    from trainrig.placement.gravity import breakeven_hours

    gb, free = amount("--data-gb", data_gb), amount("--free-gb", free_gb)
    egress = max(gb - free, Decimal(0)) * amount("--egress-gb-usd", egress_gb_usd)
    saved = amount("--price-from", price_from) - amount("--price-to", price_to)
    hours = breakeven_hours(egress, saved)
    console = Console(format=output.value)
    if output is OutputFormat.JSON:
        console.document(
            {
                "schema": "trainrig.breakeven/1",
                "egress_usd": money.text(egress),
                "saved_hour_usd": money.text(saved),
                "breakeven_hours": None if hours is None else float(hours),
            }
        )
        return
    moved = f"moving {gb:f} GB costs {money.dollars(egress)}"
    if hours is None:
        console.data(f"{moved}; the other machine is not cheaper, so it never pays")
    else:
        console.data(f"{moved} and saves {money.dollars(saved)} an hour: it pays after {hours} hours")
