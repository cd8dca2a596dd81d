"""comment and diff on real plan folders."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.cli import Ran, trainrig
from support.fake_forge import github, serving
from support.schemas import check

pytestmark = pytest.mark.terraform

JOB = "name: tiny\nresources: {cpus: 1+}\nrun: 'true'\n"
Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("TRAINRIG_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    return lambda *words: trainrig(capsys, *words)


def test_one_comment_is_kept_up_to_date(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("plan", "job.yaml", "--out", "base").code == 0
    time.sleep(1)  # a plan's time has whole seconds
    assert cli("plan", "job.yaml", "--out", "plan", "--set", "num_nodes=2").code == 0
    dry = cli("comment", "plan", "--base", "base", "--dry-run").out
    assert "* Machines and the rest + create `module.rig.trainrig_local_node.node[1]`" in dry
    with serving() as server:
        for name, value in github(server).items():
            monkeypatch.setenv(name, value)
        said = [cli("comment", "plan").err for _ in range(2)]
        assert ["commented" in said[0], "left as it is" in said[1]] == [True, True]
        assert "a newer plan" in cli("comment", "base").err
        time.sleep(1)
        assert "comment 0 updated" in cli("comment", "plan", "--state", "destroyed").err
        assert "a newer plan" in cli("comment", "plan").err
        assert len(server.comments) == 1
        assert "nothing is left" in str(server.comments[0]["body"])
        assert cli("comment", "plan", "--state", "great").code == 64


def test_a_comment_is_settled_by_its_run_and_by_its_time(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("plan", "job.yaml", "--offline", "--out", "plan", "--run-id", "0a1b2c3d").code == 0
    with serving() as server:
        for name, value in github(server).items():
            monkeypatch.setenv(name, value)
        assert cli("comment", "plan").code == 0
        assert "no comment shows the run" in cli("comment", "--run-id", "0zzzzzzz", "--state", "destroyed").err
        assert "no comment is past its time" in cli("comment", "--expired").err
        late = datetime.now(UTC) + timedelta(hours=25)
        monkeypatch.setattr("trainrig.lifecycle.comment.utc_now", lambda: late)
        monkeypatch.setenv("GITHUB_REF", "refs/heads/main")  # a schedule has no pull request
        assert "comment 0 on tiny: expired" in cli("comment", "--expired").err
        assert ("GET", "/repos/team/train/issues/comments") in [seen[:2] for seen in server.seen]
        assert "plan again before it is applied" in str(server.comments[0]["body"])
        assert "no comment is past its time" in cli("comment", "--expired").err
        monkeypatch.setenv("GITHUB_REF", "refs/pull/12/merge")
        assert "comment 0 on tiny: destroyed" in cli("comment", "--run-id", "0a1b2c3d", "--state", "destroyed").err
        assert "nothing is left" in str(server.comments[0]["body"])
    assert cli("comment", "plan", "--expired").code == 64
    assert cli("comment").code == 64


def test_a_folder_that_was_changed_is_not_shown_as_the_plan(cli: Cli, tmp_path: Path) -> None:
    assert cli("plan", "job.yaml", "--out", "plan").code == 0
    (tmp_path / "plan" / "summary.md").write_text("all is well")
    assert cli("comment", "plan", "--dry-run").code == 13


def test_the_comment_prints_a_command_that_makes_this_plan_again(cli: Cli) -> None:
    said = ["--set", "num_nodes=2", "--offline", "--out", "plan", "--format", "json"]
    document = cli("plan", "job.yaml", *said).document
    digest, ceiling = document["digest"], document["cost"]["ceiling_hour_usd"]
    printed = re.findall(r"`(trainrig apply .*)`", cli("comment", "plan", "--dry-run").out)
    assert printed == [f"trainrig apply job.yaml --plan-digest {digest} --ceiling {ceiling} --set num_nodes=2"]


def test_a_job_of_options_is_applied_by_its_folder(cli: Cli) -> None:
    assert cli("plan", "--max-cost", "5", "--offline", "--out", "plan", "--", "python", "train.py").code == 0
    assert "`trainrig apply plan` applies this" in cli("comment", "plan", "--dry-run").out


def test_jobs_of_one_file_have_a_plan_and_a_comment_each(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: both\n---\nname: prepare\nrun: 'true'\n---\nname: train\nrun: 'true'\n")
    ran = cli("plan", "job.yaml", "--out", "plan", "--format", "json", "--offline", "--detailed-exitcode")
    assert ran.code == 2, ran.err
    documents = [json.loads(line) for line in ran.out.splitlines()]
    assert [(d["job"], d["root"]) for d in documents] == [
        ("prepare", "plan/prepare/root"),
        ("train", "plan/train/root"),
    ]
    for document in documents:
        check(document)
    shown = cli("comment", "plan", "--dry-run").out
    assert shown.count("<!-- trainrig") == 2
    assert "`trainrig apply plan/train`" in shown
    (tmp_path / "job.yaml").write_text("name: both\n---\nname: train\nrun: echo\n---\nname: other\nrun: 'true'\n")
    assert cli("plan", "job.yaml", "--out", "base", "--offline").code == 0
    compared = cli("comment", "plan", "--base", "base", "--dry-run").out
    assert compared.count("#### Against the base branch") == 1  # `prepare` is new
    assert "* Work ~ `command`: `echo` -> `true`" in compared
    refused = cli("apply", "plan", "--yes")
    assert (refused.code, "plan/prepare, plan/train" in refused.err) == (64, True)
    assert cli("plan", "job.yaml", "--offline", "--run-id", "0a1b2c3d").code == 64


def test_a_job_file_is_compared_between_two_revisions(cli: Cli, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    git("add", "job.yaml")
    git("commit", "-m", "one")
    (tmp_path / "job.yaml").write_text(JOB + "num_nodes: 2\n")
    git("commit", "-am", "two")
    ran = cli("diff", "HEAD~1", "HEAD", "--job", "job.yaml", "--format", "json", "--detailed-exitcode")
    assert ran.code == 2, ran.err
    check(ran.document)
    (new,) = ran.document["resources"]
    assert new["what"] == "Machines and the rest: module.rig.trainrig_local_node.node[1]"
    assert cli("diff", "HEAD", "HEAD", "--job", "job.yaml", "--detailed-exitcode").code == 0
    assert cli("diff", "HEAD", "--output=x", "--job", "job.yaml").code == 64
    assert cli("diff", "HEAD", "HEAD", "--job", "absent.yaml").code == 64
    (tmp_path / "job.yaml").write_text("name: both\n---\nrun: 'true'\n---\nrun: 'true'\n")
    git("commit", "-am", "three")
    assert "2 jobs at HEAD" in cli("diff", "HEAD~1", "HEAD", "--job", "job.yaml").err


@pytest.fixture
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process hides stays hidden in it."""
    monkeypatch.setattr("trainrig.console._secrets", set())


@pytest.mark.usefixtures("nothing_hidden")
def test_accounts_are_shown_unless_they_are_asked_to_be_hidden(cli: Cli, tmp_path: Path) -> None:
    environment = "clouds: {gcp: {account: {project: quiet-otter-4711}}}\nssh_ingress: [10.0.0.0/8]\n"
    (tmp_path / "team.yaml").write_text(environment)
    image = "projects/quiet-otter-4711/global/images/train-v1"
    resources = f"resources: {{infra: gcp, accelerators: 'A100:8', image_id: {image}}}\n"
    (tmp_path / "job.yaml").write_text(f"name: train\n{resources}run: 'true'\nexpected_hours: 1\n")
    ran = cli("plan", "job.yaml", "--env", "team.yaml", "--offline", "--out", "plan")
    assert ran.code == 0, ran.err
    assert "quiet-otter-4711" in cli("comment", "plan", "--dry-run").out
    hidden = cli("comment", "plan", "--dry-run", "--hide-accounts").out
    assert "quiet-otter-4711" not in hidden
    assert "projects/***/global/images/train-v1" in hidden
    assert cli("plan", "job.yaml", "--env", "team.yaml", "--offline", "--out", "other", "--hide-accounts").code == 0
    for name in ("plan.json", "placement.json", "summary.md", "plan.html"):
        assert ("quiet-otter-4711" in (tmp_path / "other" / name).read_text()) is False
    assert "quiet-otter-4711" in (tmp_path / "other" / "root" / "terraform.tfvars.json").read_text()


@pytest.mark.usefixtures("nothing_hidden")
def test_accounts_are_hidden_wherever_the_pipeline_says_so(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINRIG_HIDE_ACCOUNTS", "1")
    (tmp_path / "job.yaml").write_text(
        "name: train\nresources: {infra: gcp, accelerators: 'A100:8'}\nrun: 'true'\nexpected_hours: 1\n"
    )
    for folder, project in (("old", "quiet-otter-4711"), ("new", "loud-otter-4712")):
        environment = f"clouds: {{gcp: {{account: {{project: {project}}}}}}}\nssh_ingress: [10.0.0.0/8]\n"
        (tmp_path / "team.yaml").write_text(environment)
        ran = cli("plan", "job.yaml", "--env", "team.yaml", "--offline", "--out", folder, "--format", "json")
        assert (ran.code, project in ran.out + ran.err) == (0, False)
    found = cli("diff", "old", "new", "--format", "json")
    assert {"what": "account.project", "old": '"***"', "new": '"***"'} in found.document["values"]
