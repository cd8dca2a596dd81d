"""What trainrig itself knows of an environment's accounts: what was spent, what refused a moment ago, the quotas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from trainrig.clouds import registry
from trainrig.errors import NotBuilt
from trainrig.model.cooldown import Cooldown
from trainrig.model.environment import Environment
from trainrig.placement.limits import NOTHING_SPENT, Spend
from trainrig.placement.quota import Needed, QuotaBook
from trainrig.store import quota_cache
from trainrig.store.catalog_index import CatalogIndex
from trainrig.store.db import FILE as JOURNAL_FILE


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountState:
    spend: Spend
    cooldowns: tuple[Cooldown, ...]
    quotas: QuotaBook


def account_state(environment: Environment, index: CatalogIndex, home: Path, now: datetime) -> AccountState:
    """From the journal and the quota cache; a home without a journal has spent nothing."""
    spend, cooldowns = _journalled(environment, home, now)
    needed = {cloud: n for cloud in environment.cloud_names if (n := _needed(cloud)) is not None}
    quotas = quota_cache.known(index, now) if needed else ()
    return AccountState(spend=spend, cooldowns=cooldowns, quotas=QuotaBook.of(quotas, needed))


def _journalled(environment: Environment, home: Path, now: datetime) -> tuple[Spend, tuple[Cooldown, ...]]:
    if not (home / JOURNAL_FILE).is_file():
        return NOTHING_SPENT, ()
    from trainrig.store import cooldowns, spending
    from trainrig.store.journal import Journal

    journal = Journal(home)
    try:
        month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        this_month = spending.by_account(journal, environment.name, now, month)
        spend = Spend(
            month_usd=sum(this_month.values(), NOTHING_SPENT.month_usd),
            by_account_usd=spending.by_account(journal, environment.name, now),
        )
        return spend, cooldowns.active(journal, now)
    finally:
        journal.close()


def _needed(cloud: str) -> Needed | None:
    """How a cloud counts machines against quotas; None where it has none, or its SDK is not there to say."""
    if not registry.has(cloud, "quota"):
        return None
    try:
        return registry.quota(cloud).needed
    except NotBuilt:
        return None
