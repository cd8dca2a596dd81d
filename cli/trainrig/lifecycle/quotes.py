"""What offers cost now, as far as this machine knows: the catalogue's last prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from trainrig.catalog.query import OfferFilter
from trainrig.lifecycle.apply import Quote
from trainrig.lifecycle.place import computed_offers, open_index
from trainrig.model.environment import Environment
from trainrig.model.offer import Offer
from trainrig.model.placement import Candidate


def quotes(candidates: Sequence[Candidate], environment: Environment, now: datetime) -> Quote:
    """The price of one node and hour; of an offer that is no longer known, the one that was reviewed."""
    types = {(c.offer.cloud, c.offer.instance_type) for c in candidates}
    with open_index() as index:
        current = [*computed_offers(environment, now), *index.offers(OfferFilter(types=types))]
    prices = {_key(o): o.price_hour_usd for o in current if o.price_hour_usd is not None}

    def quote(offer: Offer) -> Decimal | None:
        return prices.get(_key(offer), offer.price_hour_usd)

    return quote


def _key(o: Offer) -> tuple[object, ...]:
    return o.cloud, o.region, o.zone, o.instance_type, o.market
