"""A cool-down: where not to buy for a while, because the cloud just said no."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from trainrig.model.offer import Market, Offer


@dataclass(frozen=True, kw_only=True, slots=True)
class Cooldown:
    """Matches the offers that agree with every field that is not None."""

    cloud: str
    until: datetime  # timezone-aware
    reason: str
    region: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    gpu: str | None = None
    market: Market | None = None
    account: str | None = None  # a quota is one account's

    def covers(self, offer: Offer, account: str = "") -> bool:
        return offer.cloud == self.cloud and all(
            wanted is None or wanted == actual
            for wanted, actual in (
                (self.region, offer.region),
                (self.zone, offer.zone),
                (self.instance_type, offer.instance_type),
                (self.gpu, offer.gpu),
                (self.market, offer.market),
                (self.account, account),
            )
        )
