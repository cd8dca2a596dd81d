"""Local files that must first climb the uplink of the machine that trainrig runs on."""

from __future__ import annotations

from decimal import Decimal

from trainrig.model.job import Job
from trainrig.model.placement import Notice

DEFAULT_UPLINK_MBIT = Decimal(50)  # an office or home line
SLOW_HOURS = Decimal("0.25")


def hours(size_gb: Decimal, uplink_mbit: Decimal) -> Decimal:
    """Decimal GB over megabits a second: 100 GB at 50 Mbit/s take 4.4 hours."""
    return size_gb * 8000 / uplink_mbit / 3600


def notices(job: Job, uplink_mbit: Decimal) -> list[Notice]:
    """The local mounts that take long to upload, each node by itself."""
    found = []
    for mount in job.mounts:
        if mount.source is None or "://" in mount.source or mount.size_gb is None:
            continue
        took = hours(mount.size_gb * job.nodes, uplink_mbit)
        if took >= SLOW_HOURS:
            found.append(
                Notice(
                    code="slow_upload",
                    detail=f"{mount.source} is {mount.size_gb:.1f} GB on this machine: uploading it"
                    f"{f' to {job.nodes} nodes' if job.nodes > 1 else ''} takes {took:.1f} hours at "
                    f"{uplink_mbit:f} Mbit/s while the rig waits. Keep data where the compute is: "
                    "put it into an object store once",
                )
            )
    return found
