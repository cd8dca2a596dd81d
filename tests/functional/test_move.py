"""A running job is taken to a cheaper place, for real; prices change as a price list that is imported changes them."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from support.program import Program, last_document, left_of
from support.schemas import check
from trainrig.model.money import cents
from trainrig.store import ledger
from trainrig.store.journal import Journal

EXAMPLES = Path(__file__).parents[2] / "examples"
JOB = ("run", "examples/hello.yaml", "--format", "json", "--set", "envs.STEPS=400")
# Nobody trains for as long as this job says: so that a nominal price is worth a move.
MOVES = (
    *("--set", "envs.PACE_SECONDS=0.2", "--set", "expected_hours=10", "--set", "checkpoints.save_signal=SIGTERM"),
    *("--set", "recovery.move={min_saving: 0.01, wait: 5s, max_moves: 1}"),
)
# `local.half` was more than twice as dear on spot than `local.small`, where the job comes up.
CHEAPER = """InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region
local.half,,0,1,4,0.011,0.0005,local
"""

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]


@pytest.fixture
def program(isolated: Path, tmp_path: Path) -> Program:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    (tmp_path / "local.csv").write_text(CHEAPER)
    return Program(isolated, tmp_path)


def test_a_job_that_moves_while_its_supervisor_is_killed_ends_as_if_it_had_stayed(program: Program) -> None:
    stayed = last_document(program.run(*JOB, "--set", "envs.PACE_SECONDS=0").stdout)
    assert (stayed["end"], stayed["moves"]) == ("done", 0)

    started = program.start(*JOB, *MOVES)
    started.wait_for("checkpoint 000001-000002 is safe")
    assert program.run("offers", "import", "local.csv").returncode == 0
    started.wait_for("run: move: local local local.half spot costs 0.0005 USD an hour instead of 0.0048")
    started.process.kill()
    started.wait()

    resumed = program.run("resume", "hello", "--format", "json")
    assert resumed.returncode == 0, resumed.stderr
    assert "resume from checkpoint 000001-" in resumed.stderr
    document = last_document(resumed.stdout)
    check(document)
    assert document["outputs"] == stayed["outputs"]  # bit for bit: a loss with all of its digits
    assert (document["moves"], document["recoveries"], document["clean"]) == (1, 0, True)
    assert left_of(document["run_id"]) == []

    before, after = document["attempts"]
    assert (before["instance_type"], after["instance_type"]) == ("local.small", "local.half")
    assert before["reason"].startswith("moved: local local local.half spot")
    assert (before["fault"], after["reason"], after["price_hour_usd"]) == (None, "", "0.0005")
    told = program.run("status", "hello", "--cost").stdout
    assert "moved: local local local.half spot" in told
    adds_up(program, document)


def adds_up(program: Program, document: dict[str, Any]) -> None:
    """To the cent, each attempt at the price of when it began; and no two rigs at once."""
    journal = Journal(program.home)
    try:
        charges = ledger.charges(journal, document["run_id"])
        ended = [c.ended_at for c in charges]
        assert all(ended)
        first, second = charges
        assert first.ended_at is not None
        assert first.ended_at <= second.started_at
        lines = [c.usd(c.started_at) for c in charges]
        assert sum(lines, Decimal(0)) == Decimal(document["cost_usd"])
        for charge, line in zip(charges, lines, strict=True):
            assert line == cents(charge.price_hour_usd * charge.seconds(charge.started_at) / 3600)
        moving = [h.data for h in journal.happenings(document["run_id"], ("moving",))]
        assert [(m["generation"], m["to"]) for m in moving] == [(1, 1)]
    finally:
        journal.close()
