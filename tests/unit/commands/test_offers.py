from __future__ import annotations

import json

import pytest

from trainrig.app import run


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert run(["offers", "--format", "json", *words]) == 0
    offers = json.loads(capsys.readouterr().out)["offers"]
    assert isinstance(offers, list)
    return offers


def test_filters_leave_what_agrees_with_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--gpu", "a100:8", "--market", "spot", "--cloud", "aws", "--region", "us-east-1", "--max-price", "8"]

    found = listed(capsys, *words)

    assert [o["zone"] for o in found] == ["use1-az1", "use1-az6"]
    assert {(o["cloud"], o["gpu"], o["gpu_count"], o["market"]) for o in found} == {("aws", "A100", 8, "spot")}
    assert found[0]["flags"] == ["far_below_siblings"]


def test_a_gpu_is_not_another_that_sounds_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert {o["gpu"] for o in listed(capsys, "--gpu", "A100-80GB")} == {"A100-80GB"}
    assert {o["cloud"] for o in listed(capsys, "--gpu", "H100-NVL")} == {"azure", "runpod"}


def test_text_is_cheapest_first_and_says_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["offers", "--gpu", "A100:8", "--limit", "3"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert "not bought: less than a third" in lines[1]
    assert "more: --limit N" in lines[-1]


def test_a_gpu_that_is_mistyped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["offers", "--gpu", "A1000:8"]) == 64
    assert "did you mean A100" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cloud", "asw"], "--cloud asw: no such cloud\nhint: did you mean `aws`?"),
        (["--region", "us-east-11"], "--region us-east-11: no offer is from there\nhint: did you mean us-east-1"),
    ],
)
def test_a_cloud_or_a_region_that_is_mistyped(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["offers", *words]) == 64
    assert said in capsys.readouterr().err


def test_an_empty_list_says_which_option_empties_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["offers", "--gpu", "A100:3", "--cloud", "aws"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("no offer is like that; there are ")
    assert "without the count in --gpu" in out
    assert "without --cloud" not in out
