from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from support.offers import NOW, environment, job, option
from trainrig.lifecycle.local_sizes import with_local_sizes
from trainrig.lifecycle.place import place
from trainrig.model.job import Mount


def sizes(*mounts: Mount) -> list[Decimal | None]:
    return [m.size_gb for m in with_local_sizes(job(mounts=mounts)).mounts]


def test_local_files_are_weighed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one").write_bytes(b"x" * 1500)
    (tmp_path / "two").write_bytes(b"x" * 500)

    found = sizes(
        Mount(target="/d", source=str(tmp_path)),
        Mount(target="/d", source=str(tmp_path / "two")),
        Mount(target="/d", source=str(tmp_path), size_gb=Decimal(7)),
        Mount(target="/d", source="s3://bucket"),
        Mount(target="/d", source=None),
        Mount(target="/d", source=str(tmp_path / "missing")),
    )

    assert found == [Decimal("0.000002"), Decimal("0.0000005"), Decimal(7), None, None, Decimal(0)]


def test_a_big_folder_is_warned_of_before_anything_is_paid_for(tmp_path: Path) -> None:
    with (tmp_path / "weights").open("wb") as sparse:
        sparse.truncate(100 * 10**9)
    mounts = (Mount(target="/data", source=str(tmp_path)),)

    placement = place(job(mounts=mounts), environment(), now=NOW)

    [warning] = [w.detail for w in placement.warnings if w.code == "slow_upload"]
    assert "is 100.0 GB on this machine" in warning
    assert "takes 4.4 hours at 50 Mbit/s" in warning


def test_this_machine_needs_no_upload(tmp_path: Path) -> None:
    from trainrig.model.environment import CloudPolicy

    mounts = (Mount(target="/data", source="/somewhere", size_gb=Decimal(100)),)
    local = environment(clouds=(CloudPolicy(cloud="local"),))

    placement = place(job(mounts=mounts, options=(option(gpus=()),)), local, now=NOW)

    assert placement.chosen is not None
    assert "slow_upload" not in {w.code for w in placement.warnings}
