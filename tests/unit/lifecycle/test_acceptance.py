from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trainrig.lifecycle.acceptance import NO_GPU, Answers, Promise, judge

H100 = Promise(gpu="H100", gpu_count=2, gpu_memory_gib=80, driver="570.124.06", cuda="12.8", mounts=("s3://b",))
NONE = Promise(gpu=None, gpu_count=0, gpu_memory_gib=None, driver=None, cuda=None)


def gpu(index: int, **changes: str) -> dict[str, str]:
    return {
        "index": str(index),
        "name": "NVIDIA H100 80GB HBM3",
        "driver_version": "570.124.06",
        "memory.total": "81559",
        "ecc.errors.uncorrected.volatile.total": "0",
        **changes,
    }


PROBE: dict[str, Any] = {
    "gpus": [gpu(0), gpu(1)],
    "cuda": "12.8",
    "xid": [],
    "disk": {"free_bytes": 50 << 30, "free_inodes": 10**6, "write_bytes_per_second": 500 << 20},
    "docker": {"version": "28.2.2", "free_bytes": 50 << 30},
    "failed_units": [],
    "idle_units": [],
    "stopped_units": [],
    "heartbeat_seconds": 3,
    "mounts": {"s3://b": ""},
    "errors": {},
}
GOOD = Answers(
    probe=PROBE,
    skew_seconds=0.01,
    image_present=True,
    in_container={"how": "PyTorch 2.9", "gpus": 2, "all_reduce": "ok"},
    bucket="",
)


def verdicts(promise: Promise = H100, answers: Answers = GOOD, **probe: Any) -> dict[str, tuple[str, str]]:
    answers = replace(answers, probe={**answers.probe, **probe})
    return {c.name: (c.status, c.detail) for c in judge(promise, answers)}


def test_a_good_node_passes_every_check() -> None:
    assert {status for status, _ in verdicts().values()} == {"pass"}


def test_without_a_gpu_no_gpu_check_is_ever_passed() -> None:
    found = verdicts(NONE, gpus=None)
    for name in ("gpus", "driver", "cuda", "ecc", "xid", "cuda_call", "all_reduce"):
        assert found[name] == ("not_applicable", NO_GPU)
    assert found["mounts"] == ("not_applicable", "the job works on no bucket")
    assert found["disk"][0] == "pass"


@pytest.mark.parametrize(
    ("check", "probe", "words"),
    [
        ("gpus", {"gpus": [gpu(0)]}, "1 x NVIDIA H100 80GB HBM3, wanted 2 x H100"),
        ("gpus", {"gpus": [gpu(0), gpu(1, name="NVIDIA A100-SXM4-80GB")]}, "wanted 2 x H100"),
        ("gpus", {"gpus": None, "errors": {"gpus": "GPU is lost"}}, "GPU is lost"),
        ("driver", {"gpus": [gpu(0), gpu(1, driver_version="570.86.15")]}, "570.124.06, 570.86.15, pinned 570.124.06"),
        ("cuda", {"cuda": "12.4"}, "up to CUDA 12.4, pinned 12.8"),
        ("ecc", {"gpus": [gpu(0), gpu(1, **{"ecc.errors.uncorrected.volatile.total": "3"})]}, "GPU 1: 3"),
        ("xid", {"xid": ["NVRM: Xid (PCI:0000:1e:00): 79, GPU has fallen off the bus"]}, "fallen off the bus"),
        ("disk", {"disk": {"free_bytes": 1 << 20, "free_inodes": 9**9, "write_bytes_per_second": None}}, "0.0 GB free"),
        ("disk", {"disk": {"free_bytes": 1 << 40, "free_inodes": 5, "write_bytes_per_second": 1 << 30}}, "5 inodes"),
        ("disk", {"disk": {"free_bytes": 1 << 40, "free_inodes": 0, "write_bytes_per_second": None}}, "0 inodes"),
        ("disk", {"disk": {"free_bytes": 1 << 40, "free_inodes": 9**9, "write_bytes_per_second": 1 << 20}}, "1 MB/s"),
        (
            "disk",
            {
                "disk": {
                    "free_bytes": 1 << 40,
                    "free_inodes": 9**9,
                    "run_free_bytes": 100_000,
                    "write_bytes_per_second": 1 << 30,
                }
            },
            "0.1 MB free at /run",
        ),
        ("docker", {"docker": None, "errors": {"docker": "Cannot connect to the Docker daemon"}}, "Cannot connect"),
        ("docker", {"docker": {"version": "28.2.2", "free_bytes": 0}}, "0.0 GB free for images"),
        ("units", {"failed_units": ["docker.service", "cron.service"]}, "failed: docker.service"),
        (
            "units",
            {"failed_units": ["docker.service"], "idle_units": ["docker.service (failed)", "x.service (activating)"]},
            "failed: docker.service; not running: x.service (activating)",
        ),
        ("units", {"idle_units": None, "errors": {"idle_units": "systemctl timed out"}}, "systemctl timed out"),
        ("units", {"stopped_units": ["docker.service"]}, "stopped by a signal: docker.service"),
        ("units", {"stopped_units": None, "errors": {"stopped_units": "ps is gone"}}, "ps is gone"),
        ("mounts", {"mounts": {"s3://b": "rclone does not answer"}}, "s3://b: rclone does not answer"),
        ("mounts", {"mounts": {}}, "s3://b: the node does not know of it"),
        ("mounts", {"mounts": None, "errors": {"mounts": "KeyError"}}, "KeyError"),
        ("heartbeat", {"heartbeat_seconds": 61}, "the agent's last is 61 s old, 60 s are the most"),
        ("heartbeat", {"heartbeat_seconds": None, "errors": {"heartbeat_seconds": "it does not run"}}, "does not run"),
    ],
)
def test_a_fault_of_the_node_fails_its_check_with_what_was_found(check: str, probe: dict[str, Any], words: str) -> None:
    status, detail = verdicts(**probe)[check]
    assert status == "fail"
    assert words in detail


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (replace(GOOD, image_present=False, in_container=None), "not been delivered"),
        (replace(GOOD, image_present=False, in_container=None, probe={**PROBE, "docker": None}), "Docker does not say"),
    ],
)
def test_what_needs_an_image_that_is_not_there_is_neither_passed_nor_failed(answers: Answers, words: str) -> None:
    found = verdicts(answers=answers)
    for name in ("image", "cuda_call", "all_reduce"):
        assert found[name][0] == "not_applicable"
        assert words in found[name][1]


def test_another_image_under_the_name_of_the_jobs_is_not_taken_for_it() -> None:
    status, detail = verdicts(answers=replace(GOOD, image_other=True))["image"]
    assert (status, detail.startswith("another image")) == ("not_applicable", True)


@pytest.mark.parametrize(
    ("check", "answers", "words"),
    [
        ("clock", replace(GOOD, skew_seconds=-7.5), "-7.50 s"),
        ("bucket", replace(GOOD, bucket="AccessDenied"), "AccessDenied"),
        ("cuda_call", replace(GOOD, in_container={"error": "OSError: libcuda.so.1"}), "libcuda.so.1"),
        ("cuda_call", replace(GOOD, in_container={"how": "the CUDA driver", "gpus": 1}), "1 GPUs"),
        ("all_reduce", replace(GOOD, in_container={"gpus": 2, "all_reduce": "gave 1.0"}), "gave 1.0"),
    ],
)
def test_a_fault_around_the_node_fails_its_check(check: str, answers: Answers, words: str) -> None:
    status, detail = verdicts(answers=answers)[check]
    assert status == "fail"
    assert words in detail


@pytest.mark.parametrize(
    ("promised", "memory_gib", "name", "memory", "same"),
    [
        ("A100-80GB", 80, "NVIDIA A100-SXM4-80GB", "81920", True),
        ("A100", 40, "NVIDIA A100-SXM4-80GB", "81920", False),
        ("L4", 24, "NVIDIA L40S", "46068", False),
        ("L4", 24, "NVIDIA L4", "23034", True),
        ("RTX4090", 24, "NVIDIA GeForce RTX 4090", "24564", True),
        ("A10G", 24, "NVIDIA A10G", "23028", True),
    ],
)
def test_a_gpu_is_told_apart_by_name_and_memory(
    promised: str, memory_gib: float, name: str, memory: str, same: bool
) -> None:
    promise = replace(H100, gpu=promised, gpu_memory_gib=memory_gib)
    rows = [gpu(0, name=name, **{"memory.total": memory}), gpu(1, name=name, **{"memory.total": memory})]
    assert (verdicts(promise, gpus=rows)["gpus"][0] == "pass") is same


def test_what_is_not_there_is_not_applicable() -> None:
    answers = replace(GOOD, bucket=None, image_present=False)
    found = verdicts(answers=answers)
    assert found["bucket"][0] == found["image"][0] == "not_applicable"


def test_a_node_that_answers_nothing_passes_nothing_but_its_clock() -> None:
    found = verdicts(answers=replace(GOOD, probe={"errors": {}}, in_container=None, image_present=False, bucket=None))
    assert {name for name, (status, _) in found.items() if status == "pass"} == {"clock"}


def test_disks_that_are_left_alone_are_told_of() -> None:
    status, detail = verdicts(disks_left=["/dev/nvme1n1 (LVM2_member)"])["disk"]
    assert status == "pass"
    assert detail.endswith("; not used, since they carry something: /dev/nvme1n1 (LVM2_member)")
    countless = {"free_bytes": 1 << 40, "free_inodes": None, "write_bytes_per_second": 1 << 30}
    assert verdicts(disk=countless)["disk"][0] == "pass"
