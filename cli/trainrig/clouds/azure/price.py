"""What one Azure offer costs now, from the public price list: no credentials needed."""

from __future__ import annotations

from decimal import Decimal

from trainrig.clouds.azure.offers import retail_prices
from trainrig.clouds.base import Account
from trainrig.model.offer import Market, Offer


def price(account: Account, offer: Offer) -> Decimal | None:  # noqa: ARG001 the list is the same for everybody
    market = Market.SPOT if offer.market is Market.SPOT else Market.ON_DEMAND
    return retail_prices(offer.region, offer.instance_type).get((offer.instance_type.lower(), market))
