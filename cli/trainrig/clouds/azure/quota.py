"""Azure quotas: vCPUs per family and in all, in each region; spot machines share one quota of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from trainrig.clouds.azure.sizes import same_family, size_of
from trainrig.clouds.base import Account
from trainrig.model.offer import Market, Offer
from trainrig.model.quota import Quota, QuotaNeed

ALL_CORES = "cores"
SPOT_CORES = "lowPriorityCores"


def needed(offer: Offer, nodes: int) -> Sequence[QuotaNeed]:
    """vCPUs of the family and of the region, or of all spot machines of the region."""
    if offer.market is Market.RESERVED:
        return ()
    size = size_of(offer.instance_type)
    codes = (SPOT_CORES,) if offer.market is Market.SPOT else (*((size.family,) if size else ()), ALL_CORES)
    amount = Decimal(str(offer.vcpus)) * nodes
    return tuple(QuotaNeed(code=code, amount=amount, region=offer.region) for code in codes)


def quotas(account: Account, offers: Sequence[Offer]) -> Iterator[Quota]:
    from trainrig.clouds.azure.session import compute, translated

    wanted: dict[str, dict[str, Market]] = {}
    for offer in offers:
        for need in needed(offer, 1):
            wanted.setdefault(need.region, {})[need.code] = offer.market
    for region, codes in sorted(wanted.items()):
        with translated():
            usages = list(compute(account).usage.list(region))
        for code, market in sorted(codes.items()):
            found = next((u for u in usages if same_family(u.name.value or "", code)), None)
            yield Quota(
                cloud="azure",
                region=region,
                code=code,
                unit="vcpus",
                market=market,
                limit=None if found is None else Decimal(found.limit),
                used=None if found is None else Decimal(found.current_value),
            )
