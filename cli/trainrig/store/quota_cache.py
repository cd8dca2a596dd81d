"""Quotas as the clouds last told them, so that placement knows them without asking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from trainrig.model.offer import Market
from trainrig.model.quota import Quota
from trainrig.store.catalog_index import CatalogIndex

FRESH = timedelta(hours=24)  # limits change by request, use changes by the hour


def remember(index: CatalogIndex, quotas: Iterable[Quota], now: datetime) -> None:
    """Keeps what a cloud said; each quota replaces what was known of it."""
    index.db.executemany(
        "INSERT OR REPLACE INTO quotas VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                q.cloud,
                q.region,
                q.code,
                q.unit,
                q.market.value,
                _text(q.limit),
                _text(q.used),
                int(now.timestamp()),
                q.account,
            )
            for q in quotas
        ],
    )


def known(index: CatalogIndex, now: datetime) -> tuple[Quota, ...]:
    """All that is remembered; the use of an old one counts as not known."""
    columns = 'cloud, account, region, code, unit, market, "limit", used, at'
    rows = index.db.execute(f"SELECT {columns} FROM quotas").fetchall()  # noqa: S608 - our own words
    return tuple(_aged(_quota(row[:-1]), datetime.fromtimestamp(row[-1], UTC), now) for row in rows)


def _quota(row: Sequence[Any]) -> Quota:
    cloud, account, region, code, unit, market, limit, used = row
    return Quota(
        cloud=cloud,
        region=region,
        code=code,
        unit=unit,
        market=Market(market),
        limit=None if limit is None else Decimal(limit),
        used=None if used is None else Decimal(used),
        account=account,
    )


def _aged(quota: Quota, at: datetime, now: datetime) -> Quota:
    return quota if now - at <= FRESH else replace(quota, used=None)


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)
