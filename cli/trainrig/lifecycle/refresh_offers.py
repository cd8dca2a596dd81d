"""Brings the catalogue up to date from the clouds themselves, or from price lists of other tools.

A cloud's offers are replaced at once or not at all, and one cloud's failure is not another's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from trainrig.catalog import importers
from trainrig.catalog.imported import Refused
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, RigError, UsageError
from trainrig.lifecycle.place import open_index
from trainrig.model.environment import Environment
from trainrig.model.offer import Offer
from trainrig.model.quota import Quota
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
    account: str = ""  # which of the cloud's several accounts; only the first tells offers


def accounts(environment: Environment | None, clouds: Sequence[str]) -> list[Account]:
    """The clouds to ask: those of an environment that can be asked, else all that trainrig can ask; `clouds` narrows.

    Raises:
        UsageError: a cloud of `clouds` cannot be asked, or the environment does not have it.
    """
    if environment is None:
        found = [Account(cloud=name) for name in registry.names() if registry.has(name, "offers")]
    else:
        found = [
            Account(cloud=p.cloud, name=p.name, regions=p.regions, settings=dict(p.account))
            for p in environment.clouds
            if registry.has(p.cloud, "offers")
        ]
    known = {a.cloud for a in found}
    for name in clouds:
        if name not in known:
            raise UsageError(f"--cloud {name}: it has no prices to ask for", hint=f"one of: {', '.join(sorted(known))}")
    return [a for a in found if not clouds or a.cloud in clouds]


def refresh(wanted: Sequence[Account], now: datetime) -> Iterator[Outcome]:
    """Asks each cloud for its offers, and each account for the quotas that they count against, one after the other. Of
    several accounts of a cloud the first that answers tells the offers of all their regions."""
    with open_index() as index:
        told: dict[str, list[Offer]] = {}
        for account in wanted:
            outcome = Outcome(cloud=account.cloud, account=account.name, source=f"{account.cloud}:api")
            if account.cloud not in told:
                try:
                    told[account.cloud] = _offers(_with_all_regions(account, wanted))
                except RigError as error:
                    yield replace(outcome, error=error)
                    continue
                outcome = replace(outcome, offers=index.replace(account.cloud, outcome.source, told[account.cloud]))
            theirs = [o for o in told[account.cloud] if not account.regions or o.region in account.regions]
            try:
                quotas = _quotas(account, theirs)
            except RigError as error:
                yield replace(outcome, quota_error=error)
                continue
            quota_cache.remember(index, quotas, now)
            yield replace(outcome, quotas=len(quotas))


def _offers(account: Account) -> list[Offer]:
    with _understood(account.cloud):
        offers = list(registry.offers(account.cloud).offers(account))
    if not offers:
        raise CommandFailed(f"{account.cloud}: it offers no GPU machine in the regions that were asked for")
    return offers


def _quotas(account: Account, offers: Sequence[Offer]) -> list[Quota]:
    with _understood(account.cloud):
        return [replace(q, account=account.name) for q in registry.quota(account.cloud).quotas(account, offers)]


def _with_all_regions(account: Account, wanted: Sequence[Account]) -> Account:
    """The account, to be asked for the regions of all accounts of its cloud."""
    theirs = [a.regions for a in wanted if a.cloud == account.cloud]
    regions = dict.fromkeys(r for some in theirs for r in some) if all(theirs) else ()
    return replace(account, regions=tuple(regions))


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
