from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from support.offers import offer
from trainrig import app
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing
from trainrig.lifecycle.place import open_index
from trainrig.model.clock import utc_now
from trainrig.model.offer import Market, Offer
from trainrig.model.quota import Quota
from trainrig.store import quota_cache

HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone\n"
)
QUOTA = Quota(
    cloud="aws",
    region="us-east-1",
    code="L-417A185B",
    unit="vcpus",
    market=Market.ON_DEMAND,
    limit=Decimal(96),
    used=Decimal(0),
)
P4D = "p4d.24xlarge,A100,8,96,1152,,21.9576,7.88,us-east-1,use1-az1\n"
SHARE = "g6f.large,L4,0.125,2,8,,0.2,,us-east-1,use1-az1\n"


class Cloud:
    """Stands for clouds/<name>/offers.py and quota.py."""

    def __init__(self, answer: list[Offer] | Exception) -> None:
        self.answer = answer
        self.asked: list[Account] = []
        self.quota: Quota | Exception = QUOTA

    def quotas(self, account: Account, offers: Sequence[Offer]) -> Iterator[Quota]:
        assert isinstance(self.answer, list)
        assert offers == [o for o in self.answer if not account.regions or o.region in account.regions]
        if isinstance(self.quota, Exception):
            raise self.quota
        yield self.quota

    def offers(self, account: Account) -> Iterator[Offer]:
        self.asked.append(account)
        if isinstance(self.answer, Exception):
            raise self.answer
        yield from self.answer


@pytest.fixture
def clouds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Cloud]:
    """AWS answers, Google has no credentials, Azure answers nonsense."""
    found = {
        "aws": Cloud([offer("30"), offer("31", region="us-west-2")]),
        "gcp": Cloud(CredentialsMissing("gcp: no credentials", hint="gcloud auth application-default login")),
        "azure": Cloud(KeyError("Items")),
    }
    monkeypatch.setattr(registry, "offers", found.__getitem__)
    monkeypatch.setattr(registry, "quota", found.__getitem__)
    return found


def rows(cloud: str) -> list[Offer]:
    with open_index() as index:
        return [o for o in index.offers() if o.cloud == cloud]


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = app.run(["offers", *words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_each_cloud_is_refreshed_on_its_own(clouds: dict[str, Cloud], capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: len(rows(name)) for name in ("aws", "gcp", "azure")}
    assert before["gcp"] > 0
    code, found = run_json(capsys, "refresh")

    assert code == 0
    assert found["schema"] == "trainrig.offers-refresh/1"
    by_cloud = {c["cloud"]: c for c in found["clouds"]}
    assert (by_cloud["aws"]["offers"], by_cloud["aws"]["error"]) == (2, None)
    assert by_cloud["gcp"]["error"]["hint"] == "gcloud auth application-default login"
    assert "KeyError" in by_cloud["azure"]["error"]["message"]
    assert {o.region for o in rows("aws")} == {"us-east-1", "us-west-2"}
    # the failed ones keep what they had
    assert {name: len(rows(name)) for name in ("gcp", "azure")} == {n: before[n] for n in ("gcp", "azure")}


def test_a_cloud_that_was_asked_for_by_name_must_answer(
    clouds: dict[str, Cloud], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["offers", "refresh", "--cloud", "aws", "--cloud", "gcp"]) == 4
    out, err = capsys.readouterr()
    assert "aws: 2 offers from aws:api, 1 quota" in out
    assert "gcp: kept as it was. gcp: no credentials" in err
    assert not clouds["azure"].asked


def test_several_accounts_of_a_cloud_tell_offers_once_and_quotas_each(
    clouds: dict[str, Cloud], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = tmp_path / "team.yaml"
    env.write_text(
        "clouds: {aws: {accounts: {grant: {regions: [us-east-1], account: {profile: g}},"
        " main: {regions: [us-east-1, us-west-2]}}}}\n"
    )
    assert app.run(["offers", "refresh", "--env", str(env)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines == ["aws grant: 2 offers from aws:api, 1 quota", "aws main: no offers of its own, 1 quota"]
    assert [(a.name, a.regions) for a in clouds["aws"].asked] == [("grant", ("us-east-1", "us-west-2"))]
    with open_index() as index:
        assert {(q.account, q.code) for q in quota_cache.known(index, utc_now())} == {
            ("grant", "L-417A185B"),
            ("main", "L-417A185B"),
        }


def test_quotas_are_remembered_for_placement(clouds: dict[str, Cloud], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "refresh", "--cloud", "aws")[1]["clouds"][0]["quotas"] == 1
    with open_index() as index:
        assert quota_cache.known(index, utc_now()) == (QUOTA,)


def test_unread_quotas_do_not_cost_the_offers(clouds: dict[str, Cloud], capsys: pytest.CaptureFixture[str]) -> None:
    clouds["aws"].quota = CommandFailed("aws: GetServiceQuota: AccessDenied")
    assert app.run(["offers", "refresh", "--cloud", "aws"]) == 0
    assert capsys.readouterr().out == (
        "aws: 2 offers from aws:api\n  quotas not read: aws: GetServiceQuota: AccessDenied\n"
    )
    assert len(rows("aws")) == 2


def test_an_empty_answer_keeps_the_old_offers(clouds: dict[str, Cloud], capsys: pytest.CaptureFixture[str]) -> None:
    clouds["aws"].answer = []
    before = len(rows("aws"))
    assert run_json(capsys, "refresh", "--cloud", "aws")[0] == 4
    assert len(rows("aws")) == before > 0


def test_the_environment_says_where_to_ask(
    clouds: dict[str, Cloud], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = tmp_path / "team.yaml"
    env.write_text("clouds:\n  aws: {account: {profile: training}, regions: [us-east-1]}\n", encoding="utf-8")
    assert run_json(capsys, "refresh", "--env", str(env))[0] == 0
    assert clouds["aws"].asked == [Account(cloud="aws", regions=("us-east-1",), settings={"profile": "training"})]
    assert not clouds["gcp"].asked


def test_a_cloud_without_prices_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["offers", "refresh", "--cloud", "nimbus"]) == 64
    assert "one of: aws, azure, gcp" in capsys.readouterr().err


def test_import_of_a_skypilot_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for cloud in ("aws", "lambda"):
        (tmp_path / cloud).mkdir()
        (tmp_path / cloud / "vms.csv").write_text(HEADER + P4D + SHARE, encoding="utf-8")
    (tmp_path / "aws" / "images.csv").write_text("Tag,Region\n", encoding="utf-8")
    os.utime(tmp_path / "aws" / "vms.csv", (1_700_000_000, 1_700_000_000))

    assert app.run(["offers", "import", str(tmp_path)]) == 0

    out = capsys.readouterr().out
    assert "aws: 2 offers from import:skypilot:vms.csv\n  left out 1 row: a share of a GPU (first in line 3)" in out
    assert {o.captured_at for o in rows("aws")} == {datetime.fromtimestamp(1_700_000_000, UTC)}
    assert len(rows("lambda")) == 2


def test_import_of_a_gpuhunt_file_at_a_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runpod.csv"
    file.write_text(
        "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size\n"
        "A100 80GB,US-KS-2,1.64,8,117,1,A100,80,False,\n",
        encoding="utf-8",
    )
    code, found = run_json(capsys, "import", str(file), "--captured-at", "2026-05-01")
    assert (code, found["clouds"][0]["source"]) == (0, "import:gpuhunt:runpod.csv")
    assert [o.captured_at for o in rows("runpod")] == [datetime(2026, 5, 1, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("aws.csv", b"a,b\n1,2\n", 4),
        ("aws.csv", (HEADER + SHARE).encode(), 4),
        ("aws.csv", (HEADER + P4D).encode() + b"\xff", 4),
        ("My Prices.csv", (HEADER + P4D).encode(), 64),
    ],
)
def test_a_bad_file_is_said_and_changes_nothing(
    tmp_path: Path, name: str, content: bytes, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(rows("aws"))
    file = tmp_path / name
    file.write_bytes(content)
    assert app.run(["offers", "import", str(file)]) == code
    assert "Traceback" not in capsys.readouterr().err
    assert len(rows("aws")) == before


def test_two_lists_of_one_cloud_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(HEADER + P4D, encoding="utf-8")
    assert app.run(["offers", "import", str(tmp_path), "--cloud", "aws"]) == 64
    assert "holds 2 price lists" in capsys.readouterr().err
