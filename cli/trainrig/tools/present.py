"""Which of the programs that trainrig drives are on this machine, and in which version."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib import metadata

from trainrig.errors import RigError
from trainrig.model.process import Command
from trainrig.model.readiness import Check
from trainrig.tools import proc, terraform_program

OLDEST_TERRAFORM = (1, 10)  # S3 locks without a table
SECONDS = 10


def checks() -> Iterator[Check]:
    yield _terraform()
    yield _program("ssh", "-V", "sudo apt-get install openssh-client")
    yield _program("rsync", "--version", "sudo apt-get install rsync")
    yield _ansible()
    yield _docker()


def _terraform() -> Check:
    try:
        program = terraform_program.find()
        asked = Command(
            argv=[*program.argv, "version", "-json"],
            env=terraform_program.environment(None),
            timeout_seconds=SECONDS,
        )
        version = str(json.loads(proc.run(asked).stdout)["terraform_version"])
    except RigError as error:
        return Check(name="terraform", status="fail", detail=error.message, mend=error.hint)
    except (ValueError, KeyError):
        return Check(name="terraform", status="fail", detail="it does not say its version")
    if tuple(int(n) for n in version.split("-", maxsplit=1)[0].split(".")[:2]) < OLDEST_TERRAFORM:
        oldest = ".".join(map(str, OLDEST_TERRAFORM))
        return Check(
            name="terraform",
            status="fail",
            detail=f"{program.name} {version} is too old, {oldest} is the oldest",
            mend="install Terraform 1.11 or newer, or: pip install 'trainrig[terraform]'",
        )
    return Check(name="terraform", status="pass", detail=f"{program.name} {version}")


def _program(name: str, option: str, mend: str) -> Check:
    try:
        outcome = proc.run(Command(argv=[name, option], timeout_seconds=SECONDS))
    except RigError as error:
        return Check(name=name, status="fail", detail=error.message.splitlines()[0], mend=mend)
    said = (outcome.stdout or outcome.stderr).strip().splitlines()
    return Check(name=name, status="pass", detail=said[0] if said else "")


def _ansible() -> Check:
    try:
        return Check(name="ansible", status="pass", detail=f"ansible-core {metadata.version('ansible-core')}")
    except metadata.PackageNotFoundError:
        return Check(name="ansible", status="fail", detail="ansible-core is not installed", mend="pip install trainrig")


def _docker() -> Check:
    """Only the cloud `local` and images that were built here need it."""
    if shutil.which("docker") is None:
        return Check(
            name="docker",
            status="skip",
            detail="not on PATH; only the cloud `local` and container images built here need it",
            mend="https://docs.docker.com/engine/install",
        )
    return _program("docker", "--version", "https://docs.docker.com/engine/install")
