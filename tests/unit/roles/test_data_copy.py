from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from support.apt_repo import served

FILE = Path(__file__).parents[3] / "ansible/roles/data/files/data-copy.py"


@pytest.fixture
def data_copy() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("data_copy", str(FILE))
    spec = importlib.util.spec_from_loader("data_copy", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "remote"),
    [
        ("s3://bucket/a/b/", "s3:bucket/a/b"),
        ("gs://bucket", "gs:bucket"),
        ("az://container/prefix", "az:container/prefix"),
        ("https://acc.blob.core.windows.net/box/p", ":azureblob,use_msi=true,account=acc:box/p"),
    ],
)
def test_a_bucket_url_becomes_rclones_name_of_it(data_copy: ModuleType, source: str, remote: str) -> None:
    assert data_copy.remote(source) == remote


def test_a_file_is_downloaded_whole_and_once(data_copy: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "data.bin").write_bytes(b"x" * 3_000_000)
    target = tmp_path / "mounts" / "0"
    with served(tmp_path / "served", "127.0.0.1") as url:
        assert data_copy.download(f"{url}/data.bin", str(target)) is True
        assert data_copy.download(f"{url}/data.bin", str(target)) is False
    assert target.stat().st_size == 3_000_000
    assert [p.name for p in target.parent.iterdir()] == ["0"]


def test_every_file_of_a_hub_repository_comes_in_its_place(
    data_copy: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "hub"
    listing = root / "api/datasets/owner/name/tree"
    listing.mkdir(parents=True)
    (listing / "main").write_text('[{"type": "directory", "path": "sub"}, {"type": "file", "path": "sub/a.txt"}]')
    files = root / "datasets/owner/name/resolve/main/sub"
    files.mkdir(parents=True)
    (files / "a.txt").write_text("hello")
    with served(root, "127.0.0.1") as url:
        monkeypatch.setattr(data_copy, "HUB", url)
        assert data_copy.by_hub("hf://datasets/owner/name", str(tmp_path / "mounts/0")) == 1
    assert (tmp_path / "mounts/0/sub/a.txt").read_text() == "hello"
