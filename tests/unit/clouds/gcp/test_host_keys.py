from __future__ import annotations

from support import rigs
from support.fake_gcp import PROJECT, FakeGcp
from support.loopback import Reply
from trainrig.clouds.base import Account
from trainrig.clouds.gcp.host_keys import host_key

PATH = f"/compute/v1/projects/{PROJECT}/zones/us-central1-a/instances/tr-x-0/getGuestAttributes"
NODE = rigs.node(name="tr-x-0")


def test_the_agents_key_is_read(cloud: FakeGcp, account: Account) -> None:
    items = [
        {"namespace": "hostkeys", "key": "ecdsa-sha2-nistp256", "value": "AAAAE2"},
        {"namespace": "hostkeys", "key": "ssh-ed25519", "value": "AAAAC3"},
    ]
    cloud.server.route("GET", PATH, {"queryPath": "hostkeys/", "queryValue": {"items": items}})
    assert host_key(account, NODE, region="us-central1", zone="us-central1-a") == "ssh-ed25519 AAAAC3"


def test_before_the_agent_has_run_there_is_none(cloud: FakeGcp, account: Account) -> None:
    missing = {"error": {"code": 404, "message": "The resource 'hostkeys/' was not found"}}
    cloud.server.route("GET", PATH, lambda _request: Reply(body=missing, status=404))
    assert host_key(account, NODE, region="us-central1", zone="us-central1-a") is None
