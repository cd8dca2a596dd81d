"""The files that make a booting container this very node: who may log in, its host key, its lease."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

from trainrig.localcloud.hostkey import HostKey
from trainrig.localcloud.recipe import NODE_UID, NODE_USER
from trainrig.model.clock import iso

LEASE_SERVICE = """\
[Unit]
Description=End this node, its lease is over

[Service]
Type=oneshot
ExecStart=/usr/bin/systemctl --no-block poweroff
"""

LEASE_TIMER = """\
[Unit]
Description=Lease of this node

[Timer]
OnCalendar={moment:%Y-%m-%d %H:%M:%S} UTC
AccuracySec=1s
Persistent=true
"""

UNITS = "etc/systemd/system"
LEASE_FILE = "etc/trainrig/rig.json"


def node_files(ssh_public_key: str, host_key: HostKey, expires_at: datetime) -> bytes:
    """A tar to be unpacked at `/` before the first boot."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        home = f"home/{NODE_USER}/.ssh"
        _add(tar, home, None, 0o700, uid=NODE_UID)
        _add(tar, f"{home}/authorized_keys", f"{ssh_public_key.strip()}\n".encode(), 0o600, uid=NODE_UID)
        _add(tar, "etc/ssh/ssh_host_ed25519_key", host_key.private, 0o600)
        _add(tar, "etc/ssh/ssh_host_ed25519_key.pub", f"{host_key.public}\n".encode(), 0o644)
        _add(tar, f"{UNITS}/trainrig-lease.service", LEASE_SERVICE.encode(), 0o644)
        _add(tar, f"{UNITS}/timers.target.wants", None, 0o755)
        link = tarfile.TarInfo(f"{UNITS}/timers.target.wants/trainrig-lease.timer")
        link.type, link.linkname = tarfile.SYMTYPE, "../trainrig-lease.timer"
        tar.addfile(link)
        _add_lease(tar, expires_at)
    return buffer.getvalue()


def lease_files(expires_at: datetime) -> bytes:
    """A tar that moves the end of the lease; systemd must then reload the timer."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        _add_lease(tar, expires_at)
    return buffer.getvalue()


def read_lease(archive: bytes) -> datetime:
    """The end of the lease from a tar of LEASE_FILE."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        member = tar.extractfile(Path(LEASE_FILE).name)
        assert member is not None
        return datetime.fromisoformat(json.load(member)["expires_at"])


def _add_lease(tar: tarfile.TarFile, expires_at: datetime) -> None:
    timer = LEASE_TIMER.format(moment=expires_at.astimezone(UTC))
    _add(tar, f"{UNITS}/trainrig-lease.timer", timer.encode(), 0o644)
    _add(tar, "etc/trainrig", None, 0o755)
    _add(tar, LEASE_FILE, json.dumps({"expires_at": iso(expires_at)}).encode(), 0o644)


def _add(tar: tarfile.TarFile, path: str, content: bytes | None, mode: int, uid: int = 0) -> None:
    """A file, or with `content` None a directory."""
    info = tarfile.TarInfo(path)
    info.mode, info.uid, info.gid = mode, uid, uid
    if content is None:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
        return
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
