"""The program that moves checkpoints between a node and a bucket. rclone is played by one that knows folders alone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FILES = Path(__file__).parents[3] / "ansible/roles/data/files"
# `copy ... SOURCE TARGET`: a remote is a folder below $BUCKETS. It obeys --files-from-raw and leaves out what is not
# there, as rclone does.
RCLONE = """#!/usr/bin/env python3
import os, shutil, sys, time
*_, source, target = (w.replace("s3:", os.environ["BUCKETS"] + "/") for w in sys.argv[1:] if not w.startswith("--"))
if os.path.exists(os.environ["BUCKETS"] + "/down"):
    print("2026/01/01 00:00:00 ERROR : Failed to copy: connection refused", file=sys.stderr)
    sys.exit(1)
assert os.environ["KEY"] == "of the job"
if os.path.exists(os.environ["BUCKETS"] + "/slow"):
    open(os.environ["BUCKETS"] + "/began", "w").close()
    time.sleep(60)
names = sys.stdin.read().split() if "--files-from-raw=-" in sys.argv else os.listdir(source)
os.makedirs(target, exist_ok=True)
for name in names:
    if os.path.exists(f"{source}/{name}"):
        shutil.copyfile(f"{source}/{name}", f"{target}/{name}")
"""
LARGE = 64 << 10  # bytes, above which sums are kept
URL = "s3://bucket/runs/abcd2345/checkpoints/files"


@dataclass(kw_only=True)
class Node:
    """Its own copy of the program, whose paths are of the test."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        for name in ("buckets.py", "checkpoints.py"):
            text = (FILES / name).read_text().replace('"/etc/trainrig/', f'"{self.root}/etc/')
            (self.root / name).write_text(text.replace('"/run/trainrig/', f'"{self.root}/run/'))
        (self.root / "etc").mkdir()
        (self.root / "etc/data.json").write_text(json.dumps({"rclone": str(self.root / "rclone")}))
        (self.root / "rclone").write_text(RCLONE)
        (self.root / "rclone").chmod(0o755)
        self.files.mkdir(parents=True)

    @property
    def folder(self) -> Path:
        return self.root / "checkpoints"

    @property
    def files(self) -> Path:
        return self.root / "buckets/bucket/runs/abcd2345/checkpoints/files"

    def ask(self, *words: str, document: object = None) -> subprocess.CompletedProcess[str]:
        with self.begin(*words) as asked:
            out, err = asked.communicate(self.stdin(document), timeout=60)
        return subprocess.CompletedProcess(asked.args, asked.returncode, out, err)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        env = {**os.environ, "BUCKETS": str(self.root / "buckets")}
        argv = [sys.executable, str(self.root / "checkpoints.py"), *words]
        return subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def stdin(self, document: object) -> str:
        return "" if document is None else json.dumps({"files": document, "env": {"KEY": "of the job"}})

    def answer(self, *words: str, document: object = None) -> Any:
        done = self.ask(*words, document=document)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "null")

    def list(self) -> Any:
        return self.answer("list", str(self.folder))

    def send(self, files: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        return self.ask("send", str(self.folder), URL, document=files)

    def fetch(self, files: Mapping[str, Any]) -> Any:
        return self.answer("fetch", str(self.folder), URL, document=files)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(root=tmp_path)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fill(node: Node) -> dict[str, Any]:
    """Two steps and a link to the newer, sent to the bucket; what was said of them."""
    for name in ("step-1", "step-2"):
        (node.folder / name).mkdir()
        (node.folder / name / "model.bin").write_text(name)
        (node.folder / name / "config").write_text("the same")
    (node.folder / "last").symlink_to("step-2")
    os.utime(node.folder / "step-1/model.bin", ns=(1, 1_700_000_000_123_456_789))
    listed: dict[str, Any] = node.list()
    assert node.send({p: e for p, e in listed.items() if "link" not in e}).returncode == 0
    return listed


def test_files_go_into_the_bucket_under_their_sums(node: Node) -> None:
    listed = fill(node)
    assert listed["last"] == {"link": "step-2"}
    assert listed["step-1/model.bin"] == {
        "sha256": sha256("step-1"),
        "size": 6,
        "modified_ns": 1_700_000_000_123_456_789,
    }
    assert {p.name for p in node.files.iterdir()} == {sha256(t) for t in ("step-1", "step-2", "the same")}
    assert not Path(f"{node.folder}.sent").exists()


def test_another_node_has_what_the_first_had(node: Node) -> None:
    listed = fill(node)
    subprocess.run(["rm", "-rf", *node.folder.iterdir()], check=True)
    assert node.fetch(listed) == []
    assert node.list() == listed
    assert (node.folder / "last/model.bin").read_text() == "step-2"
    assert (node.folder / "step-1").stat().st_mode & 0o777 == 0o777
    # Written over in place, one must not change the other.
    assert (node.folder / "step-1/config").stat().st_ino != (node.folder / "step-2/config").stat().st_ino


def test_a_folder_that_has_other_files_ends_with_those_of_the_checkpoint(node: Node) -> None:
    listed = fill(node)
    (node.folder / "step-2/model.bin").write_text("half of a third")
    (node.folder / "step-3").mkdir()
    (node.folder / "step-3/model.bin").write_text("half")
    (node.folder / "last").unlink()
    (node.folder / "last").mkdir()
    (node.root / "buckets/asked").mkdir()
    stays = node.folder / "step-1/model.bin"
    inode = stays.stat().st_ino
    assert node.fetch(listed) == []
    assert node.list() == listed
    assert stays.stat().st_ino == inode  # not brought again
    assert node.fetch({}) == []
    assert list(node.folder.iterdir()) == []


def test_nothing_is_written_through_a_link(node: Node, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    listed = fill(node)
    entry = listed["step-1/config"]
    done = node.ask("fetch", str(node.folder), URL, document={"etc": {"link": str(outside)}, "etc/passwd": entry})
    assert done.returncode not in {0, 3}
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("harm", ["evil", None])
def test_content_that_is_another_or_gone_is_told_by_its_paths(node: Node, harm: str | None) -> None:
    listed = fill(node)
    (node.files / sha256("the same")).unlink()
    if harm:
        (node.files / sha256("the same")).write_text(harm)
    subprocess.run(["rm", "-rf", *node.folder.iterdir()], check=True)
    assert node.fetch(listed) == ["step-1/config", "step-2/config"]


def test_a_bucket_that_does_not_answer_is_not_a_bucket_without_files(node: Node) -> None:
    listed = fill(node)
    (node.root / "buckets/down").touch()
    sent = node.send({"step-1/config": listed["step-1/config"]})
    assert (sent.returncode, sent.stderr) == (3, "ERROR : Failed to copy: connection refused\n")
    subprocess.run(["rm", "-rf", *node.folder.iterdir()], check=True)
    assert node.ask("fetch", str(node.folder), URL, document=listed).returncode == 3


def test_what_has_not_changed_is_not_read_again(node: Node) -> None:
    old, new = "old" * LARGE, "new" * LARGE
    model = node.folder / "model.bin"
    model.write_text(old)
    os.utime(model, ns=(1, 1))
    before = node.list()
    with (node.root / "run/checkpoint-sums.json").open() as f:
        (kept,) = json.load(f).values()
    assert kept == [3 * LARGE, 1, sha256(old)]
    (node.root / "run/checkpoint-sums.json").write_text(
        (node.root / "run/checkpoint-sums.json").read_text().replace(sha256(old), "kept")
    )
    assert node.list() == {"model.bin": {**before["model.bin"], "sha256": "kept"}}
    model.write_text(new)  # a file so young may change again in the same instant
    assert node.list()["model.bin"]["sha256"] == sha256(new)
    assert json.loads((node.root / "run/checkpoint-sums.json").read_text()) == {}


def test_small_files_are_read_each_time_since_their_copies_have_each_others_inodes(node: Node) -> None:
    pointer = node.folder / "latest"
    for text in ("step-1", "step-2"):
        pointer.write_text(text)
        os.utime(pointer, ns=(1, 1))
        assert node.list()["latest"]["sha256"] == sha256(text)


@pytest.mark.parametrize("verb", ["send", "fetch"])
def test_one_whose_caller_was_killed_ends_before_the_next_begins(node: Node, verb: str) -> None:
    listed = fill(node)
    for path in ("step-1/config", "step-2/config"):
        (node.folder / path).write_text("another")
    files = {p: e for p, e in node.list().items() if "link" not in e} if verb == "send" else listed
    (node.root / "buckets/slow").touch()
    with node.begin(verb, str(node.folder), URL) as orphan:
        assert orphan.stdin
        orphan.stdin.write(node.stdin(files))
        orphan.stdin.close()
        while not (node.root / "buckets/began").exists():
            time.sleep(0.01)
        (node.root / "buckets/slow").unlink()
        assert node.ask(verb, str(node.folder), URL, document=files).returncode == 0
        assert orphan.wait(timeout=10) < 0
    assert [p.name for p in node.root.glob("checkpoints.*")] == ["checkpoints.py"]
    if verb == "send":
        assert (node.files / sha256("another")).read_text() == "another"
    else:
        assert node.list() == listed
