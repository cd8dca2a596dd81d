# SPDX-License-Identifier: Apache-2.0
"""Ansible's own SSH connection, deaf to what others say before a command runs, and blind to what lies in its way.

A `.bashrc` that prints is read for every command over SSH, and sudo complains where a node cannot resolve its own name.
Ansible takes such words for the command's own, and a role that asks "did this say anything?" for a change. And programs
that somebody put before the system's own, or another language, are not what the roles were written for.
"""

from __future__ import annotations

import re
from typing import Any

from ansible.plugins.connection import ssh

# The same options under the same names. Not as an assignment: what reads documentation without running it wants a text.
globals()["DOCUMENTATION"] = ssh.DOCUMENTATION

MARK = "@trainrig-begin@"
SET = "PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DOCKER_HOST=unix:///var/run/docker.sock"
BEGIN = f"echo {MARK} ; {SET} ; export PATH LC_ALL DOCKER_HOST ; unset PYTHONHOME PYTHONPATH ;"
# What Ansible has sudo say first, by which it knows that sudo let it in.
# Of every program, where /etc/ld.so.preload names a library that is gone; with a terminal it looks like an answer.
NOISE = re.compile(rb"^ERROR: ld\.so: object .*cannot be preloaded.*: ignored\.\r?\n", re.MULTILINE)
LET_IN = re.compile(r"echo BECOME-SUCCESS-\w+ ;")


class Connection(ssh.Connection):  # type: ignore[misc]
    transport = "clean_ssh"

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> Any:
        marked = LET_IN.sub(rf"\g<0> {BEGIN}", cmd, count=1)
        if marked == cmd:
            marked = f"{BEGIN} {cmd}"
        code, out, err = super().exec_command(marked, in_data, sudoable)
        said, mark, answer = out.partition(MARK.encode())
        return code, NOISE.sub(b"", answer.removeprefix(b"\r").removeprefix(b"\n")) if mark else said, err
