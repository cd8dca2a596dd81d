"""A rendered root and the real Terraform in it, with nothing of the caller's own settings."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.rig_cases import Case
from trainrig.lifecycle.render_rig import render_rig
from trainrig.model.environment import Environment
from trainrig.model.job import Job, ResourceOption
from trainrig.tools import terraform_program


class Root:
    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder = folder
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        self.env = {**inherited, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1", **env}

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a command prints; a failure of the test when it ends with another code."""
        done = self.attempt(*arguments)
        assert done.returncode == code, f"terraform {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def attempt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [*terraform_program.find().argv, *arguments]
        return subprocess.run(argv, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False)

    def plan(self) -> dict[str, Any]:
        """The plan as JSON; its file stays, for `run("apply", "tfplan")`."""
        self.run("plan", "-input=false", "-out=tfplan")
        plan: dict[str, Any] = json.loads(self.run("show", "-json", "tfplan"))
        return plan

    def output(self, name: str) -> Any:
        return json.loads(self.run("output", "-json", name))


def render(case: Case, folder: Path, env: Mapping[str, str]) -> Root:
    job = Job(name=case.request.identity.name, options=(ResourceOption(),))
    render_rig(case.request, job=job, environment=Environment(name="test", clouds=()), out=folder)
    return Root(folder, env)
