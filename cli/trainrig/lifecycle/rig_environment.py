"""The environment that a rig of the journal was made in: its accounts are where the rig is."""

from __future__ import annotations

from dataclasses import replace

from trainrig.errors import RigError
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.load_job import find_environment
from trainrig.store.journal import Rig


def in_own_environment(context: Context, rig: Rig, asked: str | None) -> Context:
    """The context for work on `rig`: `--env` where it was given, else the environment that the journal names, where it
    can still be found."""
    if asked:
        return context
    for name in (rig.details.get("environment_source"), rig.identity.environment):
        if name:
            try:
                return replace(context, environment=find_environment(name))
            except RigError:
                continue
    return context
