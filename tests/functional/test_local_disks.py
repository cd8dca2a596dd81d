"""local-disks on real block devices: loop devices that a stand-in for lsblk gives the model of a cloud's own disks.

Everything else is real: blkid, mkfs, systemd's mount, and a node that boots again. RAID needs a kernel with md.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import nodes
from support.role_scripts import render
from trainrig.localcloud import engine

pytestmark = [pytest.mark.docker, pytest.mark.slow]

MODEL = "Amazon EC2 NVMe Instance Storage"
SIZE = 64 << 20
LSBLK = f"""#!/bin/sh
case "$*" in *NAME,MODEL*) ;; *) exec /usr/bin/lsblk.real "$@" ;; esac
for disk in /dev/loop*; do [ ! -b "$disk" ] || echo "$disk {MODEL}"; done
"""
NO_MD = "this kernel has no md, and with it no RAID"


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    image: Path
    device: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    container: Any
    disks: Sequence[Disk]

    def sh(self, line: str) -> tuple[int, str]:
        code, output = self.container.exec_run(["sh", "-c", line])
        return code, output.decode().strip()

    def run(self, *words: str) -> tuple[int, str]:
        return self.sh(" ".join(["/usr/local/lib/trainrig/local-disks", *words]))

    def lay(self, path: str, text: str) -> None:
        code, said = self.sh(f"mkdir -p $(dirname {path}) && cat >{path} <<'@END@'\n{text}\n@END@\nchmod 0755 {path}")
        assert code == 0, said

    def reboot(self) -> None:
        self.container.restart()
        self.await_boot()

    def await_boot(self) -> None:
        code, said = self.sh(
            "for i in $(seq 100); do systemctl is-system-running | grep -q -e running -e degraded "
            "&& exit 0; sleep 0.2; done; systemctl list-jobs; exit 1"
        )
        assert code == 0, said

    def mounted(self) -> str:
        return self.sh("findmnt --noheadings --output SOURCE,FSTYPE /srv/trainrig")[1]


def overwrite(disk: Disk, pattern: bytes) -> None:
    with Path(disk.device).open("r+b", buffering=0) as device:
        device.writelines((pattern * (1 << 20))[: 1 << 20] for _ in range(SIZE >> 20))
        os.fsync(device.fileno())


@contextmanager
def loop_device(image: Path) -> Iterator[Disk]:
    with image.open("wb") as file:
        file.truncate(SIZE)
    made = subprocess.run(["losetup", "--find", "--show", str(image)], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop devices here: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        yield Disk(image=image, device=device)
    finally:
        subprocess.run(["losetup", "--detach", device], check=False)


@contextmanager
def machine(tmp_path: Path, count: int) -> Iterator[Bench]:
    """A node of the local cloud with `count` disks of its own."""
    with ExitStack() as stack:
        disks = [stack.enter_context(loop_device(tmp_path / f"disk-{i}")) for i in range(count)]
        (node,) = stack.enter_context(nodes.booted(tmp_path / "rig", devices=[d.device for d in disks]))
        bench = Bench(container=engine.connect().client.containers.get(node.instance_id), disks=disks)
        bench.await_boot()
        bench.sh("mv /usr/bin/lsblk /usr/bin/lsblk.real")
        bench.lay("/usr/bin/lsblk", LSBLK)
        bench.lay("/usr/local/lib/trainrig/local-disks", render("base", "local-disks"))
        try:
            yield bench
        finally:
            bench.sh("systemctl stop srv-trainrig.mount")


def test_one_disk_is_mounted_kept_over_a_boot_and_never_made_anew(tmp_path: Path) -> None:
    with machine(tmp_path, 1) as bench:
        device = bench.disks[0].device
        told = f"local disks at /srv/trainrig: {device}"
        assert bench.run("--check") == (0, told)
        assert bench.sh(f"blkid {device}")[1] == ""  # a check writes nothing
        assert bench.run() == (0, told)
        assert bench.mounted().split() == [device, "ext4"]
        assert bench.run() == (0, "")
        assert bench.run("--check") == (0, "")
        bench.sh("echo kept > /srv/trainrig/checkpoint; sync")
        bench.reboot()
        assert bench.sh("cat /srv/trainrig/checkpoint") == (0, "kept")
        assert bench.run() == (0, "")
        # somebody took the mount away, with its unit
        bench.sh("systemctl disable --now srv-trainrig.mount; rm -f /etc/systemd/system/srv-trainrig.mount")
        assert bench.run() == (0, told)
        assert bench.sh("cat /srv/trainrig/checkpoint") == (0, "kept")


CARRIES = {
    "ext4": ("mkfs.ext4 -q {disk}", "ext4"),
    "a partition table alone": (
        """printf '\\203\\0\\0\\0\\001\\0\\0\\0\\144' | dd of={disk} bs=1 seek=450 conv=notrunc status=none
        printf '\\125\\252' | dd of={disk} bs=1 seek=510 conv=notrunc status=none""",
        "dos",
    ),
    "swap": ("mkswap -q {disk}", "swap"),
    "bytes that nobody knows": ("printf 'somebody was here' | dd of={disk} conv=notrunc status=none", "data"),
}


@pytest.mark.parametrize("kind", CARRIES)
def test_a_disk_that_carries_something_is_never_written_to(tmp_path: Path, kind: str) -> None:
    fill, found = CARRIES[kind]
    with machine(tmp_path, 1) as bench:
        (disk,) = bench.disks
        subprocess.run(["sh", "-c", fill.format(disk=disk.device)], check=True)
        subprocess.run(["sync", disk.device], check=True)
        bench.lay("/var/lib/trainrig/converged.json", "{}")
        before = disk.image.read_bytes()
        assert bench.run("--check") == (0, "")
        assert bench.run() == (0, "")
        assert bench.run("--left") == (0, f"{disk.device} ({found})")
        subprocess.run(["sync", disk.device], check=True)
        assert disk.image.read_bytes() == before
        assert bench.mounted() == ""


def test_the_empty_one_of_two_disks_is_taken(tmp_path: Path) -> None:
    with machine(tmp_path, 2) as bench:
        theirs, ours = bench.disks
        subprocess.run(["mkfs.ext4", "-q", theirs.device], check=True)
        assert bench.run() == (0, f"local disks at /srv/trainrig: {ours.device}")
        assert bench.mounted().split() == [ours.device, "ext4"]
        assert bench.run("--left") == (0, f"{theirs.device} (ext4)")


def test_a_disk_that_is_gone_after_a_boot_is_told_of(tmp_path: Path) -> None:
    with machine(tmp_path, 1) as bench:
        (disk,) = bench.disks
        assert bench.run()[0] == 0
        bench.sh("systemctl stop srv-trainrig.mount")
        overwrite(disk, b"other")  # what answers now is another disk, with somebody's data
        bench.lay("/var/lib/trainrig/converged.json", "{}")
        code, said = bench.run("--check")
        assert (code, "are gone or incomplete" in said) == (0, True)
        code, said = bench.run()
        assert code == 1
        assert f"its disks are now: {disk.device}; destroy the rig and run again" in said


def test_a_blank_disk_after_a_stop_and_a_start_is_taken_anew(tmp_path: Path) -> None:
    with machine(tmp_path, 1) as bench:
        (disk,) = bench.disks
        assert bench.run()[0] == 0
        bench.sh("systemctl stop srv-trainrig.mount")
        overwrite(disk, b"\0")
        assert bench.run() == (0, f"local disks at /srv/trainrig: {disk.device}")
        assert bench.mounted().split() == [disk.device, "ext4"]


def test_several_disks_become_one(tmp_path: Path) -> None:
    if not Path("/proc/mdstat").exists():
        pytest.skip(NO_MD)
    with machine(tmp_path, 2) as bench:
        names = " ".join(d.device for d in bench.disks)
        assert bench.run() == (0, f"local disks at /srv/trainrig: {names}")
        assert bench.sh("findmnt --noheadings --bytes --output SIZE /srv/trainrig")[1].isdigit()
        assert bench.run() == (0, "")
