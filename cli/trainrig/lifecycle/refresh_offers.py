"""Brings the catalogue up to date from the clouds themselves, or from price lists of other tools.

A cloud's offers are replaced at once or not at all, and one cloud's failure is not another's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from trainrig.catalog import importers
from trainrig.catalog.imported import Refused
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, RigError, UsageError
from trainrig.lifecycle.place import open_index
from trainrig.model.environment import Environment
from trainrig.store import quota_cache
from trainrig.store.catalog_index import CatalogIndex

CLOUD_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one cloud's offers. With an error, the ones known before are still there."""

    cloud: str
    source: str
    offers: int = 0
    refused: tuple[Refused, ...] = ()
    error: RigError | None = None
    quotas: int = 0
    quota_error: RigError | None = None  # the offers are refreshed all the same


def accounts(environment: Environment | None, clouds: Sequence[str]) -> list[Account]:
    """The clouds to ask: those of an environment that can be asked, else all that trainrig can ask; `clouds` narrows.

    Raises:
        UsageError: a cloud of `clouds` cannot be asked, or the environment does not have it.
    """
    if environment is None:
        found = [Account(cloud=name) for name in registry.names() if registry.has(name, "offers")]
    else:
        found = [
            Account(cloud=p.cloud, regions=p.regions, settings=dict(p.account))
            for p in environment.clouds
            if registry.has(p.cloud, "offers")
        ]
    known = {a.cloud for a in found}
    for name in clouds:
        if name not in known:
            raise UsageError(f"--cloud {name}: it has no prices to ask for", hint=f"one of: {', '.join(sorted(known))}")
    return [a for a in found if not clouds or a.cloud in clouds]


def refresh(wanted: Sequence[Account], now: datetime) -> Iterator[Outcome]:
    """Asks each cloud for its offers and for the quotas that they count against, one cloud after the other."""
    with open_index() as index:
        for account in wanted:
            yield _refreshed(account, index, now)


def _refreshed(account: Account, index: CatalogIndex, now: datetime) -> Outcome:
    source = f"{account.cloud}:api"
    try:
        with _understood(account.cloud):
            offers = list(registry.offers(account.cloud).offers(account))
    except RigError as error:
        return Outcome(cloud=account.cloud, source=source, error=error)
    if not offers:
        nothing = CommandFailed(f"{account.cloud}: it offers no GPU machine in the regions that were asked for")
        return Outcome(cloud=account.cloud, source=source, error=nothing)
    kept = index.replace(account.cloud, source, offers)
    try:
        with _understood(account.cloud):
            quotas = list(registry.quota(account.cloud).quotas(account, offers))
    except RigError as error:
        return Outcome(cloud=account.cloud, source=source, offers=kept, quota_error=error)
    quota_cache.remember(index, quotas, now)
    return Outcome(cloud=account.cloud, source=source, offers=kept, quotas=len(quotas))


@contextmanager
def _understood(cloud: str) -> Iterator[None]:
    """An answer that is not what the cloud's reference promises is the cloud's failure, not a crash."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise CommandFailed(
            f"{cloud}: its answer is not what its reference says: {type(error).__name__}: {error}"
        ) from error


def import_offers(path: Path, *, cloud: str | None, captured_at: datetime | None) -> Iterator[Outcome]:
    """Reads one price list, or all of a folder; `captured_at` is when their prices were true, by default the file's
    own date.

    Raises:
        UsageError: there is no price list, or no telling which cloud it is of.
    """
    files = price_lists(path, cloud)
    with open_index() as index:
        for name, file in sorted(files.items()):
            yield _imported(name, file, captured_at, index)


def price_lists(path: Path, cloud: str | None) -> dict[str, Path]:
    """Cloud -> file. A `vms.csv` is named for its folder, any other file for itself."""
    if path.is_dir():
        found = [*sorted(path.glob("vms.csv")), *sorted(path.glob("*/vms.csv"))] or sorted(path.glob("*.csv"))
        if not found:
            raise UsageError(f"{path}: no vms.csv in it or its folders, and no CSV file")
        if cloud and len(found) > 1:
            raise UsageError(f"--cloud {cloud}: {path} holds {len(found)} price lists", hint="import one file")
    else:
        found = [path]
    named: dict[str, Path] = {}
    for file in found:
        name = cloud or (file.absolute().parent.name if file.name == "vms.csv" else file.stem)
        if not CLOUD_NAME.fullmatch(name):
            raise UsageError(f"{file}: whose prices are these?", hint="--cloud aws")
        named[name] = file
    return named


def _imported(cloud: str, file: Path, captured_at: datetime | None, index: CatalogIndex) -> Outcome:
    source = f"import:{file.name}"
    try:
        content = file.read_text(encoding="utf-8")
        when = captured_at or datetime.fromtimestamp(file.stat().st_mtime, UTC)
        read = importers.read(content, cloud=cloud, captured_at=when, name=str(file))
    except RigError as error:
        return Outcome(cloud=cloud, source=source, error=error)
    except (OSError, UnicodeDecodeError) as error:
        return Outcome(cloud=cloud, source=source, error=UsageError(f"{file}: cannot be read: {error}"))
    source = f"import:{read.format}:{file.name}"
    if not read.offers:
        empty = UsageError(f"{file}: none of its rows is an offer")
        return Outcome(cloud=cloud, source=source, refused=read.refused, error=empty)
    kept = index.replace(cloud, source, read.offers)
    return Outcome(cloud=cloud, source=source, offers=kept, refused=read.refused)
