from __future__ import annotations

import json

from support import rigs
from support.loopback import Loopback, Reply
from trainrig.clouds.azure.host_keys import host_key
from trainrig.clouds.base import Account

MACHINE = "/subscriptions/s/resourceGroups/tr-x/providers/Microsoft.Compute/virtualMachines/tr-x-0"
NODE = rigs.node(instance_id=MACHINE)
PATH = (
    r"/subscriptions/[\w-]+/resourceGroups/tr-x/providers/Microsoft.Compute/virtualMachines/tr-x-0"
    r"/retrieveBootDiagnosticsData"
)
PRINTED = "-----BEGIN SSH HOST KEY KEYS-----\nssh-ed25519 AAAAkey= root@vm\n-----END SSH HOST KEY KEYS-----\n"


def ask(account: Account) -> str | None:
    return host_key(account, NODE, region="eastus", zone=None)


def test_the_serial_log_is_read_from_where_azure_says(azure: Loopback, account: Account) -> None:
    azure.route("POST", PATH, {"serialConsoleLogBlobUri": f"{azure.url}/account/logs/serial.log?sig=x"})
    size = len(json.dumps(PRINTED))
    headers = {"Content-Range": f"bytes 0-{size - 1}/{size}", "ETag": '"1"', "x-ms-blob-type": "BlockBlob"}
    azure.route("GET", "/account/logs/serial.log", lambda _request: Reply(body=PRINTED, status=206, headers=headers))
    assert ask(account) == "ssh-ed25519 AAAAkey="


def test_a_machine_that_has_not_booted_has_no_log(azure: Loopback, account: Account) -> None:
    azure.route("POST", PATH, {})
    assert ask(account) is None
