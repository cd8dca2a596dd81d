"""Which kind of file system a folder lies on, as far as Linux tells."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
# Several machines may have these at once. What one of them maps into memory, the others do not see.
_SHARED = re.compile(r"(nfs\d?|cifs|smb3?|9p|ceph|lustre|glusterfs|gpfs|beegfs\w*|afs|ocfs2|gfs2|fuse\..*|virtiofs)\Z")


def shared_by_machines(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether other machines may have the folder mounted too; False where there is no /proc to ask."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    path = str(folder.resolve())
    best, kind = "", ""
    for line in lines:
        # "36 35 98:0 /root /mount/point options - type source super-options", with \040 for a space
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), before.split(" ")[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two on one point, the later one is seen
            best, kind = point, after.split(" ")[0]
    return bool(_SHARED.match(kind))
