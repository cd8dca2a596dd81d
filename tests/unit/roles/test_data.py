from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from support.apt_repo import served

FILE = Path(__file__).parents[3] / "ansible/roles/data/files/data.py"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FILE.parent)
    loader = importlib.machinery.SourceFileLoader("data", str(FILE))
    spec = importlib.util.spec_from_loader("data", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "remote"),
    [
        ("s3://bucket/a/b/", "s3:bucket/a/b"),
        ("gs://bucket", "gs:bucket"),
        ("az://acc/box/p/", "az,account=acc:box/p"),
        ("https://acc.blob.core.windows.net/box/p", "az,account=acc:box/p"),
    ],
)
def test_a_bucket_url_becomes_rclones_name_of_it(data: ModuleType, source: str, remote: str) -> None:
    assert data.remote(source) == remote


def test_a_file_is_downloaded_whole_and_once(data: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "data.bin").write_bytes(b"x" * 3_000_000)
    target = tmp_path / "mounts" / "0"
    with served(tmp_path / "served", "127.0.0.1") as url:
        assert data.download(f"{url}/data.bin", str(target)) is True
        assert data.download(f"{url}/data.bin", str(target)) is False
    assert target.stat().st_size == 3_000_000
    assert [p.name for p in target.parent.iterdir()] == ["0"]


def test_every_file_of_a_hub_repository_comes_in_its_place(
    data: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "hub"
    listing = root / "api/datasets/owner/name/tree"
    listing.mkdir(parents=True)
    (listing / "main").write_text('[{"type": "directory", "path": "sub"}, {"type": "file", "path": "sub/a.txt"}]')
    files = root / "datasets/owner/name/resolve/main/sub"
    files.mkdir(parents=True)
    (files / "a.txt").write_text("hello")
    with served(root, "127.0.0.1") as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        assert data.by_hub("hf://datasets/owner/name", str(tmp_path / "mounts/0")) == 1
    assert (tmp_path / "mounts/0/sub/a.txt").read_text() == "hello"


def test_a_listing_of_the_hub_goes_on_where_its_header_says(data: ModuleType) -> None:
    assert data.following('<https://hub/tree?cursor=b>; rel="next", <https://hub/tree>; rel="first"') == (
        "https://hub/tree?cursor=b"
    )
    assert data.following(None) is None


def test_what_a_server_refuses_is_said_with_its_address(data: ModuleType, tmp_path: Path) -> None:
    with served(tmp_path, "127.0.0.1") as url, pytest.raises(SystemExit, match=f"{url}/none: File not found"):
        data.download(f"{url}/none", str(tmp_path / "0"))


@pytest.mark.parametrize(
    ("why", "uptime", "asked"),
    [
        (["rcat: AccessDenied: not now", ""], 60, 2),
        (["rcat: 403 This request is not authorized"], 300, 1),
        (["rcat: NoSuchBucket: it is not there"], 60, 1),
        ([""], 60, 1),
    ],
)
def test_a_refusal_is_believed_of_a_node_that_is_not_young(
    data: ModuleType, monkeypatch: pytest.MonkeyPatch, why: list[str], uptime: float, asked: int
) -> None:
    answers = iter(why)
    monkeypatch.setattr(data, "refusal", lambda _url: next(answers))
    monkeypatch.setattr(data, "uptime", lambda: uptime)
    monkeypatch.setattr(data.time, "sleep", lambda _seconds: None)
    assert data.refusal_in_time("s3://bucket/runs") == why[asked - 1]
    assert list(answers) == []


def test_what_is_not_in_its_bucket_is_named_with_what_rclone_says_of_it(
    data: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "CACHE", str(tmp_path))
    folder = tmp_path / "vfsMeta/s3/bucket/late"
    folder.mkdir(parents=True)
    for name, dirty in (("a b", "true"), ("sent", "false")):
        (folder / name).write_text(f'{{"Dirty": {dirty}}}')
    complaints = "ERROR : a b: SlowDown,  request id: 7\nERROR : other: NoSuchBucket\nINFO : a b: fine\n"
    journal = tmp_path / "journalctl"
    journal.write_text(f"#!/bin/sh\nprintf '%s' '{complaints}'\n")
    journal.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(
        SystemExit, match=r"^not in the bucket yet: 1 files, s3://bucket/late/a b; rclone: a b: SlowDown$"
    ):
        data.flush(0)
    (folder / "a b").unlink()
    data.flush(0)
