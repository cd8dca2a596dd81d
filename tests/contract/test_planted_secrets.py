"""Secrets are planted wherever a user may put them; then everything that trainrig says and writes is searched."""

from __future__ import annotations

import base64
import urllib.parse
from pathlib import Path

import pytest

from support.cli import trainrig
from trainrig import console
from trainrig.lifecycle.secret_values import secret_values
from trainrig.model.job import Job

pytestmark = pytest.mark.terraform

# As a value, as a reference, and as a plain variable that should have been a secret.
VALUE, REFERENCED = "planted/Value+with=signs 1", "planted-referenced-2"
PLAIN = "ghp_" + "pLantedPlain3" * 3
PASSWORD = "planted-password-4"
JOB = f"""
name: train
resources: {{cpus: 1+}}
run: 'true'
secrets: {{A_TOKEN: '{VALUE}', B_TOKEN: 'env:PLANTED'}}
envs: {{GIT_TOKEN: {PLAIN}, DB_PASSWORD: {PASSWORD}}}
"""
VERBS = [
    "explain job.yaml",
    "explain job.yaml --format json",
    "explain job.yaml --format md",
    "plan job.yaml --out plan",
    "plan job.yaml --out plan --format json",
    "plan job.yaml --offline --format github",
    "diff plan plan --format json",
    "comment plan --dry-run",
    "lock job.yaml --offline --format json",
    "status --format json",
    "describe train --format json",
    "logs train",
    "apply plan --format json",
    "plan job.yaml --set resources.cpus=none",
]


def forms(secret: str) -> set[bytes]:
    texts = {secret, urllib.parse.quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("=")}
    return {text.encode() for text in texts}


def test_no_output_and_no_file_holds_a_planted_secret(
    tmp_path: Path, isolated: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAINRIG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PLANTED", REFERENCED)
    (tmp_path / "job.yaml").write_text(JOB)
    said = "".join(ran.out + ran.err for ran in (trainrig(capsys, *words.split()) for words in VERBS))
    written = {p: p.read_bytes() for folder in (tmp_path / "plan", isolated) for p in folder.rglob("*") if p.is_file()}
    assert len(written) > 10
    for secret in (VALUE, REFERENCED, PLAIN, PASSWORD):
        for form in forms(secret):
            assert form not in said.encode()
            assert [p for p, content in written.items() if form in content] == []


def test_a_crash_log_and_its_message_hold_none(
    isolated: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = secret_values(Job(name="train", options=(), secrets={"A": f"value:{VALUE}"}), {})

    def crash(*_: object, **__: object) -> None:
        raise RuntimeError(f"cannot connect with {values['A']} or ghp_{'x1Y2' * 9}")

    monkeypatch.setattr("trainrig.lifecycle.load_job.load_job", crash)
    ran = trainrig(capsys, "explain", "job.yaml", "--format", "json")
    (log,) = (isolated / "logs").iterdir()
    assert "RuntimeError: cannot connect with ***" in log.read_text()
    for text in (ran.out, ran.err, log.read_text()):
        assert VALUE not in text
        assert "x1Y2x1Y2" not in text
    assert console.masked(VALUE) == "***"
