"""The local cloud costs nothing, and takes nothing back unless a drill does."""

from __future__ import annotations

from decimal import Decimal

from trainrig.model.tariff import Hazard, Tariff

TARIFF = Tariff(
    free=True,
    setup_minutes=Decimal(2),
    hazards=(Hazard(per_hour=Decimal(0), source="only a drill takes a container back"),),
)
