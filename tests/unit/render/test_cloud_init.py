from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import jsonschema
import pytest
import yaml

from support import rigs
from trainrig import assets
from trainrig.render.cloud_init import cloud_init

TEMPLATE = (assets.path("templates") / "configure" / "cloud-init.yaml.j2").read_text(encoding="utf-8")
# Cut from cloud-init's own; says in its $comment from where.
SCHEMA = json.loads((Path(__file__).parents[2] / "support" / "cloud_init" / "schema.json").read_text())


def test_it_is_valid_for_cloud_init() -> None:
    text = cloud_init(TEMPLATE, rigs.request())
    assert text.startswith("#cloud-config\n")
    jsonschema.validate(yaml.safe_load(text), SCHEMA)


def test_the_schema_refuses_what_cloud_init_would_ignore() -> None:
    document = yaml.safe_load(cloud_init(TEMPLATE, rigs.request())) | {"run_cmd": []}
    with pytest.raises(jsonschema.ValidationError, match="run_cmd"):
        jsonschema.validate(document, SCHEMA)


def test_the_lease_is_an_hour_in_utc() -> None:
    cet = timezone(timedelta(hours=1))
    request = rigs.request(identity=rigs.identity(expires_at=datetime(2026, 3, 2, 1, 30, tzinfo=cet)))
    document = yaml.safe_load(cloud_init(TEMPLATE, request))
    timer = next(f["content"] for f in document["write_files"] if f["path"].endswith("trainrig-lease.timer"))
    assert "OnCalendar=2026-03-02 00:30:00 UTC" in timer.splitlines()
    assert request.identity.expires_at.astimezone(UTC).hour == 0


@pytest.mark.parametrize("comment", ["a: b", "- x", '"quoted"', "\\", "#hash", "ünïcode", "<&'>", "x\nruncmd: [evil]"])
def test_a_key_stays_a_string_whatever_its_comment(comment: str) -> None:
    key = f"ssh-ed25519 AAAA {comment}"
    document = yaml.safe_load(cloud_init(TEMPLATE, rigs.request(ssh_public_key=key)))
    assert document["ssh_authorized_keys"] == [key]
    assert document["runcmd"][0] == ["systemctl", "daemon-reload"]


def test_it_is_small_enough_for_every_cloud_and_has_no_private_key() -> None:
    text = cloud_init(TEMPLATE, rigs.request())
    assert len(text) < 6000
    assert "PRIVATE KEY" not in text
    assert "ssh_keys" not in yaml.safe_load(text)
