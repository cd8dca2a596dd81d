from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from support.specs import ANYWHERE, job, problems
from trainrig.errors import SpecInvalid
from trainrig.model.job import Checkpoints, Guard, Guards, MoveWishes, Notify, Pins, PlacementWishes, Recovery

EVERYTHING = """
name: everything
run: python train.py
setup: pip install -r requirements.txt
workdir: {url: 'https://github.com/org/repo.git', ref: v1}
num_nodes: 2
image: docker:org/image:1
launch: torchrun
checkpoints:
  {path: /ckpt, interval: 15m, size: 60GB, save_signal: sigusr1, resume: {from: abc}, keep: 5, store: 's3://b/p'}
outputs: {model: /outputs/model}
budget: $400.50
deadline: 2026-02-01T18:00:00+02:00
expected_hours: 18
timeout: 1d12h
lease: 2d
placement: {profile: speed, fallbacks: 3, same: region, egress_usd_per_gb: 0.05}
pins: {driver: 570.172.08, cuda: 12.8}
recovery: {max_recoveries: 3, on_exit_codes: [42], max_restarts_on_errors: 1, strategy: failover, move: {min_saving: 5}}
network: {vpc: vpc-1}
api_server_access: false
config: {kubernetes: {enable_docker: true}}
"""


def test_every_key_of_trainrig() -> None:
    found = job(EVERYTHING)
    assert (found.name, found.nodes, found.image, found.launch) == ("everything", 2, "org/image:1", "torchrun")
    assert (found.workdir, found.workdir_ref) == ("https://github.com/org/repo.git", "v1")
    assert found.checkpoints == Checkpoints(
        path="/ckpt",
        interval_minutes=Decimal(15),
        size_gb=Decimal(60),
        save_signal="SIGUSR1",
        resume="from:abc",
        keep=5,
        store="s3://b/p",
    )
    assert found.outputs == {"model": "/outputs/model"}
    assert (found.budget_usd, found.expected_hours) == (Decimal("400.50"), Decimal(18))
    assert found.deadline == datetime(2026, 2, 1, 16, tzinfo=UTC)
    assert (found.timeout_seconds, found.lease_seconds) == (36 * 3600, 48 * 3600)
    assert found.placement == PlacementWishes(
        profile="speed", fallbacks=3, same="region", egress_usd_per_gb=Decimal("0.05")
    )
    assert found.pins == Pins(driver="570.172.08", cuda="12.8")
    assert found.recovery == Recovery(
        max_recoveries=3,
        on_exit_codes=(42,),
        max_restarts_on_errors=1,
        strategy="failover",
        move=MoveWishes(min_saving_usd=Decimal(5)),
    )
    assert found.network == {"vpc": "vpc-1"}


@pytest.mark.parametrize(
    ("written", "move"),
    [
        ("true", MoveWishes()),
        ("false", None),
        ("{}", MoveWishes()),
        (
            "{min_saving: 0.50, wait: 30m, max_moves: 2}",
            MoveWishes(min_saving_usd=Decimal("0.50"), wait_seconds=1800, max_moves=2),
        ),
    ],
)
def test_moving_is_asked_for(written: str, move: MoveWishes | None) -> None:
    assert job(f"run: x\nrecovery: {{move: {written}}}\n").recovery.move == move
    everywhere = replace(ANYWHERE, defaults={"recovery": {"move": True}})
    assert job("run: x\nrecovery: {max_recoveries: 3}\n", environment=everywhere).recovery.move == MoveWishes()


@pytest.mark.parametrize("written", ["--ipc=host --ulimit memlock=-1", "[--ipc=host, --ulimit memlock=-1]"])
def test_options_of_docker_run(written: str) -> None:
    found = job(f"run: x\nconfig: {{docker: {{run_options: {written}}}}}\n")
    assert found.container_options == ("--ipc=host", "--ulimit", "memlock=-1")


def test_a_checkpoint_path_alone() -> None:
    assert job("run: x\ncheckpoints: /ckpt\n").checkpoints == Checkpoints(path="/ckpt")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("name: -x", "`-x` is not a name"),
        ("name: a---b", "`a---b` is not a name"),
        ("num_nodes: 0", "0 is not between 1 and 1000"),
        ("envs: {1A: x}", "`1A` is not a variable's name"),
        ("envs: {TRAINRIG_RANK: 0}", "`TRAINRIG_RANK`: names that begin with TRAINRIG_ are set by trainrig"),
        ("envs: [A]", "a mapping of names to values is wanted here, not a list"),
        ("checkpoints: {path: relative}", "`relative` is not a path in the container"),
        ("checkpoints: {interval: 5m}", "`checkpoints` needs the key `path`"),
        ("checkpoints: {path: /c, resume: maybe}", "`maybe` is not fresh, resume or from:RUN"),
        ("checkpoints: {path: /c, store: 'ftp://x'}", "`ftp://x` is not the URL of a store"),
        ("outputs: {'s3://b': 10}", "SkyPilot's `outputs: {URL: GB}` is not supported"),
        ("budget: 0", "0 is not more than zero dollars"),
        ("budget: lots", "an amount of US dollars is wanted here, not `lots`"),
        ("deadline: 2026-02-01T18:00:00", "2026-02-01T18:00:00 has no time zone"),
        ("deadline: soon", "a time such as 2026-01-31T18:00:00Z is wanted here, not `soon`"),
        ("timeout: 10", "a duration such as 90m, 10h or 2d is wanted here, not `10`"),
        ("timeout: 5x", "a duration such as 90m, 10h or 2d is wanted here, not `5x`"),
        ("timeout: 800d", "800d is not between one second and a year"),
        ("placement: {profile: fast}", "`fast` is not one of balanced, cost, speed"),
        ("pins: {driver: latest}", "`latest` is not a version such as 12.8"),
        ("config: {gcp: {}}", "`config.gcp` is not supported: identity and network"),
        ("config: {docker: {run_options: --network=none}}", "`--network=none` is not supported: trainrig sets it"),
        ("config: {docker: {run_options: ubuntu}}", "`ubuntu` is not an option of docker run"),
        ("config: {docker: {run_options: --ipc=host ubuntu}}", "`ubuntu` is not an option of docker run"),
        ("config: {docker: {run_options: '--label \"x'}}", "options that a shell would not take: no closing"),
        ("api_server_access: true", "`api_server_access: true` is not supported: there is no API server"),
        (
            "recovery: {strategy: failover}\nresources: {job_recovery: failover}",
            "`recovery` and `job_recovery` say the same thing",
        ),
    ],
)
def test_what_is_refused(line: str, said: str) -> None:
    (message,) = problems(f"run: x\n{line}\n")
    assert message.split(" ", 1)[1].startswith(said)


def test_all_that_is_wrong_in_a_list_or_mapping_is_said() -> None:
    text = """
run: x
envs: {A: [1], B: 010, C: {}}
resources:
  ports: [0, 80, x]
  labels: {a: 7, b: yes}
  accelerators: [A100:0, 'B:x:1', L4]
  any_of: [1, {cpus: 0}, x]
secrets: [1A, B, 2C]
"""
    assert [message.split(" ", 1)[0] for message in problems(text)] == [
        "3:11", "3:19", "3:27", "5:11", "5:18", "6:15", "6:21", "7:18", "7:26", "8:12", "8:26", "9:11", "9:18",
    ]  # fmt: skip


def test_a_template_is_told_from_a_mapping() -> None:
    with pytest.raises(SpecInvalid) as caught:
        job("run: {{ command }}\n")
    assert "`{{ }}` is of a template" in caught.value.problems[0].hint


def test_a_webhook_is_named_and_never_written_down() -> None:
    found = job("notify: {webhook: 'env:HOOK', events: failed}\nrun: x\n").notify
    assert found == Notify(webhook="env:HOOK", events=("failed",))
    assert job("notify: {webhook: 'file:~/hook'}\nrun: x\n").notify == Notify(webhook="file:~/hook")
    (words,) = problems("notify: {webhook: 'https://hooks.example/T0/B0/x'}\nrun: x\n")
    assert "a reference is wanted here" in words
    (words,) = problems("notify: {events: [done]}\nrun: x\n")
    assert "needs the key `webhook`" in words


def test_guards_are_short_or_say_what_to_do() -> None:
    found = job("guards: {idle: {after: 30m, do: stop}, silence: 1h, disk: 90}\nrun: x\n").guards
    assert found == Guards(idle=Guard(limit=1800, do="stop"), silence=Guard(limit=3600), disk=Guard(limit=90))
    assert job("run: x\n").guards == Guards()
    (words,) = problems("guards: {disk: {above: 120}}\nrun: x\n")
    assert "120 is not between 1 and 99" in words
    (words,) = problems("guards: {idle: {after: 30m, do: panic}}\nrun: x\n")
    assert "`panic` is not one of warn, checkpoint, stop, destroy" in words
    (words,) = problems("guards: {idle: {do: stop}}\nrun: x\n")
    assert "needs the key `after`" in words


def test_a_refused_key_without_a_value_is_not_there() -> None:
    found = job("run: x\nservice: null\nresources: {priority: null, volumes: }\nconfig: {gcp: ~}\n")
    assert found.run == "x"
    assert problems("run: x\nno_such_key: null\n") == ["2:1 unknown key `no_such_key` in the job file"]
