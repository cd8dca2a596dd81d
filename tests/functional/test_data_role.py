"""Buckets and files on a real node, by the distribution's rclone, from an S3 server on the node's network."""

from __future__ import annotations

import hashlib
import random
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import gateway, nodes, object_store, plan_policy, rigs, s3_policy
from support.apt_repo import served
from support.jobs import a_job, an_offer
from support.rig_cases import Case
from support.standin.serve import serve
from support.terraform_root import render
from trainrig import assets
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import ConfigureFailed, StoreFailed
from trainrig.lifecycle import collect, deliver, job_control, node_rights
from trainrig.lifecycle.checkpoint_courier import TheNodes
from trainrig.lifecycle.configure import configure, lay_secrets
from trainrig.lifecycle.verify import accept, verify
from trainrig.localcloud import machine
from trainrig.model.events import silent
from trainrig.model.evidence import NodeCheck
from trainrig.model.job import Job, Mount, MountMode
from trainrig.recovery.checkpoint import FileEntry, Manifest
from trainrig.render.inventory import inventory, role_variables
from trainrig.render.launch import Launch
from trainrig.store.checkpoint_bucket import CheckpointBucket
from trainrig.tools.ansible import run_playbook
from trainrig.tools.ssh import Ssh

pytestmark = [pytest.mark.docker, pytest.mark.slow]

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "s3cret \"'$\\"}
OFFER = an_offer()
ROLE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {name: data}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    ssh: Ssh
    image: str
    store: str
    job: Job
    playbook: Path

    def converge(self, job: Job) -> list[str]:
        """The role alone: each module call costs a second here. The tasks that changed something."""
        base = yaml.safe_load((assets.path("ansible") / "roles/base/vars/main.yml").read_text())
        own = {"base_lib": base["base_lib"], "base_check": "", "base_apt_lock_seconds": 60}
        variables = {**role_variables(job, OFFER, self.image), **own}
        hosts = inventory(self.ssh.nodes, variables, ssh_config=self.ssh.config)
        recap = run_playbook(self.playbook, hosts, directory=self.ssh.rig / "ansible", observe=silent)
        return [task for _, task in recap.changed]

    def sh(self, line: str) -> str:
        return self.ssh.run(self.ssh.nodes[0], ["sh", "-c", line], timeout_seconds=60).stdout.strip()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if not machine.FUSE.exists():
        pytest.skip("needs /dev/fuse")
    rig, web = tmp_path_factory.mktemp("rig"), tmp_path_factory.mktemp("web")
    (web / "words.txt").write_text("one two\n")
    image = registry.built_images("local").container()
    data = {"set/a.txt": b"a", "set/sub/b.txt": b"b" * 100_000, "single.bin": b"single"}
    with (
        nodes.booted(rig) as booted,
        object_store.s3(nodes.gateway(booted[0]), {"data": data, "work": {"old.txt": b"old"}}) as store,
        served(web, nodes.gateway(booted[0])) as url,
    ):
        mounts = (
            Mount(target="/data", source="s3://data/set/"),
            Mount(target="/one", source="s3://data/single.bin"),
            Mount(target="/words", source=f"{url}/words.txt"),
            Mount(target="/work", source="s3://work", mode=MountMode.MOUNT),
            Mount(target="/late", source="s3://work/late", mode=MountMode.MOUNT_CACHED),
            Mount(target="/seen", source="s3://data/set", mode=MountMode.MOUNT_CACHED, read_only=True),
        )
        run = """cat /data/a.txt /one /words /work/old.txt /seen/a.txt
            echo new > /work/new.txt; echo later > /late/new.txt; ! touch /seen/x"""
        job = a_job(run=run, mounts=mounts, s3_endpoint=store)
        ssh = configure(rig, job, OFFER, booted, image, silent, secrets=KEYS)
        roles = tmp_path_factory.mktemp("roles") / "ansible"
        shutil.copytree(assets.path("ansible"), roles)
        playbook = roles / "playbooks" / "configure.yml"
        playbook.write_text(ROLE)
        yield Bench(ssh=ssh, image=image, store=store, job=job, playbook=playbook)
        ssh.close()


def checked(checks: tuple[NodeCheck, ...], name: str) -> tuple[str, str]:
    return next((c.status, c.detail) for c in checks if c.name == name)


def test_what_is_there_is_not_brought_again(bench: Bench) -> None:
    assert bench.sh("cd /srv/trainrig/mounts; cat 0/a.txt 1 2; stat -c %s 0/sub/b.txt") == "asingleone two\n100000"
    assert bench.converge(bench.job) == []
    bench.sh("rm /srv/trainrig/mounts/0/a.txt")
    assert bench.converge(bench.job) == ["data : Copy what the job reads"]


def test_no_key_of_the_store_lies_on_the_nodes_disk(bench: Bench) -> None:
    assert bench.sh("grep -rl s3cret /etc /usr/local /srv/trainrig /var/lib/trainrig || true") == ""
    assert bench.sh("stat -c '%a %U' /run/trainrig/data.json; stat -f -c %T /run/trainrig") == "600 root\ntmpfs"


def test_the_nodes_own_hands_write_read_and_delete(bench: Bench) -> None:
    def bucket(url: str) -> tuple[str, str]:
        (node,) = accept(bench.ssh, bench.job, OFFER, bench.image, silent, bucket=url).nodes
        return checked(node.checks, "bucket")

    assert bucket("s3://work/runs/abc/")[0] == "pass"
    assert b"trainrig-check" not in object_store.send(f"{bench.store}/work")
    status, detail = bucket("s3://nowhere/runs")
    assert status == "fail"
    assert "NoSuchBucket" in detail


def test_what_is_renamed_when_it_was_written_is_in_the_bucket_under_its_last_name(bench: Bench) -> None:
    """As training scripts save: a file of another name, renamed over the last one; on a store that takes its time."""

    def slowly(command: str, _path: str, _headers: Mapping[str, str]) -> bool:
        if command in {"HEAD", "PUT"}:
            time.sleep(random.choice((0, 0.005, 0.01, 0.02)))  # the calls between which a rename could go unseen
        return True

    save = "echo $i > m$j.tmp; sleep 0.0$i; mv m$j.tmp m$j"
    with gateway.guarded(bench.store, slowly, nodes.gateway(bench.ssh.nodes[0])) as url:
        bench.converge(replace(bench.job, s3_endpoint=url))
        for folder in ("3", "4"):  # MOUNT and MOUNT_CACHED
            bench.sh(f"cd /srv/trainrig/mounts/{folder}; for j in $(seq 20); do for i in 1 2 3; do {save}; done; done")
        bench.sh("/usr/local/lib/trainrig/data flush 60")
        for key in (f"{folder}m{j}" for folder in ("", "late/") for j in range(1, 21)):
            assert object_store.send(f"{bench.store}/work/{key}") == b"3\n", key
    bench.converge(bench.job)


def test_a_mount_that_was_taken_down_is_drift_and_is_mended(bench: Bench) -> None:
    bench.sh("systemctl stop trainrig-mount@3.service")
    (node,) = verify(bench.ssh, bench.job, OFFER, bench.image, silent).nodes
    status, detail = checked(node.checks, "drift")
    assert (status, "data : Mount what the job works on" in detail) == ("fail", True)
    assert bench.converge(bench.job) == ["data : Mount what the job works on"]


@pytest.mark.parametrize(
    "spoil",
    [
        "kill -9 $pid; sleep 1",  # it leaves an end that nobody serves
        "kill -STOP $pid",
        "mount -t tmpfs x /srv/trainrig/mounts/3",
        "systemctl stop $unit; rm -rf /srv/trainrig/mounts/3; echo x > /srv/trainrig/mounts/3",
    ],
    ids=["killed", "stopped", "covered", "a file in its place"],
)
def test_a_mount_that_is_of_no_use_is_told_of_and_mended(bench: Bench, spoil: str) -> None:
    bench.sh(f"unit=trainrig-mount@3; pid=$(systemctl show -p MainPID --value $unit); {spoil}")
    (node,) = accept(bench.ssh, bench.job, OFFER, bench.image, silent).nodes
    status, detail = checked(node.checks, "mounts")
    assert (status, detail.startswith("s3://work: ")) == ("fail", True)
    bench.converge(bench.job)
    (node,) = accept(bench.ssh, bench.job, OFFER, bench.image, silent).nodes
    assert checked(node.checks, "mounts") == ("pass", "3 mounted, and answer")
    assert bench.sh("cat /srv/trainrig/mounts/3/old.txt") == "old"


def test_a_node_that_may_only_read_has_the_bucket_read_only(bench: Bench) -> None:
    with gateway.read_only(bench.store, address=nodes.gateway(bench.ssh.nodes[0])) as url:
        bench.converge(replace(bench.job, s3_endpoint=url))
        assert bench.sh("cat /srv/trainrig/mounts/3/old.txt; touch /srv/trainrig/mounts/3/x 2>&1 || true") == (
            "oldtouch: cannot touch '/srv/trainrig/mounts/3/x': Read-only file system"
        )
        assert "may not write to s3://work" in bench.sh("journalctl -u trainrig-mount@3 -o cat --no-pager")
    bench.converge(bench.job)


def test_a_bucket_that_the_job_only_reads_is_not_tried_for_more(bench: Bench) -> None:
    assert "Read-only file system" in bench.sh("touch /srv/trainrig/mounts/5/x 2>&1 || true")
    assert "may not write" not in bench.sh("journalctl -u trainrig-mount@5 -o cat --no-pager")


def test_what_the_module_of_aws_grants_is_enough_and_no_more(bench: Bench, tmp_path: Path) -> None:
    """The policy that Terraform plans for these mounts, judged call by call in front of the store."""
    mounts = [replace(m, source="s3://work/early") if m.target == "/work" else m for m in bench.job.mounts]
    job = replace(bench.job, mounts=tuple(mounts))
    address = nodes.gateway(bench.ssh.nodes[0])
    with gateway.guarded(bench.store, s3_policy.allows(policy_of(job, tmp_path)), address, absent=403) as url:
        bench.sh("rm -r /srv/trainrig/mounts/0/* /srv/trainrig/mounts/1")
        bench.converge(replace(job, s3_endpoint=url))
        assert bench.sh("cd /srv/trainrig/mounts; cat 0/a.txt 1 5/a.txt; stat -c %s 0/sub/b.txt") == "asinglea100000"
        for folder in ("3", "4"):  # MOUNT and MOUNT_CACHED
            bench.sh(
                f"cd /srv/trainrig/mounts/{folder}; echo new > x; mkdir d; mv x d/y; echo newer > d/y; echo z > z; rm z"
            )
        bench.sh("/usr/local/lib/trainrig/data flush 30")
        for key in ("early/d/y", "late/d/y"):
            assert object_store.send(f"{bench.store}/work/{key}") == b"newer\n"
        assert b"z</Key>" not in object_store.send(f"{bench.store}/work")
        may = "/usr/local/lib/trainrig/data check {} 2>&1 || true"
        assert bench.sh(may.format("s3://work/early")) == ""
        for elsewhere in ("s3://work", "s3://work/earlyer", "s3://data/set"):
            assert "AccessDenied" in bench.sh(may.format(elsewhere))
    bench.converge(bench.job)


def test_checkpoints_go_from_the_node_to_the_bucket_and_back(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no more than what the module of AWS grants, and with keys that are not on the node."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    address, place = nodes.gateway(bench.ssh.nodes[0]), "runs/abc23456/checkpoints"
    policy = policy_of(a_job(), tmp_path, checkpoint_prefix="s3://work/runs/abc23456/")
    account = Account(cloud="aws", regions=("us-east-1",), settings={"s3_endpoint": bench.store})
    objects = registry.objects("aws").objects(account, None, "work")
    store = CheckpointBucket(objects, "s3://work/runs", place, "abc23456", tmp_path / "cache")
    monkeypatch.setattr(objects, "upload", None)  # nothing comes by this machine
    url = f"s3://work/{place}/files"
    courier = TheNodes(ssh=bench.ssh, store=store, run_id="abc23456", url=url, keys=KEYS)
    folder = "/srv/trainrig/checkpoints"

    def fill(text: str) -> Manifest | None:
        bench.sh(f"cd {folder}; mkdir -p step; printf {text} >step/.m; mv step/.m step/model; ln -sfn step last")
        return courier.commit(generation=1)

    with gateway.guarded(bench.store, s3_policy.allows(policy), address, absent=403) as gate:
        bench.sh(f"sed -i 's|^endpoint = .*|endpoint = {gate}|' /etc/trainrig/rclone.conf")
        bench.sh(f"rm -f /run/trainrig/data.json; printf 1/2 >{folder}/progress")
        first, second = fill("one"), fill("two")
        assert first is not None
        assert second is not None
        assert courier.commit(generation=1) is None
        assert courier.progress() == "1/2"
        assert set(second.files) == {"rank-0/step/model", "rank-0/last", "rank-0/progress"}

        bench.sh(f"rm -r {folder}/*")
        assert courier.restore(silent) == (second, [])
        assert (
            bench.sh(f"cd {folder}; cat last/model progress; find . -newermt 2001-01-01 -type f | wc -l") == "two1/22"
        )

        bad = FileEntry(sha256=hashlib.sha256(b"two").hexdigest(), size=3)
        object_store.send(f"{bench.store}/work/{place}/files/{bad.sha256}", b"evl", method="PUT")
        bench.sh(f"rm -r {folder}/*")
        assert courier.restore(silent) == (
            first,
            ["checkpoint 000001-000002: rank-0/step/model does not match its sha256"],
        )
        assert bench.sh(f"cat {folder}/last/model") == "one"

        elsewhere = replace(courier, url="s3://work/runs/other/checkpoints/files")
        with pytest.raises(StoreFailed, match=r"cannot reach it: .*AccessDenied"):
            elsewhere.commit(generation=1)
    with pytest.raises(StoreFailed, match=r"cannot reach it: .*refused"):
        fill("three")
    with pytest.raises(StoreFailed, match=r"cannot reach it: .*refused"):
        courier.restore(silent)
    bench.sh(f"rm -r {folder}/*")
    lay_secrets(bench.ssh, bench.ssh.nodes, KEYS)
    bench.converge(bench.job)


def policy_of(job: Job, folder: Path, **more: Any) -> str:
    """Of a rig on AWS that has the job's mounts, as Terraform plans it."""
    there = replace(job, s3_endpoint=None)
    request = rigs.request(
        **more,
        read_write_urls=node_rights.written(there),
        read_only_urls=node_rights.read_only(there),
        offer_changes={"instance_type": "g5.xlarge"},
    )
    with serve(folder / "cloud", ["aws"]) as env:
        root = render(Case(name="rights", request=request), folder / "root", env)
        root.run("init", "-input=false")
        plan = root.plan()
    policies = [v["policy"] for _, type_, v in plan_policy.resources(plan) if type_ == "aws_iam_role_policy"]
    return str(policies[0])


@pytest.mark.parametrize(
    ("source", "mode", "said"),
    [
        ("s3://nowhere", MountMode.MOUNT, "s3://nowhere: .*not found"),
        ("s3://nowhere/a", MountMode.COPY, "s3://nowhere/a: .*not found"),
        ("http://127.0.0.1:9/a", MountMode.COPY, "http://127.0.0.1:9/a: .*refused"),
    ],
)
def test_data_that_is_not_there_fails_with_its_name(bench: Bench, source: str, mode: MountMode, said: str) -> None:
    mount = Mount(target="/x", source=source, mode=mode)
    with pytest.raises(ConfigureFailed, match=said):
        bench.converge(replace(bench.job, mounts=(*bench.job.mounts, mount)))
    bench.converge(bench.job)


def test_a_node_without_fuse_says_so(bench: Bench) -> None:
    bench.sh("systemctl stop trainrig-mount@3.service; mv /dev/fuse /dev/fuse.away")
    try:
        with pytest.raises(ConfigureFailed, match="no /dev/fuse, and a mount needs it: write `mode: COPY`"):
            bench.converge(bench.job)
    finally:
        bench.sh("mv /dev/fuse.away /dev/fuse")
    bench.converge(bench.job)


def test_the_job_reads_and_writes_its_data_and_the_keys_go_with_it(bench: Bench, tmp_path: Path) -> None:
    lay_secrets(bench.ssh, bench.ssh.nodes, KEYS)
    launch = Launch(job=bench.job, nodes=bench.ssh.nodes, offer=OFFER, image=bench.image, rig="t", run_id="abc23456")
    deliver.deliver(bench.ssh, launch, silent)
    job_control.start(bench.ssh, launch, silent)
    assert job_control.follow(bench.ssh, silent).verdict == "succeeded"
    collect.flush_mounts(bench.ssh, bench.job, silent)
    assert object_store.send(f"{bench.store}/work/new.txt") == b"new\n"
    assert object_store.send(f"{bench.store}/work/late/new.txt") == b"later\n"
    assert bench.sh("ls /run/trainrig/data.json 2>&1 || true") == (
        "ls: cannot access '/run/trainrig/data.json': No such file or directory"
    )
