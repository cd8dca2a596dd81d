"""What lets a node pull its image from Artifact Registry, which also answers for gcr.io."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trainrig.render.references import split

# A project of a domain is written as a folder of it: example.com/project is example.com:project.
_PROJECT = r"(?:(?P<domain>[a-z0-9.-]+\.[a-z]+)/)?(?P<project>[a-z][a-z0-9-]+)"
_ARTIFACT = re.compile(rf"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/{_PROJECT}/(?P<name>[a-z0-9.-]+)/.+")
_CONTAINER = re.compile(rf"(?P<name>(?:(?P<location>us|eu|asia)\.)?gcr\.io)/{_PROJECT}/.+")
_LOCATIONS = {None: "us", "eu": "europe"}  # of gcr.io's repositories, where it is not the name of the host


def variables(container: str, account: Mapping[str, str]) -> dict[str, Any]:
    """Only in the environment's own project and the one that it names for images: to grant a right is itself one that
    nobody has in a project whose images everybody may read."""
    found = _repository(container)
    if found is None or found["project"] not in {account.get("project"), account.get("registry_project")}:
        return {}
    return {"artifact_repository": found}


def lacking(container: str, account: Mapping[str, str]) -> str:
    found = _repository(container)
    if found is None or variables(container, account):
        return ""
    return (
        f"the image lies in the project {found['project']}, where trainrig lets no node read. Fine if everybody may "
        f"read it; else set `account: {{registry_project: {found['project']}}}` in the environment, and each rig gets "
        f"roles/artifactregistry.reader on the repository {found['name']}; or give a login in the job's secrets "
        "(SKYPILOT_DOCKER_USERNAME, _PASSWORD, _SERVER)"
    )


def _repository(container: str) -> dict[str, str] | None:
    path = split(container)[0]
    found = _ARTIFACT.fullmatch(path) or _CONTAINER.fullmatch(path)
    if not found:
        return None
    project = ":".join(filter(None, (found["domain"], found["project"])))
    return {
        "project": project,
        "location": _LOCATIONS.get(found["location"], found["location"]),
        "name": found["name"],
    }
