"""What Azure charges for traffic, and how often it takes spot machines back.

Traffic: azure.microsoft.com/pricing/details/bandwidth (North America and Europe): the first 100 GB a month are free;
between regions 0.02 within North America or Europe, 0.08 from Asia, which is taken for everything farther.
"""

from __future__ import annotations

from decimal import Decimal

from trainrig.model.tariff import Hazard, Tariff, Tier

TARIFF = Tariff(
    internet=(
        Tier(up_to_gb=Decimal(100), usd_per_gb=Decimal(0)),
        Tier(up_to_gb=Decimal(10_240), usd_per_gb=Decimal("0.087")),
        Tier(up_to_gb=Decimal(51_200), usd_per_gb=Decimal("0.083")),
        Tier(up_to_gb=Decimal(153_600), usd_per_gb=Decimal("0.07")),
        Tier(up_to_gb=None, usd_per_gb=Decimal("0.05")),
    ),
    same_continent_usd_per_gb=Decimal("0.02"),
    other_continent_usd_per_gb=Decimal("0.08"),
    continents=(
        ("southeastasia", "asia"),
        ("eastasia", "asia"),
        ("europe", "europe"),
        ("uk", "europe"),
        ("sweden", "europe"),
        ("france", "europe"),
        ("germany", "europe"),
        ("us", "north america"),
        ("canada", "north america"),
    ),
    schemes=("az", "azblob"),
    hazards=(
        Hazard(
            per_hour=Decimal("0.105"), source="Azure's own eviction band of 5 to 10 % an hour, for want of the live one"
        ),
    ),
    scatters_nodes=True,
)
