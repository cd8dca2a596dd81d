"""Brings to the nodes what the job reads: its image, its working directory, its local files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from trainrig import settings
from trainrig.errors import ConfigureFailed, SpecInvalid
from trainrig.model.events import Observer, Progress
from trainrig.model.job import Job
from trainrig.model.process import Command
from trainrig.placement.notices import folder_words
from trainrig.render.launch import NODE_DIR, Launch, mount_source
from trainrig.tools import container, proc, rsync
from trainrig.tools.ssh import Ssh
from trainrig.tools.token_life import credential_files


def require_sources(job: Job) -> None:
    """Asked before a rig costs anything; delivering asks again, since a folder may go meanwhile.

    Raises:
        SpecInvalid: naming all local files and folders of the job that are not there.
    """
    wrong = []
    if job.workdir and _is_local(job.workdir) and not Path(job.workdir).is_dir():
        wrong.append(f"workdir: {job.workdir} is not a directory")
    wrong += [
        f"file_mounts: {mount.source} is not there"
        for mount in job.mounts
        if mount.source and _is_local(mount.source) and not Path(mount.source).expanduser().exists()
    ]
    if wrong:
        raise SpecInvalid(
            "\n".join([f"{job.name} cannot be delivered", *wrong]), hint="check the paths in the job file"
        )


def deliver(ssh: Ssh, launch: Launch, observe: Observer) -> None:
    """Image, working directory and local file mounts, on all nodes at once.

    Raises:
        ConfigureFailed: something is not here to be sent, or did not arrive.
    """
    login = container.Login.of({**launch.job.env, **launch.job.secrets})
    container.deliver(ssh, launch.image, observe, login=login)
    if launch.job.workdir:
        _workdir(ssh, launch.job, launch.job.workdir, observe)
    for index, mount in enumerate(launch.job.mounts):
        if mount.is_folder:
            observe(Progress(phase="deliver", message=folder_words(mount)))
        if mount.source and _is_local(mount.source):
            source = Path(mount.source).expanduser()
            if not source.exists():
                raise ConfigureFailed(
                    f"{mount.source} of file_mounts is not there", hint="check the path in the job file"
                )
            _push(ssh, source, str(mount_source(index)), observe, ignore=False)


def _workdir(ssh: Ssh, job: Job, workdir: str, observe: Observer) -> None:
    target = str(NODE_DIR / "workdir")
    if _is_local(workdir):
        if not Path(workdir).is_dir():
            raise ConfigureFailed(f"the workdir {workdir} is not a directory", hint="check workdir in the job file")
        _push(ssh, Path(workdir), target, observe, ignore=True)
        return
    # Cloned here, so that the node needs neither git nor a credential.
    with tempfile.TemporaryDirectory(prefix="trainrig-git-") as directory:
        checkout = Path(directory) / "checkout"
        proc.run(Command(argv=["git", "clone", "--quiet", workdir, str(checkout)], env={"GIT_TERMINAL_PROMPT": "0"}))
        if job.workdir_ref:
            proc.run(Command(argv=["git", "-C", str(checkout), "checkout", "--quiet", "--detach", job.workdir_ref]))
        _push(ssh, checkout, target, observe, ignore=False)


def _is_local(source: str) -> bool:
    return "://" not in source and not source.startswith("git@")


def _push(ssh: Ssh, source: Path, target: str, observe: Observer, *, ignore: bool) -> None:
    observe(Progress(phase="deliver", message=f"{source} to {len(ssh.nodes)} nodes"))
    kept = kept_back()
    ssh.each(lambda node: rsync.push(ssh, node, source, target, ignore=ignore, kept_back=kept))


def kept_back() -> tuple[Path, ...]:
    """What of this machine no node gets, even where it lies in the working directory, as in a pipeline's checkout: our
    keys and states, and the credentials of whoever started us."""
    return (settings.home(), *credential_files(os.environ))
