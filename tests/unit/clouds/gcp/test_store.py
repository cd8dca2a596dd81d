from __future__ import annotations

import pytest

from support.fake_gcp import FakeGcp, error
from trainrig.clouds.base import Account
from trainrig.clouds.gcp.store import NEEDED, access
from trainrig.errors import PreflightFailed

PATH = "/storage/v1/b/team/iam/testPermissions"


def asked(account: Account) -> str:
    return access(account, None, "team", region=None, endpoint=None)


def test_a_bucket_that_may_be_written(cloud: FakeGcp, account: Account) -> None:
    cloud.server.route("GET", PATH, {"permissions": list(NEEDED)})
    assert asked(account) == "read and write"


def test_a_bucket_that_may_only_be_read(cloud: FakeGcp, account: Account) -> None:
    cloud.server.route("GET", PATH, {"permissions": ["storage.objects.get", "storage.objects.list"]})
    with pytest.raises(PreflightFailed, match=r"missing on team: storage\.objects\.create, storage\.objects\.delete"):
        asked(account)


@pytest.mark.parametrize(("status", "said"), [(404, "there is no bucket team"), (403, "no access to the bucket team")])
def test_a_bucket_that_is_not_ours(cloud: FakeGcp, account: Account, status: int, said: str) -> None:
    cloud.server.route("GET", PATH, error(status, "why", "a message"))
    with pytest.raises(PreflightFailed, match=said):
        asked(account)
