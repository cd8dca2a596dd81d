from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.errors import CredentialsMissing
from trainrig.lifecycle.secret_values import secret_values
from trainrig.model.job import Job


def job(**secrets: str) -> Job:
    return Job(name="j", options=(), secrets=secrets)


def test_references_become_values(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    secrets = {"A": "env:HF_TOKEN", "B": f"file:{tmp_path}/token", "C": "value:written:down"}
    assert secret_values(job(**secrets), {"HF_TOKEN": "from-env"}) == {
        "A": "from-env",
        "B": "from-file",
        "C": "written:down",
    }


def test_all_that_is_missing_is_named_and_no_value_is() -> None:
    with pytest.raises(CredentialsMissing) as caught:
        secret_values(job(A="env:NOPE", B="file:/nowhere", C="value:hush"), {})
    assert "A (env:NOPE), B (file:/nowhere)" in caught.value.message
    assert "hush" not in caught.value.message
