"""Makes cli/trainrig/data/offers.csv from prices.csv and corrections.csv. See README.md here."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "cli"))

from trainrig.catalog import quality  # noqa: E402
from trainrig.catalog.normalise import gpu_of  # noqa: E402
from trainrig.catalog.snapshot import COLUMNS  # noqa: E402

OUT = ROOT / "cli" / "trainrig" / "data" / "offers.csv"

# File and commit -> the day of its prices, and what says so.
CAPTURED = {
    ("catalogs/v8/aws/vms.csv", "00148f2a"): "2025-12-01",  # lists p6-b300
    ("catalogs/v8/gcp/vms.csv", "006059e0"): "2025-10-01",  # from before the reservation prices were left out
    ("catalogs/v8/lambda/vms.csv", "0f407038"): "2025-10-01",  # lists B200
    ("catalogs/v8/nebius/vms.csv", "0082b043"): "2025-10-01",  # lists B200
    ("catalogs/v8/runpod/vms.csv", "01acdfd4"): "2025-10-01",
    ("catalogs/v7/runpod/vms.csv", "0727c2bd"): "2025-06-01",
    ("catalogs/v6/azure/vms.csv", "098741e7"): "2025-01-01",  # prices H100, lists neither H200 nor MI300X
    ("catalogs/v5/azure/vms.csv", "3f5f6971"): "2025-01-01",  # the same prices as v6
}
MARKETS = (("on_demand", "on_demand_usd_h"), ("spot", "spot_usd_h"))


def main() -> None:
    OUT.write_text(built(), encoding="utf-8")
    print(f"{OUT.relative_to(ROOT)}: {len(OUT.read_text().splitlines()) - 1} offers")  # noqa: T201


def built() -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows(), key=lambda r: [r[c] for c in COLUMNS]))
    return out.getvalue()


def rows() -> Iterator[dict[str, str]]:
    corrections = read("corrections.csv")
    seen = set()
    for price in read("prices.csv"):
        flags = corrected(price, corrections)
        if Decimal(price["gpu_count"]) % 1:
            continue  # a share of a GPU: an offer counts whole ones
        for market, column in MARKETS:
            if not price[column] and market == "spot":
                continue  # no spot market there; a missing on-demand price is an offer without a price
            key = (price["cloud"], price["region"], price["zone"], price["instance_type"], market)
            if key not in seen:
                seen.add(key)
                yield offer(price, market, price[column], flags if market == "on_demand" else "")


def read(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((HERE / name).read_text(encoding="utf-8").splitlines()))


def corrected(price: dict[str, str], corrections: list[dict[str, str]]) -> str:
    """Puts right what has a right value; returns the flag of a price that has none."""
    flag = ""
    for c in corrections:
        if (c["cloud"], c["instance_type"]) != (price["cloud"], price["instance_type"]):
            continue
        if c["region"] not in ("*", price["region"], price["zone"]):
            continue
        if c["correct_value"]:
            price[c["column"]] = c["correct_value"]
        else:
            flag = quality.OTHER_SKU
    return flag


def offer(price: dict[str, str], market: str, usd: str, flags: str) -> dict[str, str]:
    commit = price["source_commit"][:8]
    return {
        "cloud": price["cloud"],
        "region": price["region"],
        "zone": price["zone"],
        "instance_type": price["instance_type"],
        "gpu": gpu_of(price["cloud"], price["instance_type"], price["gpu"]),
        "gpu_count": price["gpu_count"],
        "gpu_memory_gib": price["gpu_memory_gib"],
        "vcpus": price["vcpus"],
        "memory_gib": price["memory_gib"],
        "market": market,
        "price_hour_usd": usd,
        "captured_at": CAPTURED[price["source_file"], commit],
        "source": f"skypilot-catalog {price['source_file'].removeprefix('catalogs/')}@{commit}",
        "flags": flags,
    }


if __name__ == "__main__":
    main()
