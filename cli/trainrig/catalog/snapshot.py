"""Reads the offers that ship with trainrig: data/offers.csv, made by scripts/snapshot/build.py."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from trainrig.model.offer import Market, Offer

COLUMNS = (
    "cloud",
    "region",
    "zone",
    "instance_type",
    "gpu",
    "gpu_count",
    "gpu_memory_gib",
    "vcpus",
    "memory_gib",
    "market",
    "price_hour_usd",
    "captured_at",
    "source",
    "flags",
)


def parse(text: str) -> Iterator[Offer]:
    """One offer a line. Days are UTC; an empty price is an unknown one."""
    for row in csv.DictReader(text.splitlines()):
        yield Offer(
            cloud=row["cloud"],
            region=row["region"],
            zone=row["zone"] or None,
            instance_type=row["instance_type"],
            gpu=row["gpu"] or None,
            gpu_count=int(row["gpu_count"]),
            gpu_memory_gib=float(row["gpu_memory_gib"]) if row["gpu_memory_gib"] else None,
            vcpus=float(row["vcpus"]),
            memory_gib=float(row["memory_gib"]),
            market=Market(row["market"]),
            price_hour_usd=Decimal(row["price_hour_usd"]) if row["price_hour_usd"] else None,
            captured_at=datetime.fromisoformat(row["captured_at"]).replace(tzinfo=UTC),
            source=row["source"],
            flags=tuple(filter(None, row["flags"].split(" "))),
        )
