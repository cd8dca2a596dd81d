"""What nodes that carry their own files are asked, and what is made of their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.jobs import a_node
from trainrig.errors import CommandFailed, StoreFailed
from trainrig.lifecycle import snapshot
from trainrig.lifecycle.checkpoint_courier import TheNodes
from trainrig.model.events import silent
from trainrig.model.node import Node
from trainrig.model.process import Outcome
from trainrig.recovery.stores import Changed
from trainrig.store.checkpoint_bucket import CheckpointBucket
from trainrig.tools.proc import mask
from trainrig.tools.ssh import Ssh

KEYS = {"AWS_SECRET_ACCESS_KEY": "s3cret"}
A, B = "a" * 64, "b" * 64


class Bucket:
    """In memory; a version is a count."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, str]] = {}

    def read(self, key: str) -> tuple[bytes, str] | None:
        return self.objects.get(key)

    def write(self, key: str, content: bytes, *, expected: str | None) -> str:
        now = self.objects.get(key)
        if (now and now[1]) != expected:
            raise Changed(key)
        version = str(int(expected or 0) + 1)
        self.objects[key] = (content, version)
        return version

    def upload(self, key: str, path: Path) -> None:
        raise AssertionError(f"{key} comes by this machine")

    def download(self, key: str, path: Path) -> bool:
        raise AssertionError(f"{key} comes by this machine")

    def names(self, prefix: str) -> Iterator[str]:
        return (key for key in self.objects if key.startswith(prefix))

    def delete(self, keys: Any) -> None:
        for key in keys:
            self.objects.pop(key, None)


class Nodes:
    """Answers for two nodes: each has one file of its own and one that both have."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.content = {0: A, 1: B}
        self.shared = "shared"  # its name
        self.asked: list[tuple[int, str, dict[str, Any]]] = []
        self.wrong: dict[int, list[str]] = {}
        self.fails: dict[str, Outcome] = {}

    def run(self, node: Node, words: Sequence[str], **options: Any) -> Outcome:
        verb = words[1]
        document = json.loads(options["stdin"]) if options.get("stdin") else {}
        assert document.get("env", KEYS) == KEYS
        assert not document or options["secrets"] == ("s3cret",)
        files = document.get("files", {})
        self.asked.append((node.rank, verb, files))
        if verb in self.fails:
            return self.fails[verb]
        answer: object = None
        if verb == "list":
            own = {"sha256": self.content[node.rank], "size": 5, "modified_ns": 7}
            answer = {"model": own, self.shared: {**own, "sha256": "c" * 64}, "last": {"link": "model"}}
        if verb == "send":
            for entry in files.values():
                self.bucket.objects[f"p/files/{entry['sha256']}"] = (b"", "1")
        if verb == "fetch":
            answer = self.wrong.get(node.rank, [])
        return Outcome(returncode=0, stdout=mask(json.dumps(answer), options["secrets"]), stderr="", seconds=0)

    def heard(self, verb: str) -> Mapping[int, list[str]]:
        return {rank: sorted(files) for rank, said, files in self.asked if said == verb}


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    nodes = Nodes(Bucket())
    monkeypatch.setattr(Ssh, "run", nodes.run)
    monkeypatch.setattr(snapshot, "take", lambda _ssh: {0: "was", 1: "was"})
    monkeypatch.setattr(snapshot, "require_unchanged", lambda _ssh, _node, stamps: stamps)
    return nodes


@pytest.fixture
def courier(nodes: Nodes, tmp_path: Path) -> TheNodes:
    ssh = Ssh(rig=tmp_path, nodes=(a_node(), a_node(1)))
    store = CheckpointBucket(nodes.bucket, "s3://bucket/p", "p", "abcd2345", tmp_path / "cache")
    return TheNodes(ssh=ssh, store=store, run_id="abcd2345", url="s3://bucket/p/files", keys=KEYS)


def test_each_node_sends_its_own_and_what_both_have_is_sent_once(nodes: Nodes, courier: TheNodes) -> None:
    made = courier.commit(generation=1)
    assert made is not None
    assert set(made.files) == {f"rank-{rank}/{name}" for rank in (0, 1) for name in ("model", "shared", "last")}
    sent = nodes.heard("send")
    assert sorted(name for names in sent.values() for name in names) == ["model", "model", "shared"]
    nodes.asked.clear()
    assert courier.commit(generation=1) is None
    nodes.content[1] = "d" * 64
    assert courier.commit(generation=1) is not None
    assert nodes.heard("send") == {1: ["model"]}


def test_a_file_may_be_called_like_a_key(nodes: Nodes, courier: TheNodes) -> None:
    nodes.shared = "s3cret.bin"
    made = courier.commit(generation=1)
    assert made is not None
    assert "rank-0/s3cret.bin" in made.files
    assert ["model", "s3cret.bin"] in nodes.heard("send").values()


def test_a_file_that_was_written_into_while_it_was_sent_makes_no_checkpoint(
    nodes: Nodes, courier: TheNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(_ssh: Ssh, node: Node, _stamps: str) -> None:
        if node.rank == 1:
            raise CommandFailed("the job wrote into a file")

    monkeypatch.setattr(snapshot, "require_unchanged", changed)
    with pytest.raises(CommandFailed, match="wrote into a file"):
        courier.commit(generation=1)
    assert courier.store.committed() == []
    assert nodes.heard("send").keys() == {0, 1}


def test_a_checkpoint_that_one_node_cannot_have_whole_is_given_to_none(nodes: Nodes, courier: TheNodes) -> None:
    first = courier.commit(generation=1)
    nodes.content[1] = "d" * 64
    second = courier.commit(generation=1)
    assert first is not None
    assert second is not None
    assert courier.restore(silent) == (second, [])
    nodes.wrong = {1: ["model"]}
    nodes.asked.clear()
    assert courier.restore(silent) == (
        None,
        [f"checkpoint {i}: rank-1/model does not match its sha256" for i in (second.id, first.id)],
    )
    assert nodes.heard("fetch") == {0: [], 1: []}  # and the halves are taken away again
    del nodes.bucket.objects[f"p/files/{'d' * 64}"]
    nodes.wrong = {}
    assert courier.restore(silent) == (first, [f"checkpoint {second.id}: rank-1/model is missing"])


def test_a_bucket_that_a_node_cannot_reach_is_not_the_nodes_fault(nodes: Nodes, courier: TheNodes) -> None:
    nodes.fails = {"send": Outcome(returncode=3, stdout="", stderr="ERROR : refused\n", seconds=0)}
    with pytest.raises(StoreFailed, match="cannot reach it: ERROR : refused"):
        courier.commit(generation=1)
    nodes.fails = {"list": Outcome(returncode=255, stdout="", stderr="ssh: no route\n", seconds=0)}
    with pytest.raises(CommandFailed, match="no route") as caught:
        courier.commit(generation=1)
    assert not isinstance(caught.value, StoreFailed)
