from __future__ import annotations

import pytest

from trainrig.model.pipeline import current

GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "team/train", "GITHUB_RUN_ID": "42"}
GITLAB = {"CI_API_V4_URL": "https://git.example/api/v4", "CI_PROJECT_ID": "7", "CI_PIPELINE_ID": "8"}


@pytest.mark.parametrize(
    ("env", "run"),
    [
        (GITHUB, "https://api.github.com/repos/team/train/actions/runs/42"),
        ({**GITHUB, "GITHUB_API_URL": "https://ghe.example/api/v3/"},
         "https://ghe.example/api/v3/repos/team/train/actions/runs/42"),
        (GITLAB, "https://git.example/api/v4/projects/7/pipelines/8"),
        ({**GITHUB, "GITHUB_RUN_ID": "../../evil"}, None),
        ({**GITHUB, "GITHUB_ACTIONS": ""}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_a_run_is_named_by_its_address(env: dict[str, str], run: str | None) -> None:
    assert current(env) == run
