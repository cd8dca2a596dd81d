"""A job spec, its environment, flags and `--set` to one Job. What is nearer to the user wins: `--set`, then flags, then
the job file, then the environment's defaults."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from trainrig.errors import Problem, UsageError
from trainrig.model.environment import Environment
from trainrig.model.job import Job, Pins
from trainrig.spec.build import build
from trainrig.spec.compose import compose, invalid
from trainrig.spec.from_flags import JobFlags
from trainrig.spec.load import JobSpec
from trainrig.spec.nodes import Map, Node, Scalar, Source, from_plain, position
from trainrig.spec.overlay import overlay

_DOT: Final = re.compile(r"(?<!\\)\.")


def resolve(
    spec: JobSpec, environment: Environment, overrides: Sequence[str] = (), flags: JobFlags | None = None
) -> Job:
    """Raises SpecInvalid, and UsageError for an override that is not KEY=VALUE."""
    root = spec.root
    if environment.defaults:
        root = overlay(_tree(dict(environment.defaults), environment.source or environment.name), root)
    for option, path, value in flags.keys() if flags else ():
        root = overlay(root, _nest(path, Scalar(text=value, plain=False, source=Source(file=option, text=value))))
    for override in overrides:
        root = overlay(root, parse_override(override))
    root = replace(root, source=spec.root.source)
    problems: list[Problem] = []
    job = build(root, default_name=spec.default_name, problems=problems)
    problems.extend(_policy(job, environment, root))
    if problems:
        raise invalid(spec.file, problems)
    pins = Pins(driver=job.pins.driver or environment.pins.driver, cuda=job.pins.cuda or environment.pins.cuda)
    return replace(job, pins=pins)


def parse_override(text: str) -> Map:
    """`resources.cpus=8+` as a tree; a dot inside of a key is written `\\.`."""
    path, equals, value = text.partition("=")
    keys = [part.replace("\\.", ".").strip() for part in _DOT.split(path)]
    if not equals or not all(keys):
        raise UsageError(f"--set {text!r} is not KEY=VALUE", hint="for example --set resources.cpus=8+")
    source = Source(file=f"--set {path}", text=value)
    documents = compose(value, source.file)
    node = documents[0] if documents else Scalar(text="", plain=True, source=source)
    if len(documents) > 1:
        raise UsageError(f"--set {text!r} has more than one value")
    return _nest(keys, node)


def _nest(path: Sequence[str], node: Node) -> Map:
    """The tree in which `node` is the only leaf."""
    for key in reversed(path):
        node = Map(entries=((Scalar(text=key, plain=False, source=node.source), node),), source=node.source)
    assert isinstance(node, Map)
    return node


def _tree(values: dict[str, Any], name: str) -> Map:
    node = from_plain(values, Source(file=name))
    assert isinstance(node, Map)
    return node


def _policy(job: Job, environment: Environment, root: Map) -> list[Problem]:
    """What the environment demands of a job before any offer is looked at."""
    found = []
    lease, most = job.lease_seconds or environment.lease_seconds, environment.max_lease_seconds
    if lease > most:
        message = f"a lease of {lease // 3600} h is longer than the {most // 3600} h that {environment.name} allows"
        found.append(Problem(message=message, where=position(root.get("lease") or root)))
    labels = set(environment.labels).union(*(o.labels for o in job.options))
    for label in environment.required_labels:
        if label not in labels:
            hint = f"resources: {{labels: {{{label}: ...}}}}"
            message = f"the environment {environment.name} requires the label {label}"
            found.append(Problem(message=message, where=position(root.get("resources") or root), hint=hint))
    return found
