"""Every golden root, through real Terraform: valid against today's provider schemas, applied, stable, gone.

The clouds are stand-ins; tests/support/standin says what they prove. The local cloud's own provider is tested with real
containers in tests/functional.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import golden
from support.standin.cloud import FakeCloud
from support.standin.serve import serve
from trainrig.lifecycle import plan_resources
from trainrig.lifecycle.render_rig import write
from trainrig.model.node import Node
from trainrig.tools import terraform_state
from trainrig.tools.terraform import Terraform

pytestmark = pytest.mark.terraform

CASES = [name for name in golden.names() if golden.case(name).cloud != "local"]


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeCloud, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("cloud")
    with serve(folder) as env:
        yield FakeCloud(folder), env


@pytest.mark.parametrize("name", CASES)
def test_a_root_is_applied_is_stable_and_leaves_nothing(
    name: str, stand_ins: tuple[FakeCloud, dict[str, str]], tmp_path: Path
) -> None:
    cloud, env = stand_ins
    files = golden.render(golden.case(name))
    files.pop("backend.tf.json", None)  # tests/backends has those
    files.pop(".terraform.lock.hcl", None)  # of the real provider, and this is not it
    write(files, tmp_path)
    terraform = Terraform(tmp_path, env=env)
    terraform.init().check()
    outputs = terraform.apply(None).check().outputs
    # What `plan --offline` says without any provider is what Terraform makes.
    offline = plan_resources.work_out(files, golden.case(name).cloud)
    made = terraform_state.parse(terraform.state_pull())
    assert [r.address for r in offline.resources] == sorted(r.address for r in made)
    nodes = [Node.from_output(value) for value in outputs["nodes"]]
    assert [node.rank for node in nodes] == list(range(len(nodes)))
    terraform.plan().check()
    assert terraform.show_plan().changes == ()
    terraform.destroy().check()
    assert cloud.objects() == []
