"""A job's Dockerfile, built by the real Docker of this machine on the local cloud's own image: no registry needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from trainrig.clouds import registry
from trainrig.errors import SpecInvalid
from trainrig.model.events import silent
from trainrig.tools import container

pytestmark = pytest.mark.docker


@pytest.fixture
def name(client: docker.DockerClient, tmp_path: Path) -> Iterator[str]:
    name = f"test-{tmp_path.name}".lower().replace("_", "-")
    yield name
    for image in client.images.list(f"trainrig-built/{name}"):
        client.images.remove(str(image.id), force=True)


def test_the_same_dockerfile_is_the_same_image_and_no_registry_knows_it(tmp_path: Path, name: str) -> None:
    base = registry.built_images("local").container()
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nCOPY words /words\n")
    (tmp_path / "words").write_text("one\n")
    first = container.build(tmp_path / "Dockerfile", name, silent)
    assert container.build(tmp_path / "Dockerfile", name, silent) == first
    assert container.local_image(first) == (first, ())
    (tmp_path / "words").write_text("two\n")
    assert container.build(tmp_path / "Dockerfile", name, silent) != first


def test_a_step_that_fails_is_said_and_leaves_nothing(tmp_path: Path, name: str, client: docker.DockerClient) -> None:
    base = registry.built_images("local").container()
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN echo no such package of {name}; exit 7\n")
    with pytest.raises(SpecInvalid, match="no such package"):
        container.build(tmp_path / "Dockerfile", name, silent)
    left = client.containers.list(all=True, ignore_removed=True)
    assert [c.name for c in left if name in str(c.attrs["Config"]["Cmd"])] == []
