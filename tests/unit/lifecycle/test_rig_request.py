from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from support import rigs
from trainrig.errors import Unplaceable
from trainrig.lifecycle.node_rights import gap_of
from trainrig.lifecycle.rig_request import bucket_of, rig_request
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import Checkpoints, Job, Mount, MountMode, ResourceOption
from trainrig.render.request import RigRequest


def make(job: Job, environment: Environment | None = None) -> RigRequest:
    return rig_request(
        job,
        environment or Environment(name="test", clouds=(CloudPolicy(cloud="aws", network={"vpc": "vpc-1"}),)),
        rigs.candidate(),
        identity=rigs.identity(),
        ssh_public_key=rigs.PUBLIC_KEY,
        ssh_ingress_cidrs=("203.0.113.7/32",),
    )


def test_a_node_may_write_below_its_runs_prefix_and_read_the_declared_buckets() -> None:
    request = make(
        Job(
            name="a",
            options=(ResourceOption(disk_gb=500, reservation="cr-1"),),
            mounts=(Mount(target="/data", source="s3://data/set"), Mount(target="/code", source="./src")),
            checkpoints=Checkpoints(path="/ckpt", store="s3://ckpt/team"),
        )
    )
    assert request.checkpoint_prefix == "s3://ckpt/team/abcd2345/"
    assert request.read_only_urls == ("s3://data/set",)
    assert (request.disk_gb, request.reservation) == (500, "cr-1")
    assert request.existing_network == {"vpc": "vpc-1"}


def test_a_store_behind_an_endpoint_is_opened_by_keys_and_no_right_of_a_cloud() -> None:
    checkpoints = Checkpoints(path="/ckpt", store="s3://ckpt/team")
    job = Job(name="a", options=(ResourceOption(),), checkpoints=checkpoints, s3_endpoint="https://minio.example")
    assert make(job).checkpoint_prefix is None
    offer, environment = rigs.candidate().offer, Environment(name="test", clouds=())
    assert bucket_of(job, environment, rigs.identity(), offer) == "s3://ckpt/team/abcd2345/"


def test_what_is_mounted_may_be_written_unless_the_job_says_that_it_only_reads() -> None:
    mounted = [
        ("s3://results/a/", MountMode.MOUNT, False),
        ("https://team.blob.core.windows.net/sets/b", MountMode.MOUNT_CACHED, False),
        ("s3://data/c", MountMode.MOUNT_CACHED, True),
        ("s3://data/d", MountMode.COPY, False),
        ("s3://results/a", MountMode.COPY, False),  # also read by itself: the right to write has it
        ("hf://team/model", MountMode.COPY, False),
        ("./here", MountMode.MOUNT, False),
    ]
    mounts = tuple(
        Mount(target=f"/{i}", source=source, mode=mode, read_only=read_only)
        for i, (source, mode, read_only) in enumerate(mounted)
    )
    job = Job(name="a", options=(ResourceOption(),), mounts=mounts, inputs={"s3://data/e": Decimal(3)})
    request = make(job)
    assert request.read_write_urls == ("az://team/sets/b", "s3://results/a")
    assert request.read_only_urls == ("s3://data/c", "s3://data/d", "s3://data/e")
    elsewhere = make(replace(job, s3_endpoint="https://minio.example"))
    assert (elsewhere.read_write_urls, elsewhere.read_only_urls) == (("az://team/sets/b",), ())


def test_a_node_pulls_by_its_own_identity_where_the_job_has_no_login() -> None:
    job = Job(name="a", options=(ResourceOption(),), image="123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1")
    assert make(job).container == job.image
    assert gap_of(make(job)) == ""
    assert make(replace(job, secrets={"SKYPILOT_DOCKER_USERNAME": "env:DOCKER_USER"})).container is None


def test_a_jobs_network_comes_before_the_environments() -> None:
    job = Job(name="a", options=(ResourceOption(),), network={"vpc": "vpc-2", "subnet": "subnet-2"})
    assert make(job).existing_network == {"vpc": "vpc-2", "subnet": "subnet-2"}


def test_the_lease_never_exceeds_the_environments() -> None:
    job = Job(name="a", options=(ResourceOption(),), lease_seconds=10**9)
    assert make(job).lease_seconds == 7 * 24 * 3600


def test_an_environments_ingress_comes_before_the_callers_address() -> None:
    job = Job(name="a", options=(ResourceOption(),))
    assert make(job).ssh_ingress_cidrs == ("203.0.113.7/32",)
    bastion = Environment(name="test", clouds=(), ssh_ingress=("10.0.0.0/8",))
    assert make(job, bastion).ssh_ingress_cidrs == ("10.0.0.0/8",)


def test_a_lock_beside_the_job_file_replaces_the_shipped_pins(tmp_path: Path) -> None:
    (tmp_path / "trainrig.lock").write_text("schema: trainrig.lock/1\nimages: []\n")
    job = Job(name="a", options=(ResourceOption(),), source=str(tmp_path / "job.yaml"))
    with pytest.raises(Unplaceable, match="no x86_64 machine image is locked for aws us-east-1"):
        make(job)
