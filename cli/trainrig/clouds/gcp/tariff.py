"""What Google Cloud charges for traffic, and how often it takes spot machines back.

Traffic: cloud.google.com/vpc/network-pricing, premium tier to North America: the first GiB a month is free; between
regions 0.02 on one continent, 0.05 to 0.15 between continents, of which the middle is taken.
"""

from __future__ import annotations

from decimal import Decimal

from trainrig.model.tariff import Hazard, Tariff, Tier

TARIFF = Tariff(
    internet=(
        Tier(up_to_gb=Decimal(1), usd_per_gb=Decimal(0)),
        Tier(up_to_gb=Decimal(1_024), usd_per_gb=Decimal("0.12")),
        Tier(up_to_gb=Decimal(10_240), usd_per_gb=Decimal("0.11")),
        Tier(up_to_gb=None, usd_per_gb=Decimal("0.08")),
    ),
    same_continent_usd_per_gb=Decimal("0.02"),
    other_continent_usd_per_gb=Decimal("0.10"),
    continents=(
        ("northamerica-", "north america"),
        ("us-", "north america"),
        ("europe-", "europe"),
        ("asia-", "asia"),
        ("australia-", "australia"),
        ("southamerica-", "south america"),
    ),
    schemes=("gs",),
    hazards=(Hazard(gpu="H100", per_hour=Decimal("0.20"), source="0.003 to 1.8 an hour measured in 13 zones, 2025"),),
)
