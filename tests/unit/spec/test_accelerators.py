from __future__ import annotations

import pytest

from support.specs import job, options, problems
from trainrig.model.job import Amount, GpuRequest

A100, H100 = GpuRequest(name="A100", count=8), GpuRequest(name="H100", count=8)
BIG = Amount(value=80, at_least=True)


@pytest.mark.parametrize(
    ("written", "gpus", "ordered"),
    [
        ("A100:8", (A100,), False),
        ("A100", (GpuRequest(name="A100", count=1),), False),
        ("'A100:8'", (A100,), False),
        ("{A100: 8}", (A100,), False),
        ("{A100:8, H100:8}", (A100, H100), False),
        ("{'A100:8', 'H100:8'}", (A100, H100), False),
        ("{A100: 8, H100: 8}", (A100, H100), False),
        ("!!set {A100:8, H100:8}", (A100, H100), False),
        ("[A100:8, 'H100:8']", (A100, H100), True),
        ("T4:0.5", (GpuRequest(name="T4", count=1),), False),
        ("{T4: 0.5}", (GpuRequest(name="T4", count=1),), False),
        ("80GB", (GpuRequest(memory_gib=Amount(value=80), count=1),), False),
        ("80GB+", (GpuRequest(memory_gib=BIG, count=1),), False),
        ("80GB+:8", (GpuRequest(memory_gib=BIG, count=8),), False),
        ("NVIDIA:80GB+", (GpuRequest(memory_gib=BIG, count=1, vendor="NVIDIA"),), False),
        ("nvidia:80GB+:8", (GpuRequest(memory_gib=BIG, count=8, vendor="NVIDIA"),), False),
        ("{80GB+: 8}", (GpuRequest(memory_gib=BIG, count=8),), False),
        ("A100-80GB:4", (GpuRequest(name="A100-80GB", count=4),), False),
        ("RTX-PRO-6000", (GpuRequest(name="RTX-PRO-6000", count=1),), False),
    ],
)
@pytest.mark.parametrize("key", ["accelerators", "gpus"])
def test_every_form(key: str, written: str, gpus: tuple[GpuRequest, ...], ordered: bool) -> None:
    (option,) = options(f"{{{key}: {written}}}")
    assert (option.gpus, option.gpus_ordered) == (gpus, ordered)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("tpu-v2-8", "`tpu-v2-8` is not supported: trainrig rents GPUs, and a TPU is not one"),
        ("{tpu-v5p-8: 1}", "`tpu-v5p-8` is not supported: trainrig rents GPUs, and a TPU is not one"),
        ("A100:0", "`0` is not a number of GPUs"),
        ("A100:-1", "`-1` is not a number of GPUs"),
        ("A100:many", "`many` is not a number of GPUs"),
        ("{A100: 0}", "`0` is not a number of GPUs"),
        ("{'A100:8': 8}", "`A100:8` is not an accelerator and a count"),
        ("A100:8:8", "`A100:8:8` is not an accelerator and a count"),
        ("[]", "an empty list of accelerators"),
        ("{}", "an empty set of accelerators"),
        ("8", "an accelerator such as A100:8 is wanted here, not `8`"),
        ("[[A100]]", "an accelerator such as A100:8 is wanted here, not a list"),
        ("0GB", "0GB is not more than zero"),
    ],
)
def test_what_is_no_accelerator(written: str, said: str) -> None:
    (message,) = problems(f"run: x\nresources: {{accelerators: {written}}}\n")
    assert message.split(" ", 1)[1] == said


def test_one_key_under_two_names_is_refused() -> None:
    (message,) = problems("run: x\nresources: {accelerators: A100, gpus: A100}\n")
    assert message.endswith("`accelerators` and `gpus` are the same key")


@pytest.mark.parametrize(
    ("written", "name", "count"),
    [("Gaudi HL-205:8", "Gaudi-HL-205", 8), ("RTX PRO 6000", "RTX-PRO-6000", 1), (" A100 : 8 ", "A100", 8)],
)
def test_spaces_in_and_around_a_name(written: str, name: str, count: int) -> None:
    (option,) = job(f"run: x\nresources: {{accelerators: '{written}'}}\n").options
    assert [(g.name, g.count) for g in option.gpus] == [(name, count)]
