"""EC2 quotas: vCPUs of running instances per family and market, in each region.

Codes are those of the Service Quotas console. The SDK is imported where it is needed, since placement asks `needed` on
the way to an answer that takes milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from trainrig.clouds.base import Account
from trainrig.model.offer import Market, Offer
from trainrig.model.quota import Quota, QuotaNeed

STANDARD = "standard"
# Family -> (on-demand code, spot code)
CODES = {
    STANDARD: ("L-1216C47A", "L-34B43A08"),
    "g": ("L-DB2E81BA", "L-3819A6DF"),
    "p": ("L-417A185B", "L-7212CCBC"),
    "p5": ("L-417A185B", "L-C4BD4855"),
    # AWS publishes no code for P6 spot that we know of: such an offer is "quota unknown", which is said.
    "p6": ("L-417A185B", "spot-p6"),
    "trn": ("L-2C3B7624", "L-6B0D517C"),
    "inf": ("L-1945791B", "L-B5D1601B"),
    "dl": ("L-6E869C2A", "L-85EED4F7"),
    "f": ("L-74FC7D96", "L-88CF9481"),
    "x": ("L-7295265B", "L-E3A00192"),
}
_PREFIXES = {"g": "g", "gr": "g", "vt": "g", "trn": "trn", "inf": "inf", "dl": "dl", "f": "f", "x": "x"}


def family_of(instance_type: str) -> str:
    """`p4d.24xlarge` -> `p`, `p5en.48xlarge` -> `p5`, `g6e.xlarge` -> `g`, `m7i.large` -> `standard`."""
    found = re.match(r"([a-z]+)(\d+)", instance_type)
    if found is None:
        return STANDARD
    letters, generation = found[1], int(found[2])
    if letters == "p":
        return "p" if generation <= 4 else f"p{generation}"
    return _PREFIXES.get(letters, STANDARD)


def code_of(instance_type: str, market: Market) -> str:
    family = family_of(instance_type)
    on_demand, spot = CODES.get(family, CODES["p"] if family.startswith("p") else CODES[STANDARD])
    return spot if market is Market.SPOT else on_demand


def needed(offer: Offer, nodes: int) -> Sequence[QuotaNeed]:
    """vCPUs of the family. What is reserved already is counted already."""
    if offer.market is Market.RESERVED:
        return ()
    code = code_of(offer.instance_type, offer.market)
    return (QuotaNeed(code=code, amount=Decimal(str(offer.vcpus)) * nodes, region=offer.region),)


def quotas(account: Account, offers: Sequence[Offer]) -> Iterator[Quota]:
    """Limit and use of each quota that these offers count against."""
    from concurrent.futures import ThreadPoolExecutor

    from trainrig.clouds.aws.session import translated

    wanted: dict[str, dict[str, Market]] = {}
    for offer in offers:
        for need in needed(offer, 1):
            wanted.setdefault(need.region, {})[need.code] = offer.market
    with translated(account), ThreadPoolExecutor(max_workers=8) as pool:
        for found in pool.map(partial(_in_region, account), *zip(*sorted(wanted.items()), strict=True)):
            yield from found


def _in_region(account: Account, region: str, codes: Mapping[str, Market]) -> list[Quota]:
    from trainrig.clouds.aws.session import client

    used = vcpus_in_use(client(account, "ec2", region))
    service_quotas = client(account, "service-quotas", region)
    return [
        Quota(
            cloud="aws",
            region=region,
            code=code,
            unit="vcpus",
            market=market,
            limit=limit_of(service_quotas, code),
            used=used.get(code, Decimal(0)),
        )
        for code, market in sorted(codes.items())
    ]


def limit_of(service_quotas: Any, code: str) -> Decimal | None:
    """The account's own value, else AWS's default; None when AWS has no such quota."""
    missing = service_quotas.exceptions.NoSuchResourceException
    for ask in (service_quotas.get_service_quota, service_quotas.get_aws_default_service_quota):
        try:
            return Decimal(str(ask(ServiceCode="ec2", QuotaCode=code)["Quota"]["Value"]))
        except missing:
            continue
    return None


def vcpus_in_use(ec2: Any) -> dict[str, Decimal]:
    """By quota code. Stopped instances do not count for EC2."""
    used: dict[str, Decimal] = {}
    states = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    for page in ec2.get_paginator("describe_instances").paginate(Filters=states):
        for instance in (i for r in page["Reservations"] for i in r["Instances"]):
            market = Market.SPOT if instance.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND
            cpu = instance.get("CpuOptions", {})
            code = code_of(instance["InstanceType"], market)
            used[code] = used.get(code, Decimal(0)) + cpu.get("CoreCount", 0) * cpu.get("ThreadsPerCore", 1)
    return used
