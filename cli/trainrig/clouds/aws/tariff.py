"""What AWS charges for traffic, and how often it takes spot machines back.

Traffic: the EC2 on-demand page, "Data transfer" (US regions): the first 100 GB a month are free, then by the staircase;
between regions 0.02 and more from far away, 0.01 between the two regions of the eastern US.
"""

from __future__ import annotations

from decimal import Decimal

from trainrig.model.tariff import Hazard, Tariff, Tier

_BAND = "ordered by AWS's Spot Instance Advisor bands, scaled to what spot traces measured"

TARIFF = Tariff(
    internet=(
        Tier(up_to_gb=Decimal(100), usd_per_gb=Decimal(0)),
        Tier(up_to_gb=Decimal(10_240), usd_per_gb=Decimal("0.09")),
        Tier(up_to_gb=Decimal(51_200), usd_per_gb=Decimal("0.085")),
        Tier(up_to_gb=Decimal(153_600), usd_per_gb=Decimal("0.07")),
        Tier(up_to_gb=None, usd_per_gb=Decimal("0.05")),
    ),
    same_continent_usd_per_gb=Decimal("0.02"),
    other_continent_usd_per_gb=Decimal("0.08"),
    region_pairs_usd_per_gb={frozenset(("us-east-1", "us-east-2")): Decimal("0.01")},
    continents=(("us-", "north america"), ("ca-", "north america"), ("eu-", "europe"), ("ap-", "asia")),
    schemes=("s3",),
    opt_in_zones=r"[a-z]+\d-[a-z]+\d+-az\d+",  # Local Zones: use1-atl2-az1, where others are use1-az1
    hazards=(
        Hazard(gpu="V100", per_hour=Decimal("0.50"), source="0.31 to 0.74 an hour measured on p3 spot machines, 2023"),
        Hazard(gpu="L4", per_hour=Decimal("0.05"), source=f"band below 5 %, {_BAND}"),
        Hazard(gpu="A100", per_hour=Decimal("0.10"), source=f"band 5 to 10 %, {_BAND}"),
        Hazard(gpu="H100", per_hour=Decimal("0.20"), source=f"band 10 to 20 %, {_BAND}"),
    ),
)
