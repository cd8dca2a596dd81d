from __future__ import annotations

import io
import tarfile
from datetime import UTC, datetime

from trainrig.localcloud import hostkey
from trainrig.localcloud.rootfs import lease_files, node_files, read_lease

END = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)


def unpacked(archive: bytes) -> dict[str, tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {m.name: (m, (tar.extractfile(m) or io.BytesIO()).read() if m.isfile() else b"") for m in tar}


def test_a_node_gets_its_key_and_its_user_without_a_secret_that_others_read() -> None:
    key = hostkey.generate()
    files = unpacked(node_files("ssh-ed25519 AAAA me\n", key, END))
    host, content = files["etc/ssh/ssh_host_ed25519_key"]
    assert (host.mode, host.uid, content) == (0o600, 0, key.private)
    allowed, content = files["home/trainrig/.ssh/authorized_keys"]
    assert (allowed.mode, allowed.uid, content) == (0o600, 1000, b"ssh-ed25519 AAAA me\n")
    assert files["home/trainrig/.ssh"][0].mode == 0o700


def test_host_keys_are_never_the_same() -> None:
    assert hostkey.generate().public != hostkey.generate().public


def test_the_lease_is_a_timer_that_starts_with_the_node() -> None:
    files = unpacked(node_files("ssh-ed25519 AAAA", hostkey.generate(), END))
    assert b"OnCalendar=2026-03-02 12:00:30 UTC\n" in files["etc/systemd/system/trainrig-lease.timer"][1]
    wanted = files["etc/systemd/system/timers.target.wants/trainrig-lease.timer"][0]
    assert wanted.linkname == "../trainrig-lease.timer"


def test_an_extended_lease_is_read_back() -> None:
    content = unpacked(lease_files(END))["etc/trainrig/rig.json"][1]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:  # as Docker hands out one file
        info = tarfile.TarInfo("rig.json")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    assert read_lease(buffer.getvalue()) == END
