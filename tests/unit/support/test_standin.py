"""The stand-in itself: that it is strict where the real thing is."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.standin import jsii, rules
from support.standin.cloud import FakeCloud, Fault

JAVASCRIPT = """
function thingRuleToHclTerraform(struct) {
    const attrs = {
        port: {
            value: cdktn.numberToHclTerraform(struct.port),
            isBlock: false,
            type: "simple",
            storageClassType: "number",
        },
    };
}
class ThingRuleOutputReference extends cdktn.ComplexObject {
    // port - computed: false, optional: false, required: true
    _port;
    get port() {
        return this.getNumberAttribute('port');
    }
}
class Thing extends cdktn.TerraformResource {
    // arn - computed: true, optional: false, required: false
    get arn() {
        return this.getStringAttribute('arn');
    }
    // tags - computed: false, optional: true, required: false
    _tags;
    get tags() {
        return this.getStringMapAttribute('tags');
    }
    // rule - computed: false, optional: true, required: false
    _rule = new ThingRuleList(this, "rule", false);
    synthesizeHclAttributes() {
        const attrs = {
            tags: {
                value: cdktn.hashMapperHcl(cdktn.stringToHclTerraform)(this._tags),
                isBlock: false,
                type: "map",
                storageClassType: "stringMap",
            },
            rule: {
                value: cdktn.listMapperHcl(thingRuleToHclTerraform, true)(this._rule.internalValue),
                isBlock: true,
                type: "list",
                storageClassType: "ThingRuleList",
            },
        };
    }
}
"""


def test_a_schema_is_read_from_generated_javascript() -> None:
    port = {"type": "number", "required": True}
    assert jsii.schema(JAVASCRIPT)["block"] == {
        "attributes": {
            "arn": {"type": "string", "computed": True},
            "tags": {"type": ["map", "string"], "optional": True},
        },
        "block_types": {"rule": {"nesting_mode": "list", "block": {"attributes": {"port": port}}}},
    }


def test_faults_come_on_the_nth_call_and_as_often_as_said(tmp_path: Path) -> None:
    cloud = FakeCloud(tmp_path)
    cloud.inject(Fault(call="create", type="aws_*", nth=2, times=2, error="no"))
    seen = [cloud.log("create", t, "n") for t in ["aws_vpc", "google_x", "aws_vpc", "aws_instance", "aws_instance"]]
    assert [f is not None for f in seen] == [False, False, True, True, False]
    assert len(cloud.calls("create", "aws_*")) == 4


def test_objects_are_seen_by_whoever_opens_the_folder(tmp_path: Path) -> None:
    FakeCloud(tmp_path).put("aws_instance", "i-1", {"id": "i-1"})
    other = FakeCloud(tmp_path)
    assert other.objects("aws_*") == [{"type": "aws_instance", "id": "i-1", "state": {"id": "i-1"}}]
    other.remove("aws_instance", "i-1")
    assert FakeCloud(tmp_path).get("aws_instance", "i-1") is None


@pytest.mark.parametrize(
    ("type_", "config", "expected"),
    [
        (
            "google_compute_instance",
            {"machine_type": "a2-highgpu-1g", "scheduling": [{"on_host_maintenance": "MIGRATE"}]},
            "live migration",
        ),
        (
            "google_compute_instance",
            {"machine_type": "e2-small", "scheduling": [{"on_host_maintenance": "TERMINATE"}]},
            "MIGRATE",
        ),
        (
            "google_compute_instance",
            {"machine_type": "n2-standard-2", "scheduling": [{"preemptible": True}]},
            "disagree",
        ),
        ("azurerm_linux_virtual_machine", {"priority": "Spot"}, "eviction_policy"),
        ("azurerm_linux_virtual_machine", {"priority": "Regular", "eviction_policy": "Delete"}, "eviction_policy"),
        (
            "aws_launch_template",
            {"network_interfaces": [{"associate_public_ip_address": True}, {"device_index": 1}]},
            "several interfaces",
        ),
    ],
)
def test_it_refuses_what_the_cloud_refuses(type_: str, config: dict[str, object], expected: str) -> None:
    assert any(expected in message for _, message in rules.check(type_, config))


def test_a_move_to_another_zone_is_another_machine() -> None:
    prior = {"zone": "us-central1-a", "scheduling": [{"provisioning_model": "SPOT"}]}
    assert rules.replaced("google_compute_instance", prior, prior) == []
    assert rules.replaced("google_compute_instance", prior, {**prior, "zone": "us-central1-b"}) == ["zone"]
    standard = {**prior, "scheduling": [{"provisioning_model": "STANDARD"}]}
    assert rules.replaced("google_compute_instance", prior, standard) == ["scheduling"]
