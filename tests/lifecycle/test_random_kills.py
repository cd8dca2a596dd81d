"""Kills at moments that nobody chose: apply, hit something once or twice, destroy, count the cloud.

`TRAINRIG_KILLS=200 pytest tests/lifecycle/test_random_kills.py` for a long run; the seed of a failure is in its name.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from support import crash
from support.cli import Ran
from support.stub_cloud import objects

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

SEEDS = range(int(os.environ.get("TRAINRIG_KILLS", "6")))
VICTIMS = ("trainrig", "terraform", "provider", "all")


@pytest.mark.parametrize("seed", SEEDS)
def test_destroy_after_kills_leaves_nothing(
    site: crash.Site, cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    if chance.random() < 0.3:
        monkeypatch.setenv("STUB_PLUGIN", "1")
        site.env["STUB_PLUGIN"] = "1"
    objects.order({"op": "create", "sleep": chance.choice([0.0, 0.3, 0.8])}, {"op": "delete", "sleep": 0.2})
    for verb in ("apply", *chance.sample(["apply", "destroy"], k=chance.randint(0, 1))):
        with site.start(verb) as driver:
            time.sleep(chance.uniform(0.3, 4.0))
            _hit(site, chance, driver)
            driver.wait(crash.PATIENCE_SECONDS)
    ran = cli("destroy", "--run-id", crash.RUN, "--format", "json")
    assert ran.code == 0, ran.out + ran.err
    site.settle()
    assert objects.everything() == []
    assert cli("status").out == "no rigs\n"


def _hit(site: crash.Site, chance: random.Random, driver: subprocess.Popen[bytes]) -> None:
    sig = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    victim = chance.choice(VICTIMS)
    pids = {
        "trainrig": [driver.pid],
        "terraform": site.terraform(),
        "provider": site.providers(),
        "all": [driver.pid, *site.terraform(), *site.providers()],
    }[victim]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sig)
