"""The CI run that a process is a step of, named by the address of its REST resource."""

from __future__ import annotations

import re
from collections.abc import Mapping


def current(env: Mapping[str, str]) -> str | None:
    """From the variables that GitHub Actions and GitLab CI set; None outside of both."""
    run, repository = env.get("GITHUB_RUN_ID", ""), env.get("GITHUB_REPOSITORY", "")
    if env.get("GITHUB_ACTIONS") == "true" and run.isdigit() and re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        return (
            f"{env.get('GITHUB_API_URL', 'https://api.github.com').rstrip('/')}/repos/{repository}/actions/runs/{run}"
        )
    project, number = env.get("CI_PROJECT_ID", ""), env.get("CI_PIPELINE_ID", "")
    if "CI_API_V4_URL" in env and project.isdigit() and number.isdigit():
        return f"{env['CI_API_V4_URL'].rstrip('/')}/projects/{project}/pipelines/{number}"
    return None
