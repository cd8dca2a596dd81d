"""The roles on a real node: systemd inside, apt for real, the job in a real container."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import nodes
from support.jobs import a_job, an_offer
from trainrig.clouds import registry
from trainrig.lifecycle import collect, deliver, job_control
from trainrig.lifecycle.configure import configure, converge
from trainrig.lifecycle.verify import verify
from trainrig.model.events import Event, LogLine, silent
from trainrig.model.evidence import NodeEvidence
from trainrig.model.job import Checkpoints
from trainrig.model.node import Node
from trainrig.render.inventory import role_variables
from trainrig.render.launch import Launch
from trainrig.tools.ssh import Ssh

pytestmark = [pytest.mark.docker, pytest.mark.slow]

JOB = a_job(
    setup="echo ready",
    run="""trap 'echo saved > /checkpoints/last; exit 0' TERM
echo "hello $TOKEN"; echo '{"loss": 1}' > /outputs/m.json
$ACT""",
    outputs={"metrics": "/outputs/m.json", "elsewhere": "/tmp/elsewhere"},
    checkpoints=Checkpoints(path="/checkpoints"),
    metrics=True,
)
OFFER = an_offer()


@pytest.fixture(scope="module")
def image() -> str:
    return registry.built_images("local").container()


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rig")


@pytest.fixture(scope="module")
def node(rig: Path) -> Iterator[Node]:
    with nodes.booted(rig) as (node,):
        yield node


@pytest.fixture(scope="module")
def ssh(rig: Path, node: Node, image: str) -> Iterator[Ssh]:
    """A node that was configured once."""
    ssh = configure(rig, JOB, OFFER, [node], image, silent)
    yield ssh
    ssh.close()


def launch(image: str, node: Node, act: str) -> Launch:
    job = a_job(
        setup=JOB.setup,
        run=JOB.run,
        outputs=JOB.outputs,
        checkpoints=JOB.checkpoints,
        env={"ACT": act},
        secrets={"TOKEN": "s3cret"},
    )
    return Launch(job=job, nodes=(node,), offer=OFFER, image=image, rig="t", run_id="abc23456")


def sh(ssh: Ssh, line: str) -> str:
    return ssh.run(ssh.nodes[0], ["sh", "-c", line], timeout_seconds=60).stdout.strip()


def check(evidence: NodeEvidence, name: str) -> tuple[str, str]:
    found = next(c for c in evidence.checks if c.name == name)
    return found.status, found.detail


def test_a_second_run_of_all_roles_changes_nothing(ssh: Ssh, image: str) -> None:
    recap = converge(ssh, ssh.nodes, role_variables(JOB, OFFER, image), silent)
    assert recap.changed == []
    assert recap.results > 10


def test_exporters_answer_on_the_node_alone(ssh: Ssh) -> None:
    get = "python3 -c 'import sys,urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())'"
    assert "node_memory_MemTotal_bytes" in sh(ssh, f"{get} http://127.0.0.1:9100/metrics")
    assert ":9100" not in sh(ssh, "ss -ltnH | grep -v 127.0.0.1").split()


def test_a_node_that_has_not_moved_is_not_converged_again(rig: Path, ssh: Ssh, image: str) -> None:
    seen: list[Event] = []
    configure(rig, JOB, OFFER, ssh.nodes, image, seen.append)
    assert "0 changes on 0 of 1 nodes" in str(seen[-1])


def test_verify_finds_a_node_that_was_changed_by_hand_and_configure_mends_it(rig: Path, ssh: Ssh, image: str) -> None:
    sh(ssh, "echo >> /etc/systemd/system/trainrig-job.service; echo docker.io install | dpkg --set-selections")
    (evidence,) = verify(ssh, JOB, OFFER, image, silent).nodes
    status, detail = check(evidence, "drift")
    assert status == "fail"
    assert "job : Lay down the files of the role (/etc/systemd/system/trainrig-job.service)" in detail
    assert "container_runtime : Hold Docker Engine" in detail
    assert check(evidence, "gpus") == ("not_applicable", "the offer has no GPU")
    configure(rig, JOB, OFFER, ssh.nodes, image, silent)
    (evidence,) = verify(ssh, JOB, OFFER, image, silent).nodes
    assert check(evidence, "drift") == ("pass", "as the roles left it")
    stored = json.loads((rig / "evidence.json").read_text())
    assert stored["schema"] == "trainrig.evidence/1"


def test_docker_comes_back_from_a_half_written_file_a_mask_and_systemds_giving_up(
    rig: Path, ssh: Ssh, image: str
) -> None:
    sh(ssh, "printf '{\"exec-opts\": [' > /etc/docker/daemon.json; systemctl restart docker 2>/dev/null || true")
    sh(ssh, "systemctl stop docker.service docker.socket; systemctl mask docker.service")
    (evidence,) = verify(ssh, JOB, OFFER, image, silent).nodes
    assert check(evidence, "docker")[0] == "fail"
    assert "container_runtime : Start Docker Engine" in check(evidence, "drift")[1]
    configure(rig, JOB, OFFER, ssh.nodes, image, silent)
    assert sh(ssh, "docker version --format '{{.Server.Os}}'; systemctl is-enabled docker.service") == "linux\nenabled"


def test_a_job_runs_to_its_end_and_its_secrets_are_gone_with_it(
    ssh: Ssh, node: Node, image: str, tmp_path: Path
) -> None:
    seen: list[Event] = []
    start = launch(image, node, "touch /tmp/elsewhere")
    deliver.deliver(ssh, start, silent)
    job_control.start(ssh, start, silent)
    end = job_control.follow(ssh, seen.append)
    assert end.verdict == "succeeded"
    assert [e.text for e in seen if isinstance(e, LogLine)] == ["ready", "hello s3cret"]
    assert sh(ssh, "ls /run/trainrig/job") == "scripts"
    assert sh(ssh, "grep -rl s3cret /etc/systemd /var/lib/trainrig /srv/trainrig || true") == ""
    found = collect.collect_outputs(ssh, start.job, tmp_path, silent)
    assert json.loads(found["metrics"].read_text()) == {"loss": 1}
    assert found["elsewhere"].exists()


def test_a_launch_takes_the_place_of_one_that_still_runs(ssh: Ssh, node: Node, image: str) -> None:
    job_control.start(ssh, launch(image, node, "sleep 600"), silent)
    sh(ssh, "until docker top trainrig-job 2>/dev/null | grep -q sleep; do sleep 0.1; done")
    seen: list[Event] = []
    job_control.start(ssh, launch(image, node, "echo the second"), silent)
    assert job_control.follow(ssh, seen.append).verdict == "succeeded"
    assert "the second" in [e.text for e in seen if isinstance(e, LogLine)]


def test_a_job_that_fails_ends_with_its_own_code(ssh: Ssh, node: Node, image: str) -> None:
    job_control.start(ssh, launch(image, node, "exit 42"), silent)
    end = job_control.follow(ssh, silent)
    assert (end.verdict, end.exit_code) == ("failed", 42)


def test_a_job_that_is_stopped_saves_first(ssh: Ssh, node: Node, image: str, tmp_path: Path) -> None:
    job_control.start(ssh, launch(image, node, "sleep 600"), silent)
    sh(ssh, "until docker top trainrig-job 2>/dev/null | grep -q sleep; do sleep 0.1; done")
    job_control.stop(ssh, silent)
    assert job_control.follow(ssh, silent).exit_code == 0
    assert collect.collect_checkpoints(ssh, tmp_path, silent) == 1
    assert (tmp_path / "rank-0" / "last").read_text() == "saved\n"


def test_a_node_that_booted_again_has_lost_its_job(ssh: Ssh, node: Node, image: str) -> None:
    job_control.start(ssh, launch(image, node, "sleep 600"), silent)
    sh(ssh, "until docker kill trainrig-job 2>/dev/null; do sleep 0.1; done")
    sh(ssh, "while ! [ -e /var/lib/trainrig/job/exit.json ]; do sleep 0.1; done; rm /var/lib/trainrig/job/exit.json")
    assert job_control.follow(ssh, silent).verdict == "lost"
