from __future__ import annotations

from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import boto3
import pytest

from support.loopback import Loopback, Reply, Request
from support.offers import offer
from trainrig.clouds.aws import quota as aws_quota
from trainrig.clouds.base import Account
from trainrig.model.offer import Market
from trainrig.model.quota import QuotaNeed


@pytest.mark.parametrize(
    ("instance_type", "on_demand", "spot"),
    [
        ("p4d.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p3.2xlarge", "L-417A185B", "L-7212CCBC"),
        ("p5en.48xlarge", "L-417A185B", "L-C4BD4855"),
        ("p6-b200.48xlarge", "L-417A185B", "spot-p6"),
        ("g6e.48xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("gr6.4xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("trn1.32xlarge", "L-2C3B7624", "L-6B0D517C"),
        ("m7i.large", "L-1216C47A", "L-34B43A08"),
        ("im4gn.large", "L-1216C47A", "L-34B43A08"),
        ("x2idn.32xlarge", "L-7295265B", "L-E3A00192"),
    ],
)
def test_each_family_has_its_code(instance_type: str, on_demand: str, spot: str) -> None:
    assert aws_quota.code_of(instance_type, Market.ON_DEMAND) == on_demand
    assert aws_quota.code_of(instance_type, Market.SPOT) == spot


def test_need_is_the_vcpus_of_all_nodes() -> None:
    assert aws_quota.needed(offer(vcpus=96.0), 3) == (
        QuotaNeed(code="L-417A185B", amount=Decimal(288), region="us-east-1"),
    )
    assert aws_quota.needed(offer(market=Market.RESERVED), 3) == ()


def serve_quotas(loopback: Loopback, own: dict[str, float], default: dict[str, float]) -> None:
    def answer(request: Request) -> Any:
        table = default if "GetAWSDefaultServiceQuota" in request.headers["X-Amz-Target"] else own
        code = request.body["QuotaCode"]
        assert request.body["ServiceCode"] == "ec2"
        if code in table:
            return {"Quota": {"QuotaCode": code, "Value": table[code]}}
        return Reply(status=400, body={"__type": "NoSuchResourceException", "Message": "no"})

    loopback.route("POST", "/", answer)


def test_limit_and_use_per_market(account: Account, loopback: Loopback) -> None:
    serve_quotas(loopback, own={"L-DB2E81BA": 192.0}, default={"L-3819A6DF": 0.0})
    ec2 = boto3.client("ec2", region_name="us-east-1")
    image = "ami-12c6146b"
    ec2.run_instances(ImageId=image, InstanceType="g5.12xlarge", MinCount=1, MaxCount=1)
    ec2.run_instances(ImageId=image, InstanceType="m5.large", MinCount=1, MaxCount=1)
    stopped = ec2.run_instances(ImageId=image, InstanceType="g5.12xlarge", MinCount=1, MaxCount=1)
    ec2.stop_instances(InstanceIds=[stopped["Instances"][0]["InstanceId"]])

    g6: dict[str, Any] = {"instance_type": "g6.12xlarge", "vcpus": 48.0}
    found = {q.code: q for q in aws_quota.quotas(account, [offer(**g6), offer(market=Market.SPOT, **g6)])}

    on_demand, spot = found["L-DB2E81BA"], found["L-3819A6DF"]
    assert (on_demand.limit, on_demand.market, on_demand.region) == (Decimal(192), Market.ON_DEMAND, "us-east-1")
    # AWS's default where the account has no value of its own
    assert (spot.limit, spot.used) == (Decimal(0), Decimal(0))


def test_use_is_counted_in_vcpus_of_running_instances() -> None:
    def instance(kind: str, cores: int, **more: Any) -> dict[str, Any]:
        return {"InstanceType": kind, "CpuOptions": {"CoreCount": cores, "ThreadsPerCore": 2}, **more}

    ec2 = Mock()
    ec2.get_paginator.return_value.paginate.return_value = [
        {"Reservations": [{"Instances": [instance("g5.12xlarge", 24), instance("g6.xlarge", 2)]}]},
        {"Reservations": [{"Instances": [instance("p5.48xlarge", 96, InstanceLifecycle="spot")]}]},
    ]
    assert aws_quota.vcpus_in_use(ec2) == {"L-DB2E81BA": Decimal(52), "L-C4BD4855": Decimal(192)}
    states = ec2.get_paginator.return_value.paginate.call_args.kwargs["Filters"][0]["Values"]
    assert states == ["pending", "running"]


def test_quota_that_aws_does_not_know_is_unknown(account: Account, loopback: Loopback) -> None:
    serve_quotas(loopback, own={}, default={})
    (found,) = aws_quota.quotas(account, [offer(instance_type="p6-b200.48xlarge", market=Market.SPOT)])
    assert (found.code, found.limit) == ("spot-p6", None)
