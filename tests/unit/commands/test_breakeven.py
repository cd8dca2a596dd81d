from __future__ import annotations

import json

import pytest

from trainrig.app import run

WORDS = ["breakeven", "--data-gb", "150", "--egress-gb-usd", "0.09", "--price-from", "1.10", "--price-to", "0.40"]


def test_the_inflection_point(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(WORDS) == 0
    assert capsys.readouterr().out == ("moving 150 GB costs $13.50 and saves $0.70 an hour: it pays after 19.3 hours\n")


@pytest.mark.parametrize(
    ("free_gb", "usd", "hours"), [("0", "13.50", 19.3), ("100", "4.50", 6.4), ("1024", "0.00", 0.0)]
)
def test_a_free_allowance_moves_it(free_gb: str, usd: str, hours: float, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*WORDS, "--free-gb", free_gb, "--format", "json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert (document["egress_usd"], document["breakeven_hours"]) == (usd, hours)


def test_a_machine_that_is_not_cheaper_never_pays(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*WORDS[:-1], "1.10"]) == 0
    assert "never pays" in capsys.readouterr().out


def test_what_is_not_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*WORDS[:-1], "cheap"]) == 64
    assert "--price-to cheap: a number is wanted, zero or more" in capsys.readouterr().err


def test_a_missing_option_points_to_the_help_of_its_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["breakeven"]) == 64
    assert "hint: trainrig breakeven --help" in capsys.readouterr().err
