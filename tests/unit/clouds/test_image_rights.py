"""Which right a cloud's nodes get on the image of their job, by its name alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from trainrig.clouds import registry
from trainrig.lifecycle.node_rights import image_gap

DIGEST = "@sha256:" + "ab" * 32
GCP = {"project": "training", "registry_project": "shared"}


def repository(project: str, location: str, name: str) -> dict[str, Any]:
    return {"artifact_repository": {"project": project, "location": location, "name": name}}


def arn(partition: str, region: str) -> dict[str, Any]:
    return {"ecr_repository_arn": f"arn:{partition}:ecr:{region}:123456789012:repository/team/train"}


GRANTED: list[tuple[str, str, dict[str, str], dict[str, Any]]] = [
    ("aws", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/train:1", {}, arn("aws", "eu-west-1")),
    (
        "aws",
        f"123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com/team/train{DIGEST}",
        {},
        arn("aws-us-gov", "us-gov-west-1"),
    ),
    ("aws", "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/team/train", {}, arn("aws-cn", "cn-north-1")),
    ("gcp", f"us-docker.pkg.dev/training/team/a/b:1{DIGEST}", GCP, repository("training", "us", "team")),
    ("gcp", "europe-west4-docker.pkg.dev/shared/team/a", GCP, repository("shared", "europe-west4", "team")),
    ("gcp", "gcr.io/training/a:1", GCP, repository("training", "us", "gcr.io")),
    ("gcp", "eu.gcr.io/training/a", GCP, repository("training", "europe", "eu.gcr.io")),
    ("gcp", "asia.gcr.io/shared/a/b", GCP, repository("shared", "asia", "asia.gcr.io")),
    (
        *("gcp", "us-docker.pkg.dev/example.com/old/team/a", {"project": "example.com:old"}),
        repository("example.com:old", "us", "team"),
    ),
    (
        *("azure", "team.azurecr.io/train:1", {"registry_resource_group": "images"}),
        {"container_registry": "team", "registry_resource_group": "images"},
    ),
    (
        *("azure", "team-g3hash.azurecr.io/a/b", {"registry_resource_group": "images"}),
        {"container_registry": "team", "registry_resource_group": "images"},
    ),
]
ELSEWHERE = [
    "python:3.12",
    "nvcr.io/nvidia/pytorch:25.02-py3",
    "public.ecr.aws/a/b",
    "evilgcr.io/training/a",
    "sha256:" + "ab" * 32,
]


@pytest.mark.parametrize(("cloud", "image", "account", "wanted"), GRANTED)
def test_a_right_is_on_the_images_own_repository(
    cloud: str, image: str, account: dict[str, str], wanted: dict[str, Any]
) -> None:
    rights = registry.image_rights(cloud)
    assert rights.variables(image, account) == wanted
    assert rights.lacking(image, account) == ""


@pytest.mark.parametrize("image", ELSEWHERE)
@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_an_image_elsewhere_gives_none_and_needs_none(cloud: str, image: str) -> None:
    account = {**GCP, "registry_resource_group": "images"}
    rights = registry.image_rights(cloud)
    assert (rights.variables(image, account), rights.lacking(image, account)) == ({}, "")


@pytest.mark.parametrize(
    ("cloud", "image", "mend"),
    [
        ("gcp", "gcr.io/deeplearning-platform-release/pytorch", "registry_project: deeplearning-platform-release"),
        ("azure", "team-g3hash.azurecr.io/train:1", "registry_resource_group: GROUP.*az acr show --name team "),
    ],
)
def test_where_no_right_can_be_granted_a_person_is_told_what_to_do(cloud: str, image: str, mend: str) -> None:
    rights = registry.image_rights(cloud)
    account = {"project": "training", "subscription": "s"}
    assert rights.variables(image, account) == {}
    assert re.search(mend, rights.lacking(image, account))


@pytest.mark.parametrize(
    ("cloud", "image", "registry_of"),
    [
        ("gcp", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/train:1", "Amazon Web Services"),
        ("aws", "gcr.io/training/a", "Google Cloud"),
        ("nebius", "team.azurecr.io/train:1", "Microsoft Azure"),
    ],
)
def test_a_cloud_gives_no_login_to_the_registry_of_another(cloud: str, image: str, registry_of: str) -> None:
    assert f"lies in a registry of {registry_of}, where nodes on" in image_gap(image, cloud, GCP)
    assert image_gap("python:3.12", cloud, GCP) == ""
