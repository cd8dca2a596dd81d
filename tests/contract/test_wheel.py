"""What a `pip install` of wheel or sdist brings: the package and its trees, and nothing of a used checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREES = ("terraform", "ansible", "templates", "environments", "examples")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist of a checkout in which Terraform has been used, and the wheel that was built of it."""
    checkout = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().rstrip("\0").split("\0"):
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    module = checkout / "terraform" / "modules" / "aws"
    (module / "terraform.tfstate").write_text("{}")
    (module / ".terraform").mkdir()
    (module / ".terraform" / "junk").write_text("")
    out = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(checkout)]
    built = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Path:
    (path,) = dist.glob("*.tar.gz")
    return path


def test_it_holds_every_tracked_file_of_the_trees(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(["git", "ls-files", *TREES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {f"trainrig/_assets/{name}" for name in listed.splitlines()} - names == set()


def test_it_holds_no_state_and_no_stray_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [n for n in names if "tfstate" in n or "/.terraform/" in n or "__pycache__" in n] == []
    assert {n.split("/")[0].split("-")[0] for n in names} == {"trainrig"}


def test_the_sdist_holds_what_a_wheel_is_built_of_and_no_more(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files", *TREES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {*listed.splitlines(), "pyproject.toml", "LICENSE", "README.md", "cli/hatch_build.py"} - names == set()
    assert [n for n in names if "tfstate" in n or "/.terraform/" in n or "__pycache__" in n] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_is_installed_with_all_it_needs_in_a_clean_environment(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """By pip from its index, into an environment that has nothing; then as a user, far from the checkout."""
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PATH": f"{programs}:{env['PATH']}", "TRAINRIG_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [*pip, str(request.getfixturevalue(kind))], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    work = tmp_path / "work"
    work.mkdir()
    for words in (
        "--version",
        "init",
        "explain hello.yaml",
        "render hello.yaml --out root",
        "plan hello.yaml --offline --out plan",
        "comment plan --dry-run",
        "status",
    ):
        argv = ["trainrig", *words.split()]
        ran = subprocess.run(argv, cwd=work, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode == 0, f"{words}: {ran.stderr}"
    where = ["python", "-c", "import trainrig; print(trainrig.__file__)"]
    assert str(tmp_path) in subprocess.run(where, cwd=work, env=env, capture_output=True, text=True, check=True).stdout


def test_it_works_where_there_is_no_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    (tmp_path / "job.yaml").write_text("name: job\nrun: 'true'\n")
    env = {**os.environ, "PYTHONPATH": str(site)}
    for words in (["explain", "job.yaml"], ["render", "job.yaml", "--out", "root"], ["init", "--list"]):
        argv = [sys.executable, "-P", "-m", "trainrig", *words]
        done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    where = [sys.executable, "-P", "-c", "import trainrig; print(trainrig.__file__)"]
    assert str(site) in subprocess.run(where, env=env, capture_output=True, text=True, check=True).stdout
    assert (tmp_path / "root" / "main.tf").is_file()
