"""From one document's tree to a Job: reads the tables, joins what belongs together, checks keys against each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from trainrig.errors import Problem
from trainrig.model.job import (
    EVENTS,
    Checkpoints,
    Guard,
    Guards,
    Job,
    Mount,
    MoveWishes,
    Notify,
    Pins,
    PlacementWishes,
    Recovery,
)
from trainrig.model.rig import digest_of
from trainrig.spec.compose import without_lines
from trainrig.spec.job_forms import read_variables
from trainrig.spec.mounts import declared_sizes, read_bucket, read_mounts, substitute
from trainrig.spec.nodes import Bad, Map, Node, problem, to_plain
from trainrig.spec.resources import CONTAINER, Hardware, read_resources
from trainrig.spec.schema import JOB
from trainrig.spec.tables import Values

_FILLED: Final = frozenset({"workdir", "file_mounts", "storage"})  # keys into which variables are filled
_REFERENCES: Final = ("env:", "file:")


def build(root: Map, *, default_name: str, problems: list[Problem], draft: bool = False) -> Job:
    """Problems are collected, not raised. A `draft` may lack the values of variables that are null in the file."""
    env = _env(root)
    values = JOB.read(_filled(root, env), problems)
    if not draft:
        _require(values, env, problems)
    resources = values.get("resources")
    hardware = read_resources(resources, problems) if resources is not None else Hardware()
    workdir, ref, start_in = _workdir(values, problems)
    image: str | None = values.get("image", hardware.container)
    name = values.get("name", default_name)
    mounts = _mounts(values, start_in, problems)
    job = Job(
        name=name,
        options=hardware.options,
        ordered=hardware.ordered,
        nodes=values.get("num_nodes", 1),
        workdir=workdir,
        workdir_ref=ref,
        start_in=start_in,
        image=image.removeprefix(CONTAINER) if image else None,
        container_options=_container_options(values),
        setup=values.get("setup"),
        run=values.get("run"),
        launch=values.get("launch"),
        env={k: v for k, v in env.items() if v is not None},
        secrets={k: _reference(k, v) for k, v in values.get("secrets", {}).items()},
        mounts=mounts,
        inputs=_unmounted(values, mounts, problems),
        s3_endpoint=values.get("s3_endpoint"),
        metrics=values.get("metrics", False),
        checkpoints=_checkpoints(values),
        outputs=values.get("outputs", {}),
        budget_usd=values.get("budget"),
        deadline=values.get("deadline"),
        timeout_seconds=values.get("timeout"),
        expected_hours=values.get("expected_hours"),
        placement=_placement(values),
        pins=_pins(values),
        recovery=_recovery(values, hardware.recovery, problems),
        notify=_notify(values),
        guards=_guards(values),
        lease_seconds=values.get("lease"),
        network=values.get("network", {}),
        source=root.source.file,
        digest=_digest(root, name),
    )
    if problems and isinstance(secrets := root.get("secrets"), Map):
        problems[:] = without_lines(problems, {value.line for _, value in secrets})
    return job


def _env(root: Map) -> dict[str, str | None]:
    """The variables; empty when they cannot be read, which the table says in its own time."""
    node = root.get("envs")
    try:
        return read_variables(node) if isinstance(node, Map) else {}
    except Bad:
        return {}


def _filled(root: Map, env: Mapping[str, str | None]) -> Map:
    known = {k: v for k, v in env.items() if v is not None}
    entries = tuple((k, substitute(v, known) if k.text in _FILLED else v) for k, v in root)
    return replace(root, entries=entries)


def _require(values: Values, env: Mapping[str, str | None], problems: list[Problem]) -> None:
    node = values.node.get("envs")
    for name in (n for n, value in env.items() if value is None):
        at = (node.key(name) if isinstance(node, Map) else None) or values.node
        problems.append(problem(at, f"the variable {name} needs a value", f"--set envs.{name}=VALUE"))


def _workdir(values: Values, problems: list[Problem]) -> tuple[str | None, str | None, str | None]:
    """Local path or git URL, git ref, and the directory in the container where the job starts.

    Beside `storage`, an absolute `workdir` is where the bucket is mounted, and no folder of this machine.
    """
    given = values.get("workdir")
    if not isinstance(given, Values):
        if "storage" in values:
            problems.append(problem(values.at("storage"), "`storage` is mounted at `workdir`, which is not given"))
        return None, None, None
    path: str | None = given.get("path")
    if "storage" not in values:
        return path or given.get("url"), given.get("ref"), None
    if path is None or not path.startswith("/"):
        message = "`storage` is mounted at `workdir`, which must be an absolute path"
        problems.append(problem(values.at("workdir"), message, "or use `file_mounts` for the bucket"))
    return None, None, path


def _mounts(values: Values, start_in: str | None, problems: list[Problem]) -> tuple[Mount, ...]:
    """What is mounted, with the sizes that `inputs` declares. `inputs` alone is data that the job reads by itself."""
    mounts: tuple[Mount, ...] = ()
    if (node := values.get("file_mounts")) is not None:
        mounts = read_mounts(node, problems)
    storage = values.get("storage")
    if isinstance(storage, Map):
        mounts = (*mounts, read_bucket(start_in or "/", storage, problems))
    elif storage is not None:
        problems.append(problem(storage, "`storage` must be a mapping"))
    return declared_sizes(mounts, _inputs(values))


def _inputs(values: Values) -> dict[str, Decimal]:
    return {url.rstrip("/"): gb for url, gb in values.get("inputs", {}).items()}


def _unmounted(values: Values, mounts: tuple[Mount, ...], problems: list[Problem]) -> dict[str, Decimal]:
    """Data that the job reads by itself, with GB: `inputs` that no mount brings."""
    mounted = {(m.source or "").rstrip("/") for m in mounts}
    found = {url: gb for url, gb in _inputs(values).items() if url not in mounted}
    for url in found:
        if "://" not in url:
            message = f"`{url}` is neither the URL of a store nor a source in `file_mounts`"
            problems.append(problem(values.at("inputs"), message, "for example inputs: {s3://BUCKET/DATA: 150}"))
    return found


def _reference(name: str, value: str | None) -> str:
    """`env:NAME`, `file:PATH` or `value:TEXT`."""
    if value is None:
        return f"env:{name}"
    return value if value.startswith(_REFERENCES) else f"value:{value}"


def _container_options(values: Values) -> tuple[str, ...]:
    config = values.get("config")
    docker = config.get("docker") if isinstance(config, Values) else None
    options: tuple[str, ...] = docker.get("run_options", ()) if isinstance(docker, Values) else ()
    return options


def _checkpoints(values: Values) -> Checkpoints | None:
    given = values.get("checkpoints")
    if not isinstance(given, Values) or "path" not in given:
        return None
    interval = given.get("interval")
    return Checkpoints(
        path=given.get("path"),
        interval_minutes=None if interval is None else Decimal(interval) / 60,
        size_gb=given.get("size"),
        save_signal=given.get("save_signal"),
        resume=given.get("resume", "resume"),
        keep=given.get("keep", 3),
        store=given.get("store"),
    )


def _notify(values: Values) -> Notify | None:
    given = values.get("notify")
    if not isinstance(given, Values) or "webhook" not in given:
        return None
    return Notify(webhook=given.get("webhook"), events=given.get("events", EVENTS))


def _guards(values: Values) -> Guards:
    given = values.get("guards")
    if not isinstance(given, Values):
        return Guards()

    def guard(name: str, key: str) -> Guard | None:
        one = given.get(name)
        if not isinstance(one, Values) or key not in one:
            return None
        return Guard(limit=one.get(key), do=one.get("do", "warn"))

    return Guards(idle=guard("idle", "after"), silence=guard("silence", "after"), disk=guard("disk", "above"))


def _placement(values: Values) -> PlacementWishes:
    given = values.get("placement")
    if not isinstance(given, Values):
        return PlacementWishes()
    return PlacementWishes(
        profile=given.get("profile", "balanced"),
        fallbacks=given.get("fallbacks"),
        same=given.get("same", "zone"),
        egress_usd_per_gb=given.get("egress_usd_per_gb"),
    )


def _pins(values: Values) -> Pins:
    given = values.get("pins")
    return Pins(driver=given.get("driver"), cuda=given.get("cuda")) if isinstance(given, Values) else Pins()


def _recovery(values: Values, inherited: Recovery, problems: list[Problem]) -> Recovery:
    """`recovery`, or SkyPilot's `job_recovery` inside of `resources`."""
    given = values.get("recovery")
    if not isinstance(given, Values):
        return inherited
    if inherited != Recovery():
        problems.append(problem(given.node, "`recovery` and `job_recovery` say the same thing", "keep `recovery`"))
    return Recovery(
        max_recoveries=given.get("max_recoveries"),
        on_exit_codes=given.get("on_exit_codes", ()),
        max_restarts_on_errors=given.get("max_restarts_on_errors", 0),
        strategy=given.get("strategy"),
        move=_move(given),
    )


def _move(recovery: Values) -> MoveWishes | None:
    given = recovery.get("move")
    if not isinstance(given, Values) or not given.get("wanted", True):
        return None
    return MoveWishes(
        min_saving_usd=given.get("min_saving", MoveWishes().min_saving_usd),
        wait_seconds=given.get("wait", MoveWishes().wait_seconds),
        max_moves=given.get("max_moves"),
    )


def _digest(root: Map, name: str) -> str:
    """Of the tree as written and merged: the same on every machine and for every layout of the file."""
    plain = {"name": name, **to_plain(root)}
    if isinstance(plain.get("secrets"), dict):
        plain["secrets"] = sorted(plain["secrets"])
    return digest_of(json.dumps(plain, sort_keys=True))


def root_mapping(node: Node, problems: list[Problem]) -> Map:
    """The document as a mapping; an empty one, and a problem, when it is something else."""
    if isinstance(node, Map):
        return node
    problems.append(problem(node, "a job file is a mapping of keys, such as `run: python train.py`"))
    return Map(entries=(), source=node.source)
