"""What Azure sells now: GPU sizes that this subscription may buy, with retail prices.

Offers are regional: Azure prices by region, and a zone is no wish of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import requests

from trainrig.clouds.azure.session import compute, translated
from trainrig.clouds.azure.sizes import size_of
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, PreflightFailed
from trainrig.model.clock import utc_now
from trainrig.model.offer import Market, Offer

SOURCE = "azure:api"
RETAIL_PRICES = "https://prices.azure.com/api/retail/prices"

Prices = Mapping[tuple[str, Market], Decimal]  # (size, market) -> USD an hour


def offers(account: Account) -> Iterator[Offer]:
    now = utc_now()
    by_region: dict[str, list[Any]] = {}
    for sku in gpu_skus(account):
        for location in sku.locations or []:
            by_region.setdefault(location.lower(), []).append(sku)
    if account.regions:
        by_region = {region: skus for region, skus in by_region.items() if region in account.regions}
    with ThreadPoolExecutor(max_workers=4) as pool:
        for (region, skus), prices in zip(by_region.items(), pool.map(retail_prices, by_region), strict=True):
            for sku in skus:
                yield from _offers(sku, region, prices, now)


def gpu_skus(account: Account) -> Iterator[Any]:
    """GPU sizes without a restriction on this subscription. Unfiltered, the answer holds all regions at once."""
    filters: list[str | None] = [f"location eq '{region}'" for region in account.regions]
    with translated():
        for wanted in filters or [None]:
            for sku in compute(account).resource_skus.list(filter=wanted):
                if sku.resource_type == "virtualMachines" and size_of(sku.name or "") and not _closed(sku):
                    yield sku


def _closed(sku: Any) -> bool:
    """Whether the whole location is closed to this subscription; a closed zone alone still leaves the others."""
    return any(r.type == "Location" for r in sku.restrictions or [])


def _offers(sku: Any, region: str, prices: Prices, now: datetime) -> Iterator[Offer]:
    size = size_of(sku.name)
    assert size is not None  # gpu_skus
    told = {c.name: c.value for c in sku.capabilities or []}
    count = size.gpu_count or int(told.get("GPUs", 0))
    if count < 1:
        return
    markets = [Market.ON_DEMAND] + ([Market.SPOT] if told.get("LowPriorityCapable") == "True" else [])
    for market in markets:
        yield Offer(
            cloud="azure",
            region=region,
            zone=None,
            instance_type=sku.name,
            gpu=size.gpu,
            gpu_count=count,
            gpu_memory_gib=size.gpu_memory_gib,
            vcpus=float(told.get("vCPUs", 0)),
            memory_gib=float(told.get("MemoryGB", 0)),
            market=market,
            price_hour_usd=prices.get((sku.name.lower(), market)),
            captured_at=now,
            source=SOURCE,
            local_disk_gb=int(told.get("MaxResourceVolumeMB", 0)) // 1024,
        )


def retail_prices(region: str, size: str | None = None) -> dict[tuple[str, Market], Decimal]:
    """(size in lower case, market) -> Linux price, of one size or of all with a GPU. The retail price list is public
    and needs no credentials.

    Raises:
        PreflightFailed: it cannot be reached.
        CommandFailed: it answers with an error.
    """
    wanted = (
        f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '{region}' and "
        + (f"armSkuName eq '{size}'" if size else "contains(armSkuName, 'Standard_N')")
    )
    items: list[Mapping[str, Any]] = []
    page: str | None = RETAIL_PRICES
    query: dict[str, str] | None = {"$filter": wanted, "currencyCode": "USD"}
    try:
        while page:
            answer = requests.get(page, params=query, timeout=(5, 30))
            answer.raise_for_status()
            found = answer.json()
            items += found.get("Items", [])
            page, query = found.get("NextPageLink"), None  # the link holds the query
    except (requests.ConnectionError, requests.Timeout) as error:
        raise PreflightFailed(
            f"azure: no answer from {RETAIL_PRICES}", hint="check the network and any proxy"
        ) from error
    except (requests.HTTPError, requests.JSONDecodeError) as error:
        raise CommandFailed(f"azure: retail prices of {region}: {error}", details={"cloud": "azure"}) from error
    return prices_of(items)


def prices_of(items: Iterable[Mapping[str, Any]]) -> dict[tuple[str, Market], Decimal]:
    """Windows, Low Priority and reservation rows are other products; a zero is a placeholder."""
    found: dict[tuple[str, Market], Decimal] = {}
    for item in items:
        name = str(item.get("skuName", ""))
        if item.get("unitOfMeasure") != "1 Hour" or "Low Priority" in name or "reservationTerm" in item:
            continue
        if str(item.get("productName", "")).endswith("Windows"):
            continue
        try:
            price = Decimal(str(item.get("retailPrice")))
        except InvalidOperation:
            continue
        if price > 0:
            market = Market.SPOT if name.endswith(" Spot") else Market.ON_DEMAND
            found[str(item.get("armSkuName", "")).lower(), market] = price
    return found
