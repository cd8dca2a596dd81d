"""scripts/setup.sh on machines that are not this one: a PATH of stand-in programs that note how they are called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
REAL = [
    "bash",
    "sh",
    "env",
    "dirname",
    "grep",
    "sort",
    "seq",
    "sleep",
    "cksum",
    "mkdir",
    "cp",
    "chmod",
    "touch",
    "cat",
    "ln",
]
EVERYTHING = ["iptables", "mmdebstrap", "ssh", "rsync", "git", "newuidmap", "dockerd", "docker", "terraform"]

DOCKER = '[ "$1" != info ] || [ -e "$MACHINE/docker-runs" ]'
APT_GET = """
case "$1" in
  indextargets) echo Debian ;;
  install) cp "$MACHINE/docker-of-the-archive" "${0%/*}/docker" ;;
esac
"""
PYTHON = """
case "$*" in
  -V) echo "Python $PYTHON_VERSION" ;;
  *ensurepip*) [ "$HAS_VENV" = 1 ] ;;
  *version_info\\ \\<*) [ "$PYTHON_VERSION" != 3.9.2 ] ;;
  *version_info*) echo python3.11-venv ;;
  "-m venv"*) mkdir -p "${!#}/bin"; cp "$0" "${!#}/bin/python" ;;
  *"pip install"*) touch .venv/bin/trainrig; chmod +x .venv/bin/trainrig ;;
esac
"""


class Machine:
    """`home` is a checkout, `calls` what was run, one command line each."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.bin = root, root / "checkout", root / "bin"
        self.log = root / "calls"
        self.bin.mkdir()
        self.home.mkdir()
        shutil.copytree(REPOSITORY / "scripts", self.home / "scripts")
        shutil.copy(REPOSITORY / "pyproject.toml", self.home)
        for name in REAL:
            (self.bin / name).symlink_to(str(shutil.which(name)))
        for name in ("apt-cache", "dpkg", "dpkg-query", "usermod"):
            self.program(name)
        self.program("docker", DOCKER)
        (self.bin / "docker").rename(self.root / "docker-of-the-archive")
        self.program("apt-get", APT_GET)
        self.program("systemctl", 'touch "$MACHINE/docker-runs"')
        self.program("setsid", 'touch "$MACHINE/docker-runs"')
        self.program("python3", PYTHON)
        self.be(system="Linux", uid=0)

    def program(self, name: str, body: str = "") -> None:
        path = self.bin / name
        path.write_text(f'#!{self.bin}/bash\necho "{name} $*" >>"$MACHINE/calls"\n{body}\n')
        path.chmod(0o755)

    def be(self, *, system: str, uid: int) -> None:
        self.program("uname", f"echo {system}")
        self.program("id", f'case "$1" in -u) echo {uid} ;; -un) echo ada ;; -nG) echo ada ;; esac')

    def has(self, *names: str) -> None:
        for name in names:
            self.program(name, DOCKER if name == "docker" else "")

    def setup(self, what: str = "demo", **variables: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.bin), "MACHINE": str(self.root), "PYTHON_VERSION": "3.11.7", "HAS_VENV": "1"}
        argv = [str(self.bin / "bash"), "scripts/setup.sh", what]
        return subprocess.run(
            argv, cwd=self.home, env={**env, **variables}, capture_output=True, text=True, timeout=60, check=False
        )

    def calls(self, *programs: str) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.split()[0] in programs]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if shutil.which("apt-get") is None or not os.path.exists("/etc/ssl/certs/ca-certificates.crt"):  # noqa: PTH110
        pytest.skip("the script looks for these at their places")
    return Machine(tmp_path)


def test_a_bare_machine_gets_what_it_lacks_and_is_told_before(machine: Machine) -> None:
    done = machine.setup(HAS_VENV="0")
    packages = "docker-cli docker.io git iptables mmdebstrap openssh-client python3.11-venv rsync"
    announced = done.stderr.splitlines()[0]
    assert announced == f"setup: apt-get update && apt-get install {packages}"
    installed = machine.calls("apt-get")[-1]
    assert installed == f"apt-get install -y -q --no-install-recommends {packages}"


def test_docker_is_started_and_the_project_installed_with_terraform(machine: Machine) -> None:
    machine.has(*EVERYTHING)
    (machine.bin / "terraform").unlink()
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert len(machine.calls("systemctl", "setsid")) == 1
    assert "-e .[terraform]" in machine.log.read_text()


def test_a_ready_machine_is_left_alone(machine: Machine) -> None:
    machine.has(*EVERYTHING)
    (machine.root / "docker-runs").touch()
    machine.setup()
    machine.log.unlink()
    again = machine.setup()
    assert (again.returncode, again.stderr) == (0, "")
    assert machine.calls("systemctl", "setsid", "usermod", "sudo") == []
    assert not [c for c in machine.calls("apt-get") if "install" in c]
    assert "pip install" not in machine.log.read_text()


def test_test_needs_more_than_demo(machine: Machine) -> None:
    machine.has(*EVERYTHING)
    (machine.root / "docker-runs").touch()
    machine.setup()
    machine.setup("test")
    assert "-e .[dev]" in machine.log.read_text()


@pytest.mark.parametrize(("works", "there"), [("true", True), ("false", False)])
def test_azurite_comes_where_npm_is_and_is_no_condition(machine: Machine, works: str, there: bool) -> None:
    machine.has(*EVERYTHING)
    (machine.root / "docker-runs").touch()
    machine.program("npm", f"mkdir -p .venv/npm; {works}")
    done = machine.setup("test")
    assert done.returncode == 0, done.stderr
    assert ("are skipped" in done.stderr) is not there
    assert (machine.home / ".venv/bin/azurite-blob").is_symlink() is there
    machine.setup("test")
    assert len(machine.calls("npm")) == (1 if there else 2)
    machine.setup()
    assert len(machine.calls("npm")) == (1 if there else 2)


def test_without_rights_it_says_what_to_run(machine: Machine) -> None:
    machine.has(*(n for n in EVERYTHING if n != "mmdebstrap"))
    machine.be(system="Linux", uid=1000)
    done = machine.setup()
    assert done.returncode == 4
    assert "as root: apt-get update && apt-get install mmdebstrap" in done.stderr
    assert not [c for c in machine.calls("apt-get") if "install" in c]


def test_a_user_with_sudo_is_let_into_the_docker_group(machine: Machine) -> None:
    machine.has(*EVERYTHING)
    machine.be(system="Linux", uid=1000)
    machine.program("docker", '[ "$1" != info ] || [ -n "$AS_ROOT" ]')
    machine.program("sudo", 'AS_ROOT=1 exec "$@"')
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert machine.calls("usermod") == ["usermod -aG docker ada"]


def test_macos_is_told_what_it_needs(machine: Machine) -> None:
    machine.be(system="Darwin", uid=501)
    done = machine.setup()
    assert done.returncode == 4
    assert "this is Darwin" in done.stderr
    assert "virtual machine" in done.stderr
    assert "Terraform 1.10" in done.stderr
    assert machine.calls("apt-get") == []


def test_programs_outside_a_users_path_are_seen(machine: Machine) -> None:
    machine.has(*(n for n in EVERYTHING if n not in {"dockerd", "iptables"}))
    machine.program("dpkg-query", "echo installed")
    (machine.root / "docker-runs").touch()
    assert "apt-get install" not in machine.setup().stderr


def test_a_new_member_of_the_docker_group_need_not_log_in_again(machine: Machine) -> None:
    machine.be(system="Linux", uid=1000)
    machine.program("id", 'case "$1" in -un) echo ada ;; -nG) echo ada docker ;; esac')
    machine.program("docker", "exit 1")
    machine.program("sudo")
    argv = [str(machine.bin / "bash"), "scripts/with-docker.sh", "trainrig", "run", "a job.yaml"]
    env = {"PATH": str(machine.bin), "MACHINE": str(machine.root)}
    subprocess.run(argv, cwd=machine.home, env=env, check=True, timeout=60)
    assert machine.calls("sudo") == [
        f"sudo --preserve-env --user ada -- env PATH={machine.bin} trainrig run a job.yaml"
    ]


@pytest.mark.parametrize("nodes", ["", "0123456789ab"])
def test_clean_removes_what_was_made_unless_a_rig_is_up(machine: Machine, nodes: str) -> None:
    machine.be(system="Linux", uid=1000)
    machine.program("sudo")  # a Docker daemon that set-up once started for real on this machine must live on
    for name in ("xargs", "rm"):
        (machine.bin / name).symlink_to(str(shutil.which(name)))
    machine.program("docker", f'[ "$1" != ps ] || echo {nodes}; [ "$2" != ls ] || echo trainrig-node:1f')
    (machine.home / ".venv").mkdir()
    argv = [str(machine.bin / "bash"), "scripts/clean.sh"]
    env = {"PATH": str(machine.bin), "MACHINE": str(machine.root)}
    done = subprocess.run(argv, cwd=machine.home, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == (12 if nodes else 0)
    assert ("trainrig destroy" in done.stderr) is bool(nodes)
    assert (machine.home / ".venv").exists() is bool(nodes)
    assert ("docker image rm trainrig-node:1f" in machine.calls("docker")) is not bool(nodes)


def test_an_old_python_is_refused(machine: Machine) -> None:
    machine.has(*EVERYTHING)
    done = machine.setup(PYTHON_VERSION="3.9.2")
    assert done.returncode == 4
    assert "Python 3.11 or newer" in done.stderr


def test_a_browser_is_for_the_tests_alone_and_only_where_it_can_be_had(machine: Machine) -> None:
    def installed() -> list[str]:
        return [call for call in machine.calls("apt-get") if " install " in call]

    machine.has(*EVERYTHING)
    assert machine.setup("demo").returncode == 0
    machine.program("apt-cache", "exit 100")  # an Ubuntu
    assert machine.setup("test").returncode == 0
    machine.program("apt-cache")
    machine.be(system="Linux", uid=1000)
    assert machine.setup("test").returncode == 0  # nobody is asked to be root because of it
    assert installed() == []
    machine.be(system="Linux", uid=0)
    assert machine.setup("test").returncode == 0
    assert [call.split()[-1] for call in installed()] == ["chromium"]
