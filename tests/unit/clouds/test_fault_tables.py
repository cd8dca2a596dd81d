"""Real error texts, as Terraform's diagnostics carry them, against the closed fault table of their cloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.clouds import registry
from trainrig.model.fault import FaultClass, classify, zones_named

TEXTS = Path(__file__).parent / "fault_texts"
CLOUDS = ("aws", "gcp", "azure")


def cases(cloud: str) -> list[tuple[FaultClass, str]]:
    """`class | text` a line."""
    lines = (line.partition(" | ") for line in (TEXTS / f"{cloud}.txt").read_text("utf-8").splitlines())
    return [(FaultClass(fault), text) for fault, _, text in lines]


def text_with(cloud: str, word: str) -> str:
    return next(text for _, text in cases(cloud) if word in text)


@pytest.mark.parametrize(
    ("cloud", "expected", "text"),
    [
        pytest.param(cloud, fault, text, id=f"{cloud}-{fault}-{text[:40]}")
        for cloud in CLOUDS
        for fault, text in cases(cloud)
    ],
)
def test_error_text_has_its_class(cloud: str, expected: FaultClass, text: str) -> None:
    fault, meaning = classify(text, registry.facts(cloud).faults)
    assert fault is expected, meaning


@pytest.mark.parametrize(
    ("cloud", "word", "named"),
    [
        ("aws", "UnauthorizedOperation", "ec2:RunInstances"),
        ("aws", "not authorized to perform: iam", "iam:CreateRole"),
        ("gcp", "Quota 'NVIDIA_A100_GPUS'", "NVIDIA_A100_GPUS"),
        ("gcp", "Required 'compute", "compute.instances.create"),
        ("azure", "exceeding approved standard", "standardNCADSA100v4Family Cores"),
        ("azure", "AuthorizationFailed", "Microsoft.Compute/virtualMachines/write"),
    ],
)
def test_meaning_names_the_permission_or_the_quota(cloud: str, word: str, named: str) -> None:
    assert named in classify(text_with(cloud, word), registry.facts(cloud).faults)[1]


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        ("map[vmType:g2-standard-4 zone:us-central1-b zonesAvailable:us-central1-a,us-central1-f]", ["a", "f"]),
        ('{"zonesAvailable": "us-central1-c", "zone": "us-central1-b"}', ["c"]),
        ('{"zonesAvailable": "", "zone": "us-central1-b"}', []),
        ("Consider trying your request in the us-central1-a, us-central1-f zone(s)", ["a", "f"]),
        ("The zone 'projects/p/zones/us-central1-a' does not have enough resources available", []),
    ],
)
def test_zones_that_a_stock_out_names(text: str, zones: list[str]) -> None:
    assert list(zones_named(text, registry.facts("gcp").zones_named)) == [f"us-central1-{z}" for z in zones]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_unknown_error_says_so(cloud: str) -> None:
    assert classify("the moon is full", registry.facts(cloud).faults)[0] is FaultClass.UNCLASSIFIED


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_class_has_a_rule_and_a_real_text(cloud: str) -> None:
    wanted = set(FaultClass) - {FaultClass.UNCLASSIFIED}
    assert {r.fault for r in registry.facts(cloud).faults} == wanted
    assert {fault for fault, _ in cases(cloud)} == wanted
