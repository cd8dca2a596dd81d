"""Judges what nodes say of themselves against what was bought and pinned. Pure; verify.py asks the nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainrig.catalog import normalise
from trainrig.model.evidence import NodeCheck, Status
from trainrig.render.launch import UNIT

MIN_FREE_BYTES = 2 << 30
MIN_FREE_INODES = 10_000
MIN_RUN_BYTES = 16 << 20  # memory for secrets and scripts of a job; with less, systemd reloads nothing
MIN_WRITE_BYTES_PER_SECOND = 5 << 20  # below this something is wrong with the disk, whatever its class
MAX_SKEW_SECONDS = 2.0  # signatures of object stores allow minutes; logs of several nodes do not
MAX_HEARTBEAT_SECONDS = 60  # every 5 s; cloud, driver and Docker may take their time to answer the agent
MEMORY_TOLERANCE = 0.15  # what a driver keeps for itself
NO_GPU = "the offer has no GPU"


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """What a node must be. `driver` and `cuda` None: nothing is pinned."""

    gpu: str | None
    gpu_count: int
    gpu_memory_gib: float | None
    driver: str | None
    cuda: str | None
    mounts: tuple[str, ...] = ()  # URLs of the buckets that the job works on


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """What was learnt of one node. `probe` is the document of ansible/roles/base/files/probe.py; `in_container` is
    what the job's own container saw of the GPUs, see verify.py; `bucket` None: there is no bucket."""

    probe: Mapping[str, Any]
    skew_seconds: float
    image_present: bool
    in_container: Mapping[str, Any] | None
    bucket: str | None  # "" when write, read and delete worked, else what failed
    image_other: bool = False  # the node's image has no more than the name of the job's


def judge(promise: Promise, answers: Answers) -> tuple[NodeCheck, ...]:
    """All checks, in the order in which people should read them."""
    gpu_checks = (_gpus, _driver, _cuda, _ecc, _xid, _cuda_call, _all_reduce)
    checks: list[NodeCheck] = []
    for check in gpu_checks:
        name = check.__name__.strip("_")
        if promise.gpu_count == 0:
            checks.append(NodeCheck(name=name, status="not_applicable", detail=NO_GPU))
        else:
            checks.append(_made(check, promise, answers))
    others = (_disk, _docker, _image, _clock, _bucket, _mounts, _units, _heartbeat)
    return (*checks, *(_made(check, promise, answers) for check in others))


_Check = Callable[[Promise, Answers], tuple[Status, str]]


def _made(check: _Check, promise: Promise, answers: Answers) -> NodeCheck:
    status, detail = check(promise, answers)
    return NodeCheck(name=check.__name__.strip("_"), status=status, detail=detail)


def _verdict(good: bool, detail: str) -> tuple[Status, str]:
    return ("pass" if good else "fail"), detail


def _unknown(answers: Answers, part: str) -> tuple[Status, str]:
    why = answers.probe.get("error", "the node does not say")
    return "fail", str(answers.probe.get("errors", {}).get(part, why))


def _gpus(promise: Promise, answers: Answers) -> tuple[Status, str]:
    rows = answers.probe.get("gpus")
    if rows is None:
        return _unknown(answers, "gpus")
    wanted = f"{promise.gpu_count} x {promise.gpu}"
    found = (
        ", ".join(sorted({f"{sum(r['name'] == n for r in rows)} x {n}" for n in {r["name"] for r in rows}})) or "none"
    )
    good = len(rows) == promise.gpu_count and all(_is(promise, row) for row in rows)
    return _verdict(good, found if good else f"{found}, wanted {wanted}")


def _is(promise: Promise, row: Mapping[str, str]) -> bool:
    """Whether a driver's name and memory of a GPU are those of the offer: "NVIDIA A100-SXM4-80GB" is an A100-80GB."""
    if promise.gpu is None or normalise.canonical(row["name"]) == promise.gpu:
        return True
    family = promise.gpu.split("-")[0].lower()
    if not re.search(rf"(?<![a-z0-9]){re.escape(family)}(?![0-9])", row["name"].lower().replace("rtx ", "rtx")):
        return False
    if promise.gpu_memory_gib is None or not row["memory.total"].isdigit():
        return True
    return abs(int(row["memory.total"]) / 1024 / promise.gpu_memory_gib - 1) <= MEMORY_TOLERANCE


def _driver(promise: Promise, answers: Answers) -> tuple[Status, str]:
    rows = answers.probe.get("gpus")
    if not rows:
        return _unknown(answers, "gpus")
    found = ", ".join(sorted({r["driver_version"] for r in rows}))
    if promise.driver is None:
        return "pass", f"{found}, nothing is pinned"
    return _verdict(found == promise.driver, found if found == promise.driver else f"{found}, pinned {promise.driver}")


def _cuda(promise: Promise, answers: Answers) -> tuple[Status, str]:
    found = answers.probe.get("cuda")
    if found is None:
        return _unknown(answers, "cuda")
    if promise.cuda is None:
        return "pass", f"the driver runs up to CUDA {found}, nothing is pinned"
    good = _version(found) >= _version(promise.cuda)
    return _verdict(good, f"the driver runs up to CUDA {found}" + ("" if good else f", pinned {promise.cuda}"))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _ecc(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    rows = answers.probe.get("gpus")
    if rows is None:
        return _unknown(answers, "gpus")
    counts = {r["index"]: r["ecc.errors.uncorrected.volatile.total"] for r in rows}
    bad = [f"GPU {index}: {count}" for index, count in counts.items() if count.isdigit() and int(count)]
    if not any(c.isdigit() for c in counts.values()):
        return "not_applicable", "these GPUs do not count ECC errors"
    return _verdict(not bad, f"uncorrected errors: {', '.join(bad)}" if bad else "no uncorrected errors")


def _xid(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    lines = answers.probe.get("xid")
    if lines is None:
        return _unknown(answers, "xid")
    return _verdict(not lines, lines[-1] if lines else "no Xid errors since boot")


def _cuda_call(promise: Promise, answers: Answers) -> tuple[Status, str]:
    if not answers.image_present:
        return "not_applicable", _image(promise, answers)[1]
    seen = answers.in_container or {}
    if seen.get("error"):
        return "fail", str(seen["error"])
    count = seen.get("gpus")
    return _verdict(count == promise.gpu_count, f"{count} GPUs in the job's container, by {seen.get('how', 'nothing')}")


def _all_reduce(promise: Promise, answers: Answers) -> tuple[Status, str]:
    if promise.gpu_count == 1:
        return "not_applicable", "one GPU"
    if not answers.image_present:
        return "not_applicable", _image(promise, answers)[1]
    seen = (answers.in_container or {}).get("all_reduce")
    if seen is None:
        return "not_applicable", "the image has no PyTorch to run it with"
    return _verdict(seen == "ok", str(seen))


def _disk(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    disk = answers.probe.get("disk")
    if disk is None:
        return _unknown(answers, "disk")
    free, rate = disk["free_bytes"], disk["write_bytes_per_second"]
    if free < MIN_FREE_BYTES:
        return "fail", f"{free / 1e9:.1f} GB free, {MIN_FREE_BYTES / 1e9:.1f} GB are the least"
    if disk["free_inodes"] is not None and disk["free_inodes"] < MIN_FREE_INODES:
        return "fail", f"{disk['free_inodes']} inodes free"
    if disk.get("run_free_bytes", MIN_RUN_BYTES) < MIN_RUN_BYTES:
        return "fail", f"{disk['run_free_bytes'] / 1e6:.1f} MB free at /run, {MIN_RUN_BYTES / 1e6:.1f} MB are the least"
    left = answers.probe.get("disks_left") or ()
    unused = f"; not used, since they carry something: {', '.join(left)}" if left else ""
    said = f"{free / 1e9:.1f} GB free, writes {rate / 1e6:.0f} MB/s{unused}"
    return _verdict(rate >= MIN_WRITE_BYTES_PER_SECOND, said)


def _docker(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    docker = answers.probe.get("docker")
    if docker is None:
        return _unknown(answers, "docker")
    good = docker["free_bytes"] >= MIN_FREE_BYTES
    return _verdict(good, f"{docker['version']}, {docker['free_bytes'] / 1e9:.1f} GB free for images")


def _image(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    if answers.image_other:
        return "not_applicable", "another image has the name of the job's, which has not been delivered yet"
    if answers.image_present:
        return "pass", "the job's image is there"
    if answers.probe.get("docker") is None:
        return "not_applicable", "Docker does not say which images are there"
    return "not_applicable", "the job's image has not been delivered yet"


def _clock(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    skew = answers.skew_seconds
    return _verdict(abs(skew) <= MAX_SKEW_SECONDS, f"{skew:+.2f} s from this machine's clock")


def _bucket(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    if answers.bucket is None:
        return "not_applicable", "the nodes write to no bucket themselves"
    return _verdict(not answers.bucket, answers.bucket or "write, read and delete work with the node's own identity")


def _mounts(promise: Promise, answers: Answers) -> tuple[Status, str]:
    if not promise.mounts:
        return "not_applicable", "the job works on no bucket"
    found = answers.probe.get("mounts")
    if found is None:
        return _unknown(answers, "mounts")
    bad = {url: found.get(url, "the node does not know of it") for url in promise.mounts}
    said = [f"{url}: {why}" for url, why in bad.items() if why]
    return _verdict(not said, "; ".join(said) or f"{len(bad)} mounted, and answer")


def _units(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    parts = ("failed_units", "idle_units", "stopped_units")
    failed, still, stopped = (answers.probe.get(part) for part in parts)
    if failed is None or still is None or stopped is None:
        return _unknown(answers, next(part for part in parts if answers.probe.get(part) is None))
    # The job's own unit fails with the job, which may be about to be started again.
    ours = [u for u in failed if u.startswith(("trainrig-", "docker", "nvidia-", "srv-trainrig")) and u != UNIT]
    idle = [u for u in still if u.split()[0] not in ours]
    found = {"failed": ours, "not running": idle, "stopped by a signal": stopped}
    said = [f"{what}: {', '.join(units)}" for what, units in found.items() if units]
    return _verdict(not said, "; ".join(said) or "all of ours run, and none has failed")


def _heartbeat(promise: Promise, answers: Answers) -> tuple[Status, str]:  # noqa: ARG001
    age = answers.probe.get("heartbeat_seconds")
    if age is None:
        return _unknown(answers, "heartbeat_seconds")
    good = age <= MAX_HEARTBEAT_SECONDS
    return _verdict(
        good, f"the agent's last is {age} s old" + ("" if good else f", {MAX_HEARTBEAT_SECONDS} s are the most")
    )
