"""What offers cost now: what their cloud answers, else the catalogue's last price."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache

from trainrig.catalog.query import OfferFilter
from trainrig.clouds import registry
from trainrig.errors import RigError
from trainrig.lifecycle.apply import Quote
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.place import computed_offers, open_index
from trainrig.model.environment import Environment
from trainrig.model.events import Progress
from trainrig.model.offer import Offer
from trainrig.model.placement import Candidate

_Key = tuple[object, ...]


def quotes(context: Context, candidates: Sequence[Candidate], environment: Environment) -> Quote:
    """The price of one node and hour. A cloud is asked when a price is wanted, which is before each attempt; one that
    does not answer is no reason to stop: apply will meet the same trouble, and say what it is."""
    known = cache(lambda: _known(context, candidates, environment))

    def quote(offer: Offer) -> Decimal | None:
        asked = None
        if registry.has(offer.cloud, "price"):
            try:
                asked = registry.price(offer.cloud).price(context.account(offer.cloud, (offer.region,)), offer)
            except RigError as error:
                words = f"{offer.cloud} names no price now ({error.message}); the catalogue's counts"
                context.observe(Progress(phase="apply", message=words))
        return known().get(_key(offer), offer.price_hour_usd) if asked is None else asked

    return quote


def _known(context: Context, candidates: Sequence[Candidate], environment: Environment) -> dict[_Key, Decimal]:
    types = {(c.offer.cloud, c.offer.instance_type) for c in candidates}
    with open_index() as index:
        current = [*computed_offers(environment, context.now()), *index.offers(OfferFilter(types=types))]
    return {_key(o): o.price_hour_usd for o in current if o.price_hour_usd is not None}


def _key(o: Offer) -> _Key:
    return o.cloud, o.region, o.zone, o.instance_type, o.market
