"""What one AWS offer costs now: a spot price moves by the hour, a list price hardly ever."""

from __future__ import annotations

from decimal import Decimal

from trainrig.clouds.aws.offers import spot_prices
from trainrig.clouds.aws.session import client, translated
from trainrig.clouds.base import Account
from trainrig.model.clock import utc_now
from trainrig.model.offer import Market, Offer


def price(account: Account, offer: Offer) -> Decimal | None:
    """The spot price of the offer's zone, of the dearest zone of its region when it names none; None for the other
    markets, whose price the catalogue has."""
    if offer.market is not Market.SPOT:
        return None
    with translated(account):
        found = spot_prices(client(account, "ec2", offer.region), [offer.instance_type], utc_now())
    return max((usd for (_, zone), usd in found.items() if offer.zone in {None, zone}), default=None)
