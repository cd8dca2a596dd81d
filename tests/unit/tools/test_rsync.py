from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from trainrig.lifecycle.deliver import kept_back
from trainrig.tools import rsync

pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="needs rsync")


def tree(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def lay(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_keys_and_credentials_in_a_checkout_stay_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    lay(checkout, "train.py", "gha-creds-1.json", ".id-token", ".trainrig/rigs/a/id_ed25519", "sub/.id-token")
    monkeypatch.setenv("TRAINRIG_HOME", str(checkout / ".trainrig"))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(checkout / "gha-creds-1.json"))
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(checkout / ".id-token"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "elsewhere"))
    (tmp_path / "there").mkdir()
    rsync.copy(checkout, tmp_path / "there", ignore=True, kept_back=kept_back())
    assert tree(tmp_path / "there") == {"train.py", "sub/.id-token"}


def test_a_name_with_wildcards_means_itself(tmp_path: Path) -> None:
    lay(tmp_path / "from", "[a]*.json", "a1.json", "b")
    (tmp_path / "to").mkdir()
    rsync.copy(tmp_path / "from", tmp_path / "to", kept_back=[tmp_path / "from" / "[a]*.json"])
    assert tree(tmp_path / "to") == {"a1.json", "b"}


@pytest.mark.parametrize("repository", ["none", "here", "above", "above, which ignores the folder"])
def test_what_is_left_out_is_what_git_leaves_out(tmp_path: Path, repository: str) -> None:
    source = tmp_path / "top" / "from"
    lay(source, "a.log", "keep.log", "build/x", "sub/build/y", "sub/b.log", "sub/only[1].txt", "sub/s.py", "force.log")
    (source / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
    (source / "sub" / ".gitignore").write_text("only\\[1\\].txt\n")
    if repository != "none":
        at = source if repository == "here" else source.parent
        subprocess.run(["git", "init", "-q", str(at)], check=True)
    if repository == "here":
        subprocess.run(["git", "add", "-f", "force.log"], cwd=source, check=True)
    if repository.endswith("the folder"):
        (source.parent / ".gitignore").write_text("from/\n")
    (tmp_path / "to").mkdir()
    rsync.copy(source, tmp_path / "to", ignore=True)
    wanted = {".gitignore", "keep.log", "sub/.gitignore", "sub/build/y", "sub/s.py"}
    assert tree(tmp_path / "to") == wanted | ({"force.log"} if repository == "here" else set())


def test_what_git_ignores_is_left_out_when_asked(tmp_path: Path) -> None:
    lay(tmp_path / "from", "a", "b.log", ".git/config")
    (tmp_path / "from" / ".gitignore").write_text("*.log\n")
    for folder in ("some", "all"):
        (tmp_path / folder).mkdir()
        rsync.copy(tmp_path / "from", tmp_path / folder, ignore=folder == "some")
    assert tree(tmp_path / "some") == {"a", ".gitignore"}
    assert tree(tmp_path / "all") == {"a", "b.log", ".git/config", ".gitignore"}
