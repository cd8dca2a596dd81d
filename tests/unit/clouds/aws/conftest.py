"""AWS as moto has it; what moto lacks (price list, EC2 quotas) is answered by a server on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from support import moto_placement_groups
from support.loopback import Loopback
from trainrig.clouds.aws import session
from trainrig.clouds.base import Account


@pytest.fixture
def account(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", loopback.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SERVICE_QUOTAS", loopback.url)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")  # thousands, for each test and region anew
    moto_placement_groups.install(monkeypatch)
    session._session.cache_clear()
    session._client.cache_clear()
    with mock_aws():
        yield Account(cloud="aws", regions=("us-east-1",))
