"""The environment that a rig of the journal was made in: its accounts are where the rig is."""

from __future__ import annotations

import json
from dataclasses import replace

from trainrig.errors import RigError
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.load_job import find_environment
from trainrig.model.codec import build
from trainrig.model.environment import Environment
from trainrig.store.journal import Rig


def in_own_environment(context: Context, rig: Rig, asked: str | None) -> Context:
    """The context for work on `rig`: of `--env` where it was given, else of the copy in the rig's folder, else of the
    environment that has the name which the journal holds."""
    if asked:
        return context
    try:
        text = (context.rig_dir(rig.identity).path / "environment.json").read_text(encoding="utf-8")
        return replace(context, environment=build(Environment, json.loads(text)))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        return replace(context, environment=find_environment(rig.identity.environment))
    except RigError:
        return context
