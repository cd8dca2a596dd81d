from __future__ import annotations

from dataclasses import replace

import pytest

from trainrig.clouds.aws import session
from trainrig.clouds.base import Account
from trainrig.errors import CredentialsMissing


def identity(account: Account) -> str:
    arn: str = session.client(account, "sts").get_caller_identity()["Arn"]
    return arn


def test_role_of_the_account_is_taken(account: Account) -> None:
    role = "arn:aws:iam::123456789012:role/ci"
    assert "assumed-role/ci/trainrig" in identity(replace(account, settings={"role_arn": role}))
    assert "assumed-role" not in identity(account)


def test_profile_that_is_not_there_is_said_with_its_login(account: Account) -> None:
    with pytest.raises(CredentialsMissing, match="nobody") as caught:
        session.client(replace(account, settings={"profile": "nobody"}), "ec2")
    assert caught.value.hint == "aws configure sso --profile nobody, or aws configure --profile nobody"


def test_all_enabled_regions_when_the_account_names_none(account: Account) -> None:
    assert "eu-west-1" in session.regions(replace(account, regions=()))
    assert session.regions(account) == ("us-east-1",)
