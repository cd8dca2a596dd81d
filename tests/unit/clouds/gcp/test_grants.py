from __future__ import annotations

from dataclasses import replace

from support.fake_gcp import PROJECT, FakeGcp, error
from trainrig.clouds.base import Account
from trainrig.clouds.gcp.grants import grants

IMAGE = f"us-docker.pkg.dev/{PROJECT}/team/train:1"
BOTH = ["getIamPolicy", "setIamPolicy"]


def test_buckets_and_the_repository_are_asked_once_each(cloud: FakeGcp, account: Account) -> None:
    route = cloud.server.route
    route("GET", "/storage/v1/b/data/iam/testPermissions", {"permissions": [f"storage.buckets.{p}" for p in BOTH]})
    route("GET", "/storage/v1/b/public/iam/testPermissions", {"permissions": ["storage.buckets.getIamPolicy"]})
    route("GET", "/storage/v1/b/gone/iam/testPermissions", error(404, "notFound", "no such bucket"))
    repository = f"projects/{PROJECT}/locations/us/repositories/team"
    route("POST", f"/v1/{repository}:testIamPermissions", {})
    urls = ("gs://public/a", "gs://data/a", "gs://data/b", "gs://gone", "s3://elsewhere")
    found = {line.name: (line.status, line.detail) for line in grants(account, urls, [IMAGE, f"{IMAGE}2", "python:3"])}
    gone = found.pop("rights on gs://gone")
    assert gone[0] == "fail"
    assert "no such bucket" in gone[1]
    missing = ", ".join(f"artifactregistry.repositories.{p}" for p in BOTH)
    assert found == {
        "rights on gs://data": ("pass", "nodes can be let in"),
        "rights on gs://public": ("fail", "missing, to let nodes in: storage.buckets.setIamPolicy"),
        f"rights on {repository}": ("fail", f"missing, to let nodes in: {missing}"),
    }


def test_where_nothing_is_granted_nothing_is_asked(cloud: FakeGcp, account: Account) -> None:
    elsewhere = replace(account, settings={**account.settings, "project": "another"})
    assert list(grants(elsewhere, ("s3://a", "az://b/c"), [IMAGE])) == []
    assert list(grants(account, (), ())) == []
