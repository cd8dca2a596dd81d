"""The `trainrig.placement/1` document and back. Its JSON Schema is data/schemas/placement-1.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from trainrig.model import money
from trainrig.model.clock import iso
from trainrig.model.offer import Market, Offer
from trainrig.model.placement import (
    Candidate,
    CatalogStamp,
    CostParts,
    Notice,
    Placement,
    Rejection,
    RejectionCode,
)

SCHEMA = "trainrig.placement/1"
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def to_document(placement: Placement) -> dict[str, Any]:
    """The document of a complete placement."""
    stamp = placement.catalog
    return {
        "schema": SCHEMA,
        "job": placement.job,
        "catalog": {
            "digest": stamp.digest,
            "captured_at": None if stamp.captured_at is None else iso(stamp.captured_at),
            "age_hours": stamp.age_hours,
            "offers": stamp.offers,
        },
        "chosen": None if placement.chosen is None else candidate_document(placement.chosen),
        "fallbacks": [candidate_document(c) for c in placement.fallbacks],
        "rejections": [rejection_document(r) for r in placement.rejections],
        "warnings": [{"code": w.code, "detail": w.detail} for w in placement.warnings],
    }


def lines(placement: Placement) -> Iterator[str]:
    """The same document as text, a rejection a line, so that 80,000 of them are neither held at once nor indented."""
    document = to_document(replace(placement, rejections=()))
    before = {key: document[key] for key in ("schema", "job", "catalog", "chosen", "fallbacks")}
    yield json.dumps(before, ensure_ascii=False, indent=2).removesuffix("\n}") + ',\n  "rejections": ['
    separator = "\n    "
    for r in placement.rejections:
        yield separator + _ENCODER.encode(rejection_document(r))
        separator = ",\n    "
    warnings = json.dumps(document["warnings"], ensure_ascii=False)
    yield f'\n  ],\n  "warnings": {warnings}\n}}\n'


def rejection_document(r: Rejection) -> dict[str, Any]:
    return {"offer": offer_document(r.offer), "code": r.code.value, "detail": r.detail}


def candidate_document(c: Candidate) -> dict[str, Any]:
    offer = offer_document(c.offer)
    return {
        **offer,
        "nodes": c.nodes,
        "expected_hours": float(c.expected_hours),
        "expected_cost_usd": money.text(c.expected_cost_usd),
        "parts": {f.name: money.text(getattr(c.parts, f.name)) for f in fields(CostParts)},
        "breakeven_hours": None if c.breakeven_hours is None else float(c.breakeven_hours),
        "image": c.image,
        "account": c.account or None,
        "reasons": list(c.reasons),
    }


def offer_document(o: Offer) -> dict[str, Any]:
    return {
        "cloud": o.cloud,
        "region": o.region,
        "zone": o.zone,
        "instance_type": o.instance_type,
        "gpu": o.gpu,
        "gpu_count": o.gpu_count,
        "gpu_memory_gib": o.gpu_memory_gib,
        "vcpus": o.vcpus,
        "memory_gib": o.memory_gib,
        "local_disk_gb": o.local_disk_gb,
        "market": o.market.value,
        "price_hour_usd": None if o.price_hour_usd is None else price_text(o.price_hour_usd),
        "captured_at": _iso(o.captured_at),
        "source": o.source,
        "flags": list(o.flags),
    }


_iso = cache(iso)  # a catalogue has few moments and many offers


def price_text(price: Decimal) -> str:
    """All digits of a price, at least two after the point: `"2.4655"`, `"98.32"`, `"3.00"`."""
    plain = f"{price:f}"
    whole, _point, part = plain.partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"


def from_document(document: Mapping[str, Any]) -> Placement:
    """The placement that `to_document` wrote.

    Raises:
        KeyError, ValueError: it is not one.
    """
    if document.get("schema") != SCHEMA:
        raise ValueError(f"not a {SCHEMA} document: {document.get('schema')!r}")
    stamp = document["catalog"]
    return Placement(
        job=document["job"],
        catalog=CatalogStamp(
            digest=stamp["digest"],
            captured_at=None if stamp["captured_at"] is None else datetime.fromisoformat(stamp["captured_at"]),
            age_hours=stamp["age_hours"],
            offers=stamp["offers"],
        ),
        chosen=None if document["chosen"] is None else candidate_from(document["chosen"]),
        fallbacks=tuple(candidate_from(c) for c in document["fallbacks"]),
        rejections=tuple(
            Rejection(offer=offer_from(r["offer"]), code=RejectionCode(r["code"]), detail=r["detail"])
            for r in document["rejections"]
        ),
        warnings=tuple(Notice(code=w["code"], detail=w["detail"]) for w in document["warnings"]),
    )


def candidate_from(c: Mapping[str, Any]) -> Candidate:
    return Candidate(
        offer=offer_from(c),
        nodes=c["nodes"],
        expected_hours=Decimal(str(c["expected_hours"])),
        parts=CostParts(**{f.name: Decimal(c["parts"][f.name]) for f in fields(CostParts)}),
        breakeven_hours=None if c["breakeven_hours"] is None else Decimal(str(c["breakeven_hours"])),
        image=c["image"],
        account=c.get("account") or "",
        reasons=tuple(c["reasons"]),
    )


def offer_from(o: Mapping[str, Any]) -> Offer:
    return Offer(
        cloud=o["cloud"],
        region=o["region"],
        zone=o["zone"],
        instance_type=o["instance_type"],
        gpu=o["gpu"],
        gpu_count=o["gpu_count"],
        gpu_memory_gib=o["gpu_memory_gib"],
        vcpus=o["vcpus"],
        memory_gib=o["memory_gib"],
        local_disk_gb=o["local_disk_gb"],
        market=Market(o["market"]),
        price_hour_usd=None if o["price_hour_usd"] is None else Decimal(o["price_hour_usd"]),
        captured_at=datetime.fromisoformat(o["captured_at"]),
        source=o["source"],
        flags=tuple(o["flags"]),
    )
