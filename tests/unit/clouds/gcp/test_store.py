from __future__ import annotations

from pathlib import Path

import pytest
from google.cloud.storage import Client

from support import state_backends
from trainrig.clouds.base import Account
from trainrig.clouds.gcp.store import holds_data


def test_an_object_is_data_and_a_missing_bucket_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account(cloud="gcp", settings={"project": "test"})
    with state_backends.gcs(tmp_path) as emulator:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.url)
        assert not holds_data(account, None, "no-such-bucket")
        assert not holds_data(account, None, "team-state")
        client = Client(project="test")  # anonymous, since there is an emulator
        client.bucket("team-state").blob("run/1").upload_from_string(b"x")
        assert holds_data(account, None, "team-state")
