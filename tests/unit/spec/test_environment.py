from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from trainrig import assets
from trainrig.errors import EnvironmentInvalid, render
from trainrig.model.offer import Market
from trainrig.spec.environment import load_environment


def problems(text: str) -> list[str]:
    with pytest.raises(EnvironmentInvalid) as caught:
        load_environment(text, "team.yaml")
    return [f"{p.where.line}:{p.where.column} {p.message}" if p.where else p.message for p in caught.value.problems]


@pytest.mark.parametrize("path", sorted(assets.path("environments").glob("*.yaml")), ids=lambda p: p.stem)
def test_what_ships_loads(path: Path) -> None:
    environment = load_environment(path.read_text(encoding="utf-8"), str(path))
    assert environment.name == path.stem


def test_the_example_for_a_team() -> None:
    path = assets.path("environments") / "team.yaml"
    environment = load_environment(path.read_text(encoding="utf-8"), "team.yaml")
    aws = environment.policy("aws")
    assert aws is not None
    assert (aws.credit_limit_usd, aws.burst, aws.priority) == (Decimal(5000), "approve", 1)
    assert aws.account == {"profile": "training", "account_id": "123456789012"}
    assert aws.markets == (Market.SPOT, Market.ON_DEMAND)
    assert environment.failover == ("aws/us-east-1", "aws/us-west-2", "gcp", "azure")
    assert environment.price_caps_gpu_hour_usd["*"] == Decimal(6)
    assert (environment.budget_run_usd, environment.budget_month_usd) == (Decimal(500), Decimal(12000))
    assert (environment.lease_seconds, environment.max_lease_seconds) == (86400, 259200)
    assert environment.state.kind == "s3"
    assert environment.state.settings == {"bucket": "example-trainrig-state", "region": "us-east-1"}
    assert environment.max_price_age_hours == 168


def test_all_problems_come_in_one_go() -> None:
    text = """
cloud: {}
clouds:
  aws: {region: us-east-1, priority: high}
lease: 10d
failover: [gcp/us-central1]
ssh_ingress: [0.0.0.0/0, nowhere]
budget: {week: 5}
defaults: {resources: {cpu: 4}}
"""
    assert problems(text) == [
        "2:1 unknown key `cloud` in the environment",
        "4:9 unknown key `region` in the cloud",
        "4:38 a whole number is wanted here, not `high`",
        "5:8 `lease` is longer than `max_lease`",
        "6:11 `gcp/us-central1` is in `failover`, and its cloud is not in `clouds`",
        "7:14 `0.0.0.0/0` opens SSH to the whole internet",
        "7:14 `nowhere` is not a network such as 203.0.113.0/24",
        "8:10 unknown key `week` in `budget`",
        "9:24 unknown key `cpu` in `resources`",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "account: {profile: AKIAIOSFODNN7EXAMPLE}",
        'network: {vpc: "-----BEGIN RSA PRIVATE KEY-----"}',
        "account: {secret_access_key: abc}",
        "network: {api_token: abc}",
    ],
)
def test_a_secret_in_the_file_is_refused(line: str) -> None:
    with pytest.raises(EnvironmentInvalid) as caught:
        load_environment(f"clouds:\n  aws:\n    {line}\n", "e.yaml")
    said = render(caught.value)
    assert "secret" in said
    assert not any(word in said for word in ("AKIA", "BEGIN", "abc"))


def test_the_accounts_of_known_clouds_have_known_keys_and_others_their_own() -> None:
    assert problems("clouds: {aws: {account: {profil: x}}}\n") == ["1:26 unknown key `profil` in `account` of aws"]
    text = "clouds: {nimbus: {account: {tenancy: t, number: 7}, network: {public_ip: false}}}\n"
    policy = load_environment(text, "e.yaml").policy("nimbus")
    assert policy is not None
    assert policy.account == {"tenancy": "t", "number": "7"}
    assert policy.network == {"public_ip": "false"}


def test_a_reference_to_a_secret_is_none() -> None:
    text = "clouds: {local: {}}\ndefaults: {secrets: {HF_TOKEN: env:HF_TOKEN, WANDB_API_KEY: null}}\n"
    assert load_environment(text, "e.yaml").defaults["secrets"] == {"HF_TOKEN": "env:HF_TOKEN", "WANDB_API_KEY": None}


@pytest.mark.parametrize("text", ["", "[]", "clouds: {}", "clouds: [aws]", "name: x", "a: 1\n---\nb: 2\n"])
def test_an_environment_without_clouds_is_refused(text: str) -> None:
    with pytest.raises(EnvironmentInvalid):
        load_environment(text, "e.yaml")


ACCOUNTS = """
clouds:
  aws:
    regions: [us-east-1]
    account: {permissions_boundary: arn}
    accounts:
      grant:
        account: {profile: grant}
        credits: {limit: 500, burst: deny}
        priority: 1
      main:
        regions: [us-east-1, us-west-2]
        priority: 2
"""


def test_several_accounts_of_a_cloud_inherit_what_stands_beside() -> None:
    grant, main = load_environment(ACCOUNTS, "team.yaml").clouds
    assert (grant.cloud, grant.name, grant.regions) == ("aws", "grant", ("us-east-1",))
    assert grant.account == {"profile": "grant", "permissions_boundary": "arn"}
    assert (grant.credit_limit_usd, grant.burst, grant.priority) == (Decimal(500), "deny", 1)
    assert (main.name, main.regions, main.account) == (
        "main",
        ("us-east-1", "us-west-2"),
        {"permissions_boundary": "arn"},
    )
    assert (main.credit_limit_usd, main.priority) == (None, 2)


@pytest.mark.parametrize(
    ("accounts", "said"),
    [
        ("[]", "`accounts` is a mapping of names to accounts"),
        ("{}", "`accounts` is a mapping of names to accounts"),
        ("{a: x}", "an account is a mapping of keys, not `x`"),
        ("{-a: {}}", "`-a` is not a name"),
        ("{a: {accounts: {}}}", "`accounts` is not supported: accounts do not nest"),
        ("{a: {regoins: x}}", "unknown key `regoins` in an account"),
    ],
)
def test_accounts_that_are_none(accounts: str, said: str) -> None:
    with pytest.raises(EnvironmentInvalid) as caught:
        load_environment(f"clouds: {{aws: {{accounts: {accounts}}}}}\n", "team.yaml")
    assert [p.message for p in caught.value.problems] == [said]


def test_what_accounts_inherit_is_wrong_once() -> None:
    with pytest.raises(EnvironmentInvalid) as caught:
        load_environment("clouds: {aws: {priority: x, accounts: {a: {}, b: {}}}}\n", "team.yaml")
    assert len(caught.value.problems) == 1
