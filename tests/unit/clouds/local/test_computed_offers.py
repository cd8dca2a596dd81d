from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from trainrig.clouds.local import computed_offers
from trainrig.clouds.local.computed_offers import slices
from trainrig.errors import MissingTool
from trainrig.model.offer import Market
from trainrig.model.process import Command, Outcome

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def two_h100(command: Command, *, check: bool = True) -> Outcome:
    return Outcome(returncode=0, stdout="NVIDIA H100 80GB HBM3, 81559\n" * 2, stderr="", seconds=0)


def no_driver(command: Command, *, check: bool = True) -> Outcome:
    raise MissingTool("nvidia-smi is not on PATH")


def test_a_big_machine_has_three_sizes() -> None:
    assert [(s.name, s.cores, s.memory_gib) for s in slices(cores=16, memory_gib=62.7)] == [
        ("local.small", 1, 2.0),
        ("local.half", 8, 31.0),
        ("local.full", 16, 62.5),
    ]


def test_sizes_that_would_be_the_same_are_one() -> None:
    assert [(s.name, s.cores, s.memory_gib) for s in slices(cores=1, memory_gib=3.9)] == [
        ("local.small", 1, 1.5),
        ("local.full", 1, 3.5),
    ]


def test_gpus_come_in_powers_of_two_and_all() -> None:
    with_gpus = [s for s in slices(cores=24, memory_gib=96, gpu_count=3) if s.gpus]
    assert [(s.name, s.cores, s.memory_gib) for s in with_gpus] == [
        ("local.gpu1", 8, 32.0),
        ("local.gpu2", 16, 64.0),
        ("local.gpu3", 24, 96.0),
    ]


def test_offers_of_a_machine_with_gpus() -> None:
    found = list(computed_offers.offers(two_h100, NOW))
    gpu = [o for o in found if o.gpu]
    assert {(o.gpu, o.gpu_count, o.gpu_memory_gib) for o in gpu} == {("H100", 1, 80), ("H100", 2, 80)}
    assert {o.market for o in found} == {Market.SPOT, Market.ON_DEMAND}
    assert all(o.captured_at == NOW for o in found)


def test_the_smallest_slice_is_the_cheapest() -> None:
    prices = [s.price_hour_usd(Market.SPOT) for s in slices(cores=2, memory_gib=24)]
    assert prices == sorted(set(prices))


def test_every_offer_has_a_price_and_spot_is_cheaper() -> None:
    found = list(computed_offers.offers(no_driver, NOW))
    assert not any(o.gpu for o in found)
    price = {(o.instance_type, o.market): o.price_hour_usd for o in found}
    for name in {o.instance_type for o in found}:
        spot, on_demand = price[name, Market.SPOT], price[name, Market.ON_DEMAND]
        assert spot is not None
        assert on_demand is not None
        assert Decimal(0) < spot < on_demand
