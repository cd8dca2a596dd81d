from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.store.filesystem import shared_by_machines

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /srv rw shared:2 - nfs4 files:/srv rw,vers=4.2
31 30 0:41 / /srv/scratch rw - tmpfs tmpfs rw
32 22 0:42 / /mnt/team\040files rw - fuse.sshfs ada@files: rw
33 22 0:43 / /srvs rw - xfs /dev/sdb rw
34 22 0:44 / /twice rw - ext4 /dev/sdc rw
35 22 0:45 / /twice rw - cifs //files/twice rw
"""


@pytest.mark.parametrize(
    ("folder", "shared"),
    [
        ("/srv/trainrig", True),
        ("/srv", True),
        ("/srv/scratch/x", False),
        ("/srvs/x", False),
        ("/home/ada", False),
        ("/mnt/team files/x", True),
        ("/twice/x", True),
    ],
)
def test_the_innermost_mount_decides(tmp_path: Path, folder: str, shared: bool) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert shared_by_machines(Path(folder), tmp_path / "mountinfo") is shared


def test_a_system_without_proc_is_taken_for_one_machine(tmp_path: Path) -> None:
    assert not shared_by_machines(tmp_path, tmp_path / "none")
