from __future__ import annotations

import base64
import json
from datetime import timedelta

from support import rigs
from trainrig.render.late_bound import LateBound, meaning_of, placeholders, rebind, tfvars_for

OLD = LateBound.of(rigs.identity(), public_key=rigs.PUBLIC_KEY, cidrs=["203.0.113.7/32"])
NEW = LateBound.of(
    rigs.identity(run_id="wxyz6789", owner="grace", expires_at=rigs.identity().expires_at + timedelta(hours=3)),
    public_key="ssh-ed25519 BBBB another",
    cidrs=["198.51.100.9/32"],
)


def test_another_machines_values_are_the_same_meaning() -> None:
    cloud_init = "#cloud-config\n# a line that makes this long enough\nkeys: [{}]\nends: {}\nrig: tr-train-{}\n"

    def value(late: LateBound) -> object:
        text = cloud_init.format(late.public_key, late.expires[1], late.run_id)
        return {
            "user_data": base64.b64encode(text.encode()).decode(),
            "name": f"tr-train-{late.run_id}-0",
            "tags": {"trainrig-owner": late.owner, "trainrig-expires": late.expires[2]},
            "rules": [{"cidr": late.cidrs[0]}, 22, None, True],
        }

    assert rebind(value(OLD), OLD, NEW) == value(NEW)
    blank = placeholders(OLD)
    assert rebind(value(OLD), OLD, blank) == rebind(value(NEW), NEW, blank)


def test_a_value_of_the_root_itself_is_another_meaning() -> None:
    blank = placeholders(OLD)
    assert rebind({"cidr": "0.0.0.0/0"}, OLD, blank) != rebind({"cidr": OLD.cidrs[0]}, OLD, blank)


def test_inputs_get_the_values_of_the_applying_machine() -> None:
    text = json.dumps(
        {
            "rig": {"id": f"tr-train-{OLD.run_id}", "owner": OLD.owner, "expires_at": OLD.expires[0]},
            "ssh_public_key": OLD.public_key,
            "ssh_ingress_cidrs": list(OLD.cidrs),
            "nodes": 2,
        }
    )
    assert json.loads(tfvars_for(text, OLD, NEW)) == {
        "rig": {"id": "tr-train-wxyz6789", "owner": "grace", "expires_at": NEW.expires[0]},
        "ssh_public_key": NEW.public_key,
        "ssh_ingress_cidrs": ["198.51.100.9/32"],
        "nodes": 2,
    }


def test_paths_of_this_machine_are_no_meaning() -> None:
    files = {"main.tf": "x", "job.json": '{"source": "/home/ada/job.yaml"}'}
    assert meaning_of(files, OLD) == {"main.tf": "x"}
