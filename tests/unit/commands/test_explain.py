from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainrig.app import run
from trainrig.reports.placement_json import from_document

TEAM = "clouds:\n  aws: {}\n  gcp: {}\n"
JOB = """
name: finetune
resources:
  accelerators: A100:8
  use_spot: true
  any_of:
    - infra: aws/us-east-1
    - infra: gcp/us-central1
expected_hours: 10
run: python train.py
"""


@pytest.fixture
def team(tmp_path: Path) -> str:
    path = tmp_path / "team.yaml"
    path.write_text(TEAM)
    return str(path)


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "finetune.yaml"
    path.write_text(JOB)
    return str(path)


def test_the_text_has_the_choice_its_bill_the_rest_and_the_reasons(
    job: str, team: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", job, "--env", team]) == 0

    out, err = capsys.readouterr()
    assert out.startswith("finetune: aws/us-east-1/use1-az6 p4d.24xlarge (A100:8)\n")
    assert "total" in out
    assert "gcp/us-central1/us-central1-a" in out
    assert "bad_price" in out
    assert "[spot_without_checkpoints]" in out
    assert err == ""


def test_each_rejection_is_listed_when_asked_for(job: str, team: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", job, "--env", team, "--format", "json"]) == 0
    placement = from_document(json.loads(capsys.readouterr().out))
    assert run(["explain", job, "--env", team, "--rejected"]) == 0
    lines = capsys.readouterr().out.splitlines()

    first = lines.index("Not these:") + 2
    rows = lines[first : lines.index("", first)]
    assert [row.split()[0] for row in rows].count("bad_price") == sum(
        r.code == "bad_price" for r in placement.rejections
    )
    assert len(rows) == len(placement.rejections)
    assert rows[0].split()[:4] == ["bad_price", "aws/us-east-1/use1-az1", "p4d.24xlarge", "A100:8"]
    assert rows[-1].startswith("  cloud_not_allowed")


def test_json_is_one_document_that_lists_every_offer(job: str, team: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", job, "--env", team, "--format", "json"]) == 0

    placement = from_document(json.loads(capsys.readouterr().out))
    listed = len(placement.candidates) + len(placement.rejections)
    assert listed == placement.catalog.offers > 1000


def test_markdown_for_a_pull_request(job: str, team: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", job, "--env", team, "--format", "md"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("### finetune: p4d.24xlarge (A100:8) on aws/us-east-1/use1-az6\n")
    assert "| part | USD |" in out


def test_without_a_file_and_over_the_budget(team: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--gpu", "H100:8", "--max-cost", "40", "--timeout", "10h", "--env", team]

    assert run(["explain", *flags, "--", "torchrun", "train.py"]) == 5

    out, err = capsys.readouterr()
    assert out.startswith("train: no offer fits\n")
    assert "rejected for budget" in err
    assert "the job's budget is $40.00" in err


def test_an_unplaceable_job_in_json_is_a_placement_without_a_choice(
    team: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "--gpu", "H100:999", "--env", team, "--format", "json", "--", "x"]) == 5

    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "trainrig.placement/1"
    assert document["chosen"] is None
