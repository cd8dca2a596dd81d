from __future__ import annotations

from pathlib import Path

import pytest

from support.jobs import a_job
from trainrig.errors import SpecInvalid
from trainrig.lifecycle.deliver import require_sources
from trainrig.model.job import Mount, MountMode


def mount(source: str) -> Mount:
    return Mount(target="/data", source=source, mode=MountMode.COPY)


def test_all_that_is_not_here_is_named_before_a_rig_costs_anything(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    job = a_job(workdir=str(tmp_path / "file"), mounts=(mount(str(tmp_path / "data")), mount(str(tmp_path / "file"))))
    with pytest.raises(SpecInvalid) as raised:
        require_sources(job)
    assert f"workdir: {tmp_path}/file is not a directory" in raised.value.message
    assert f"file_mounts: {tmp_path}/data is not there" in raised.value.message
    assert raised.value.message.count("file_mounts") == 1


@pytest.mark.parametrize("workdir", ["git@example.com:team/repo.git", "https://example.com/repo.git", None])
def test_what_lies_elsewhere_is_not_looked_for_here(workdir: str | None) -> None:
    require_sources(a_job(workdir=workdir, mounts=(mount("s3://bucket/data"),)))
