from __future__ import annotations

import json

import pytest

from trainrig.tools import terraform_state


def test_ids_and_addresses_of_managed_resources() -> None:
    raw = json.dumps(
        {
            "version": 4,
            "serial": 7,
            "resources": [
                {
                    "module": "module.rig",
                    "mode": "managed",
                    "type": "aws_instance",
                    "name": "node",
                    "instances": [
                        {"index_key": 0, "attributes": {"id": "i-0"}},
                        {"index_key": "b", "attributes": {"id": "i-1"}},
                    ],
                },
                {"mode": "managed", "type": "terraform_data", "name": "x", "instances": [{"attributes": {}}]},
                {"mode": "data", "type": "aws_ami", "name": "x", "instances": [{"attributes": {"id": "ami-1"}}]},
            ],
        }
    ).encode()
    assert [(r.address, r.id) for r in terraform_state.parse(raw)] == [
        ("module.rig.aws_instance.node[0]", "i-0"),
        ('module.rig.aws_instance.node["b"]', "i-1"),
        ("terraform_data.x", "terraform_data.x"),
    ]
    assert terraform_state.serial(raw) == 7


def test_no_state_is_empty_and_a_broken_one_an_error() -> None:
    assert terraform_state.parse(b"\n") == ()
    assert terraform_state.serial(b"") == 0
    for broken in (b'{"version": 4, "ser', b'{"version": 9}'):
        with pytest.raises(ValueError):
            terraform_state.parse(broken)
