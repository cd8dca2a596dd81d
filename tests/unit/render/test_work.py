from __future__ import annotations

from decimal import Decimal

from support import rigs
from trainrig.model.job import Job, Mount
from trainrig.render.work import work

KEY = "ghp_" + "a1B2" * 9


def test_commands_data_limits_and_who_gets_in_without_a_secret() -> None:
    job = Job(
        name="train",
        options=(),
        setup=f"git clone https://x:{KEY}@example.com/x",
        run="a\nb\n",
        env={"LR": "0.1", "API_TOKEN": "hunter2-hunter2"},
        secrets={"HF_TOKEN": "value:planted", "OTHER": "file:~/other"},
        workdir="/home/ada/work",
        mounts=(Mount(target="/data", source="s3://data/c4"), Mount(target="/x", source="/home/ada/x")),
        budget_usd=Decimal(300),
    )
    request = rigs.request(checkpoint_prefix="s3://ckpt/abcd2345/", ssh_ingress_cidrs=("203.0.113.7/32",))
    assert work(job, request) == {
        "setup": "git clone https://x:***@example.com/x",
        "command": "a\nb",
        "variable API_TOKEN": "***",
        "variable LR": "0.1",
        "secret HF_TOKEN": "env:HF_TOKEN",
        "secret OTHER": "file:~/other",
        "code": ".../work",
        "mount /data": "s3://data/c4 (COPY)",
        "mount /x": ".../x (COPY)",
        "may write to": "s3://ckpt/abcd2345/",
        "budget": "300 USD",
        "SSH from": "203.0.113.7/32",
    }


def test_a_rig_that_nobody_reaches_says_so() -> None:
    shown = work(Job(name="train", options=()), rigs.request(ssh_ingress_cidrs=(), checkpoint_prefix=None))
    assert shown == {"SSH from": "nowhere"}
