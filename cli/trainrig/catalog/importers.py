"""Reads price lists of other tools. Text in, offers out; a row that is no offer is named, never a traceback."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from trainrig.catalog import import_gpuhunt, import_skypilot
from trainrig.catalog.imported import Refused, Row, RowRefused
from trainrig.errors import UsageError
from trainrig.model.offer import Offer


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """`format` is "skypilot" or "gpuhunt"."""

    format: str
    offers: tuple[Offer, ...]
    refused: tuple[Refused, ...]


def read(content: str, *, cloud: str, captured_at: datetime, name: str = "") -> Imported:
    """The offers of one cloud's file; `name` is what messages call it.

    Raises:
        UsageError: it is neither a SkyPilot vms.csv nor a gpuhunt CSV.
    """
    try:
        reader = csv.DictReader(io.StringIO(content), strict=True)
        columns = frozenset(reader.fieldnames or ())
        rows: list[tuple[int, Row]] = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UsageError(
            f"{name}: not a CSV file: {error}", hint="import a SkyPilot vms.csv or a gpuhunt CSV"
        ) from error
    if columns >= import_skypilot.COLUMNS:
        return _read("skypilot", import_skypilot.rows_of(rows, cloud), import_skypilot.offers_of, cloud, captured_at)
    if columns >= import_gpuhunt.COLUMNS:
        return _read("gpuhunt", rows, import_gpuhunt.offers_of, cloud, captured_at)
    raise UsageError(
        f"{name}: not a price list that trainrig knows",
        hint="import a SkyPilot vms.csv (InstanceType, AcceleratorName, ...) or a gpuhunt CSV (instance_name, ...)",
    )


def _read(
    form: str,
    rows: Iterable[tuple[int, Row]],
    offers_of: Callable[..., Iterator[Offer]],
    cloud: str,
    captured_at: datetime,
) -> Imported:
    found: dict[tuple[object, ...], Offer] = {}
    refused: list[Refused] = []
    for line, row in rows:
        try:
            offers = list(offers_of(row, cloud=cloud, captured_at=captured_at, source=f"{form}:import"))
        except RowRefused as error:
            refused.append(Refused(line=line, reason=str(error)))
            continue
        for offer in offers:
            key = (offer.region, offer.zone, offer.instance_type, offer.gpu, offer.market)
            if key in found:
                refused.append(Refused(line=line, reason="listed before"))
            else:
                found[key] = offer
    return Imported(format=form, offers=tuple(found.values()), refused=tuple(sorted(refused, key=lambda r: r.line)))
