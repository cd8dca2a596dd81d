"""What offers cost now: what their cloud answers, else the catalogue's last price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache

from trainrig.catalog import quality
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
    known = cache(lambda: catalogue(context, candidates, environment))

    def quote(offer: Offer) -> Decimal | None:
        found = None
        try:
            found = asked(context, offer)
        except RigError as error:
            words = f"{offer.cloud} names no price now ({error.message}); the catalogue's counts"
            context.observe(Progress(phase="apply", message=words))
        return listed(known(), offer) if found is None else found

    return quote


def asked(context: Context, offer: Offer) -> Decimal | None:
    """What the offer's cloud answers; None: it answers nothing about such an offer, the catalogue has its price.

    Raises:
        RigError: it does not answer.
    """
    if not registry.has(offer.cloud, "price"):
        return None
    return registry.price(offer.cloud).price(context.account(offer.cloud, (offer.region,)), offer)


def catalogue(context: Context, candidates: Sequence[Candidate], environment: Environment) -> Mapping[_Key, Decimal]:
    """The prices of the candidates' machine types that are believed, as this machine knows them now; for `listed`."""
    types = {(c.offer.cloud, c.offer.instance_type) for c in candidates}
    with open_index() as index:
        current = [*computed_offers(environment, context.now()), *index.offers(OfferFilter(types=types))]
    free = {o.cloud for o in current if registry.tariff(o.cloud).free}
    believed = [o for o in quality.checked(current, free=free) if quality.refusal(o) is None]
    return {_key(o): o.price_hour_usd for o in believed if o.price_hour_usd is not None}


def listed(prices: Mapping[_Key, Decimal], offer: Offer) -> Decimal | None:
    """The catalogue's price of an offer; else what it was placed with."""
    return prices.get(_key(offer), offer.price_hour_usd)


def _key(o: Offer) -> _Key:
    return o.cloud, o.region, o.zone, o.instance_type, o.market
