"""The node image of the local cloud and the role that configures it say the same, so that a warm node is left alone."""

from __future__ import annotations

import json
from typing import Any

import yaml

from trainrig import assets
from trainrig.localcloud.recipe import DAEMON_JSON

ROLE = assets.path("ansible") / "roles" / "container_runtime"


def load(path: str) -> Any:
    return yaml.safe_load((ROLE / path).read_text(encoding="utf-8"))


def test_the_images_docker_daemon_is_configured_as_the_role_would() -> None:
    (laid,) = (task["node_files"] for task in load("tasks/main.yml") if "node_files" in task)
    (daemon,) = (f for f in laid["files"] if f["path"] == "/etc/docker/daemon.json")
    assert daemon["content"].endswith("| to_json }}\n")
    assert json.dumps(load("defaults/main.yml")["container_runtime_daemon"]) == DAEMON_JSON
