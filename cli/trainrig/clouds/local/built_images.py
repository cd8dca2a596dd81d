"""The images that `prepare` makes on this machine. Naming them needs no Docker."""

from __future__ import annotations

from trainrig.localcloud.recipe import NODE, PYTHON, host_suite


def machine() -> str:
    return NODE.reference(host_suite())


def container() -> str:
    return PYTHON.reference(host_suite())
