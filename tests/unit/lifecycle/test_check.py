from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import gateway, object_store
from support.jobs import a_job
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import NotBuilt, PreflightFailed, UsageError
from trainrig.lifecycle import check
from trainrig.model.environment import CloudPolicy, Environment, StateBackend
from trainrig.model.job import Checkpoints, Job, Mount, MountMode
from trainrig.model.readiness import Check
from trainrig.tools import present

FINE = Check(name="identity", status="pass", detail="somebody")


class Module:
    def __init__(self, answer: Callable[[], Iterator[Check]]) -> None:
        self.answer = answer

    def checks(self, account: Account) -> Iterator[Check]:
        return self.answer()


@pytest.fixture
def clouds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Module]:
    found: dict[str, Module] = {}
    monkeypatch.setattr(registry, "checks", found.__getitem__)
    monkeypatch.setattr(present, "checks", lambda: iter([Check(name="terraform", status="pass", detail="1.11")]))
    return found


def test_a_cloud_that_hangs_holds_up_nobody(clouds: dict[str, Module]) -> None:
    release = threading.Event()

    def hang() -> Iterator[Check]:
        yield FINE
        release.wait(30)

    clouds["aws"], clouds["gcp"] = Module(hang), Module(lambda: iter([FINE]))
    began = time.monotonic()
    found = check.check([Account(cloud="aws"), Account(cloud="gcp")], patience_seconds=0.2)
    release.set()

    assert time.monotonic() - began < 10
    aws, gcp = found.clouds
    assert [c.name for c in aws.checks] == ["identity", "network"]
    assert aws.failure is not None
    assert "no answer within 0.2 s" in aws.failure.detail
    assert gcp.failure is None
    assert found.ready


def test_a_missing_sdk_is_a_reason_with_its_command(clouds: dict[str, Module]) -> None:
    def missing() -> Iterator[Check]:
        raise NotBuilt("aws: checks needs the Python package boto3", hint="pip install 'trainrig[aws]'")

    clouds["aws"] = Module(missing)
    found = check.check([Account(cloud="aws")])
    assert found.clouds[0].failure == Check(
        name="sdk",
        status="fail",
        detail="aws: checks needs the Python package boto3",
        mend="pip install 'trainrig[aws]'",
    )
    assert not found.ready


def test_an_error_of_ours_does_not_enable_a_cloud(clouds: dict[str, Module]) -> None:
    def broken() -> Iterator[Check]:
        raise KeyError("Arn")

    clouds["aws"] = Module(broken)
    failure = check.check([Account(cloud="aws")]).clouds[0].failure
    assert failure is not None
    assert "KeyError" in failure.detail


def test_the_environment_says_what_to_check() -> None:
    policy = CloudPolicy(cloud="aws", account={"profile": "training"}, regions=("us-east-1",))
    environment = Environment(name="team", clouds=(policy, CloudPolicy(cloud="gcp")))
    assert check.accounts(environment, ["aws"]) == [
        Account(cloud="aws", regions=("us-east-1",), settings={"profile": "training"})
    ]
    with pytest.raises(UsageError, match="no such cloud here"):
        check.accounts(environment, ["azure"])


def test_without_an_environment_all_clouds_are_checked() -> None:
    assert {"aws", "azure", "gcp", "local"} <= {a.cloud for a in check.accounts(None, ())}


def test_a_cloud_without_checks_is_not_taken_for_enabled(clouds: dict[str, Module]) -> None:
    (nebius,) = check.check([Account(cloud="nebius")]).clouds
    assert nebius.failure is not None
    assert nebius.failure.detail == "trainrig has no checks for this cloud yet"


class Buckets:
    """Stands for clouds/<cloud>/store.py."""

    def __init__(self, *missing: str) -> None:
        self.missing = missing
        self.asked: list[tuple[object, ...]] = []

    def access(
        self, account: Account, holder: str | None, name: str, *, region: str | None, endpoint: str | None
    ) -> str:
        self.asked.append((account.settings, holder, name, region, endpoint))
        if name in self.missing:
            raise PreflightFailed(f"there is no bucket {name}", hint="trainrig store apply")
        return "read and write"


def team(**changes: Any) -> Environment:
    clouds = (CloudPolicy(cloud="aws", account={"profile": "p"}), CloudPolicy(cloud="gcp"))
    return Environment(name="team", clouds=clouds, **changes)


@pytest.fixture
def buckets(clouds: dict[str, Module], monkeypatch: pytest.MonkeyPatch) -> Buckets:
    clouds["aws"] = clouds["gcp"] = Module(lambda: iter([FINE]))
    found = Buckets("gone")
    monkeypatch.setattr(registry, "store", lambda _cloud: found)
    has = registry.has
    monkeypatch.setattr(registry, "has", lambda cloud, name: name != "grants" and has(cloud, name))
    return found


def test_the_buckets_of_the_environment_are_looked_at(buckets: Buckets) -> None:
    state = StateBackend(kind="s3", settings={"bucket": "gone", "region": "us-west-2", "endpoint": "http://s3"})
    environment = team(checkpoint_store="gs://ckpt/llm", state=state)

    found = check.check(check.accounts(environment, ()), environment)

    assert sorted(buckets.asked, key=repr) == [
        ({"profile": "p"}, None, "gone", "us-west-2", "http://s3"),
        ({}, None, "ckpt", None, None),
    ]
    assert found.buckets == (
        Check(name="checkpoints: gs://ckpt", status="pass", detail="read and write"),
        Check(
            name="state: s3://gone",
            status="fail",
            detail="there is no bucket gone",
            mend="trainrig store apply --env team",
        ),
    )
    assert not found.ready


def test_only_buckets_of_the_clouds_that_are_asked_for(buckets: Buckets) -> None:
    environment = team(checkpoint_store="gs://gone/llm", state=StateBackend(kind="s3", settings={"bucket": "tf"}))
    found = check.check(check.accounts(environment, ["aws"]), environment)
    assert [b.name for b in found.buckets] == ["state: s3://tf"]
    assert found.ready


@pytest.mark.parametrize(("path", "status"), [("new/deep", "pass"), ("file/below", "fail")])
def test_a_folder_for_checkpoints_must_be_one_that_can_be_made(
    buckets: Buckets, tmp_path: Path, path: str, status: str
) -> None:
    (tmp_path / "file").touch()
    environment = team(checkpoint_store=f"file://{tmp_path}/{path}")
    (line,) = check.check(check.accounts(environment, ()), environment).buckets
    assert line.status == status


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with object_store.s3("127.0.0.1", {"ckpt": {}}) as url:
        yield url


def kept_in(url: str, **changes: Any) -> Job:
    return a_job(checkpoints=Checkpoints(path="/ckpt", store=url), **changes)


def test_the_store_of_a_job_is_tried_by_writing_there(buckets: Buckets, store: str) -> None:
    jobs = [kept_in("s3://ckpt/runs", s3_endpoint=store), kept_in("s3://gone/runs", s3_endpoint=store)]
    state = StateBackend(kind="s3", settings={"bucket": "tf"})
    environment = Environment(name="team", clouds=(CloudPolicy(cloud="aws"),), checkpoint_store="gs://x", state=state)
    with gateway.read_only(store) as refusing:
        jobs.append(kept_in("s3://ckpt/runs", s3_endpoint=refusing))
        found = check.check(check.accounts(environment, ()), environment, [*jobs, jobs[0]])
    told = {line.name: (line.status, line.detail) for line in found.buckets}
    assert list(told) == [
        "state: s3://tf",
        f"checkpoints: s3://ckpt/runs at {store}",
        f"checkpoints: s3://gone/runs at {store}",
        f"checkpoints: s3://ckpt/runs at {refusing}",
    ]
    fine, gone, refused = list(told.values())[1:]
    assert fine == ("pass", "write, replace, read, list and delete were tried")
    assert gone[0] == refused[0] == "fail"
    assert "NoSuchBucket" in gone[1]
    assert "AccessDenied" in refused[1]
    assert b"<Key>" not in object_store.send(f"{store}/ckpt")
    assert not found.ready


def test_a_folder_for_checkpoints_is_tried_where_it_is_there(buckets: Buckets, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    jobs = [kept_in(f"file://{tmp_path}/{name}") for name in ("there", "new")]
    environment = team(checkpoint_store="gs://unused")
    lines = check.check(check.accounts(environment, ()), environment, [*jobs, a_job()]).buckets
    assert [line.status for line in lines[:2]] == ["pass", "pass"]
    assert lines[0].detail == "write, replace, read, list and delete were tried"
    assert [p.name for p in tmp_path.rglob("*")] == ["there"]


def test_a_job_without_a_store_is_told_where_its_checkpoints_lie(buckets: Buckets) -> None:
    environment = team()
    (line,) = check.check(check.accounts(environment, ()), environment, [a_job()]).buckets
    assert (line.status, line.detail) == ("skip", "in the rig's folder on this machine: no store is named")


def test_a_cloud_that_lets_no_node_into_the_jobs_data_is_disabled_for_it(
    buckets: Buckets, clouds: dict[str, Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = Check(name="rights on gs://data", status="fail", detail="missing")
    asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    class Grants:
        def grants(self, _account: Account, urls: tuple[str, ...], images: tuple[str, ...]) -> Iterator[Check]:
            asked.append((urls, images))
            yield refused

    has = registry.has
    monkeypatch.setattr(registry, "has", lambda cloud, name: (cloud == "aws") if name == "grants" else has(cloud, name))
    monkeypatch.setattr(registry, "grants", lambda _cloud: Grants())
    environment = team(checkpoint_store="gs://team")
    mounts = (Mount(target="/w", source="gs://w", mode=MountMode.MOUNT), Mount(target="/r", source="gs://data/r"))
    job = kept_in("s3://ckpt", mounts=mounts, image="gcr.io/elsewhere/train:1")
    aws, gcp = check.check(check.accounts(environment, ()), environment, [job, job]).clouds
    assert asked == [(("s3://ckpt", "gs://w", "gs://data/r"), (job.image,))]
    assert aws.failure == refused
    assert (gcp.failure, gcp.checks[-1].name, gcp.checks[-1].status) == (None, f"image {job.image}", "skip")
    assert "registry_project: elsewhere" in gcp.checks[-1].detail
    asked.clear()
    check.check(check.accounts(environment, ()), environment)
    assert asked == [(("gs://team",), ())]
