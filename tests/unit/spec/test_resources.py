from __future__ import annotations

from decimal import Decimal

import pytest

from support.specs import job, options, problems
from trainrig.model.job import Amount, Recovery
from trainrig.model.offer import Market


def refused(resources: str) -> list[str]:
    return [m.split(" ", 1)[1] for m in problems(f"run: x\nresources: {resources}\n")]


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("{infra: aws}", ("aws", None, None)),
        ("{infra: AWS/us-east-1}", ("aws", "us-east-1", None)),
        ("{infra: aws/us-east-1/us-east-1a}", ("aws", "us-east-1", "us-east-1a")),
        ("{infra: gcp/*/us-central1-a}", ("gcp", None, "us-central1-a")),
        ("{infra: '*/us-east-1'}", (None, "us-east-1", None)),
        ("{infra: '*'}", (None, None, None)),
        ("{cloud: GCP, region: us-central1}", ("gcp", "us-central1", None)),
    ],
)
def test_places(written: str, place: tuple[str | None, ...]) -> None:
    (option,) = options(written)
    assert (option.cloud, option.region, option.zone) == place


@pytest.mark.parametrize(
    ("written", "market"),
    [
        ("{}", Market.ON_DEMAND),
        ("{use_spot: true}", Market.SPOT),
        ("{use_spot: yes}", Market.SPOT),
        ("{use_spot: false}", Market.ON_DEMAND),
        ("{market: spot}", Market.SPOT),
        ("{market: reserved, reservation: cr-1}", Market.RESERVED),
        ("{market: any}", None),
    ],
)
def test_markets(written: str, market: Market | None) -> None:
    (option,) = options(written)
    assert option.market is market


def test_amounts_and_sizes() -> None:
    (option,) = options("{cpus: 8+, memory: 32GB+, disk_size: 1TB, max_hourly_cost: 2.5, local_disk: nvme}")
    assert option.vcpus == Amount(value=8, at_least=True)
    assert option.memory_gib == Amount(value=32, at_least=True)
    assert (option.disk_gb, option.max_hourly_usd, option.local_disk) == (1024, Decimal("2.5"), "nvme:100+")


@pytest.mark.parametrize(
    ("written", "amount", "per_vcpu"),
    [
        ("32", Amount(value=32), False),
        ("32+", Amount(value=32, at_least=True), False),
        ("'0.5'", Amount(value=0.5), False),
        ("512MB", Amount(value=0.5), False),
        ("1TiB", Amount(value=1024), False),
        ("4x", Amount(value=4), True),
        ("4x+", Amount(value=4, at_least=True), True),
    ],
)
def test_memory(written: str, amount: Amount, per_vcpu: bool) -> None:
    (option,) = options(f"{{memory: {written}}}")
    assert (option.memory_gib, option.memory_per_vcpu) == (amount, per_vcpu)


@pytest.mark.parametrize(("written", "kept"), [("nvme:1000+", "nvme:1000+"), ("SSD", "ssd:100+"), ("500", "nvme:500")])
def test_local_disks(written: str, kept: str) -> None:
    (option,) = options(f"{{local_disk: {written}}}")
    assert option.local_disk == kept


def test_alternatives_inherit_the_keys_beside_and_labels_are_merged() -> None:
    text = """{cpus: 4, use_spot: true, region: us-east-1, labels: {a: x, b: x},
      any_of: [{cloud: aws, labels: {b: y}}, {infra: gcp, use_spot: false}]}"""
    aws, gcp = options(text)
    assert (aws.cloud, aws.region, aws.market, dict(aws.labels)) == (
        "aws",
        None,
        Market.SPOT,
        {"a": "x", "b": "y"},
    )
    assert (gcp.cloud, gcp.region, gcp.market, dict(gcp.labels)) == (
        "gcp",
        None,
        Market.ON_DEMAND,
        {"a": "x", "b": "x"},
    )
    assert aws.vcpus == gcp.vcpus == Amount(value=4)


def test_ordered_alternatives_keep_their_order() -> None:
    found = job("run: x\nresources: {ordered: [{infra: gcp, gpus: L4}, {infra: aws, gpus: A10G}]}\n")
    assert found.ordered
    assert [o.cloud for o in found.options] == ["gcp", "aws"]


def test_null_takes_an_inherited_key_away() -> None:
    lambda_, aws = options("{cpus: 4, any_of: [{infra: lambda, cpus: null}, {infra: aws}]}")
    assert lambda_.vcpus is None
    assert aws.vcpus == Amount(value=4)


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ("{infra: aws, region: x}", "`infra` and `region` say the same thing"),
        ("{use_spot: true, market: any}", "`use_spot` and `market` say the same thing"),
        ("{any_of: [{cpus: 1}], ordered: [{cpus: 1}]}", "`any_of` and `ordered` exclude each other"),
        ("{any_of: [{any_of: []}]}", "`any_of` is not supported: alternatives do not nest"),
        ("{ordered: [{gpus: {L4, A100}}]}", "several accelerators inside of `ordered`"),
        ("{gpus: [L4, A100], any_of: [{infra: aws}]}", "a list of accelerators has an order, and `any_of` has none"),
        ("{any_of: [{job_recovery: failover}, {}]}", "`job_recovery` must be equal in all alternatives"),
        ("{infra: k8s}", "`kubernetes` is not supported: trainrig rents machines, and a Kubernetes cluster is not one"),
        ("{infra: a/b/c/d}", "`a/b/c/d` has more than three parts"),
        ("{image_id: ami-1}", "a machine image exists in one cloud only, and none is named"),
        ("{infra: aws, image_id: ami-1}", "a machine image of AWS exists in one region only, and none is named"),
        ("{infra: aws/us-east-1, image_id: {eu-west-1: ami-1}}", "no image for the region us-east-1"),
        (
            "{infra: gcp, image_id: 'skypilot:gpu'}",
            "`skypilot:gpu` is not supported: it is an image that",
        ),
        ("{spot_recovery: failover}", "`spot_recovery` is not supported: it became `job_recovery`"),
        ("{accelerator_args: {}}", "`accelerator_args` is not supported: it is for TPUs, and trainrig rents GPUs"),
        ("{autostop: {hook: x}}", "`hook` is not supported: put what must run at the end into `run`"),
        ("{ports: 99999}", "a port such as 8080, or a range such as 10000-10010, is wanted here, not `99999`"),
        ("{ports: 20-10}", "a port such as 8080, or a range such as 10000-10010, is wanted here, not `20-10`"),
        ("{disk_size: 10.5}", "a disk has whole GB and an exact size, such as 256GB"),
        ("{cpus: -1}", "-1 is not more than zero"),
        ("{labels: {a: 1}}", "text is wanted here, and YAML reads 1 as a number"),
        ("[]", "`resources` must be a mapping of keys, not a list"),
        ("{any_of: [aws]}", "a mapping such as `infra: aws` is wanted here, not `aws`"),
    ],
)
def test_what_is_refused(resources: str, said: str) -> None:
    (message,) = refused(resources)
    assert message.startswith(said)


def test_an_alternative_that_is_not_rented_leaves_the_others() -> None:
    (option,) = options("{any_of: [{infra: k8s/my/context}, {infra: aws}]}")
    assert option.cloud == "aws"


def test_what_all_alternatives_inherit_is_wrong_once() -> None:
    assert refused("{cpus: lots, any_of: [{infra: aws}, {infra: gcp, disk_size: huge}]}") == [
        "a number such as 8 or 8+ is wanted here, not `lots`",
        "a size such as 256GB is wanted here, not `huge`",
    ]


def test_the_container_of_image_id_is_the_jobs() -> None:
    found = job(
        "run: x\nresources: {image_id: 'docker:org/image:1', any_of: [{infra: aws}, {infra: lambda, image_id: null}]}"
    )
    assert found.image == "org/image:1"
    assert [o.image_id for o in found.options] == [None, None]


def test_a_machine_image_for_each_region_makes_an_option_for_each() -> None:
    found = job("run: x\nresources: {infra: aws, image_id: {us-east-1: ami-1, us-west-2: ami-2, docker: org/image:1}}")
    assert [(o.region, o.image_id) for o in found.options] == [("us-east-1", "ami-1"), ("us-west-2", "ami-2")]
    assert found.image == "org/image:1"


def test_two_containers_are_refused() -> None:
    text = "{any_of: [{infra: aws, image_id: 'docker:a'}, {infra: gcp, image_id: 'docker:b'}]}"
    (said,) = refused(text)
    assert said.startswith("different containers are not supported")


@pytest.mark.parametrize(
    ("written", "recovery"),
    [
        ("FAILOVER", Recovery(strategy="failover")),
        ("none", Recovery()),
        ("{strategy: null, max_restarts_on_errors: 2}", Recovery(max_restarts_on_errors=2)),
        ("{recover_on_exit_codes: [33, 34, 33]}", Recovery(on_exit_codes=(33, 34))),
        ("{recover_on_exit_codes: 137}", Recovery(on_exit_codes=(137,))),
    ],
)
def test_job_recovery(written: str, recovery: Recovery) -> None:
    assert job(f"run: x\nresources: {{job_recovery: {written}}}\n").recovery == recovery


@pytest.mark.parametrize("written", ["true", "false", "10", "2h", "{idle_minutes: 5, down: true, wait_for: none}"])
def test_autostop_is_always_met(written: str) -> None:
    assert options(f"{{autostop: {written}}}") == options("{}")
