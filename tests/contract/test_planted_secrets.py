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

# As a value, as a reference, as a plain variable that should have been a secret, and in a script.
VALUE, REFERENCED = "planted/Value+with=signs 1", "planted-referenced-2"
PASSWORD, DEFAULT, OPERATOR = "planted-password-4", "planted-default-5", "planted-operator-6"
LOT = "Zq7/Xw2Lk9Vb4Nm1Tc8Rd5Fg3Hj6PsAaBbYy0Uu+"
SHAPES = {  # what a key looks like, by whom it is made
    "AWS": "AKIA" + "PLANTEDPLANTED12",
    "AWS_SESSION": "ASIA" + "PLANTEDPLANTED34",
    "GOOGLE": "AIza" + "planted_" * 4 + "abc",
    "GOOGLE_OAUTH": "ya29." + "planted" * 5,
    "AZURE": "AccountKey=" + "pLanted0" * 5 + "==",
    "AZURE_SAS": "sig=" + "pLanted1" * 5,
    "GITHUB": "ghp_" + "pLantedPlain3" * 3,
    "GITHUB_FINE": "github_pat_" + "pLanted4" * 5,
    "GITLAB": "glpat-" + "pLanted5" * 3,
    "HUGGING_FACE": "hf_" + "pLanted6" * 5,
    "WEB": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.pLanted7pLanted7",
    "PEM": "-----BEGIN PRIVATE KEY-----\\nMIIplanted\\n-----END PRIVATE KEY-----",
    "BY_LOT": LOT,
}
VARIABLES = "\n".join(f'  {name}_PLANTED: "{key}"' for name, key in SHAPES.items())
COMMANDS = "\n".join(f"  use '{key}'" for key in SHAPES.values())
JOB = f"""
name: train
resources: {{cpus: 1+}}
secrets: {{A_TOKEN: '{VALUE}', B_TOKEN: 'env:PLANTED'}}
envs:
  DB_PASSWORD: {PASSWORD}
{VARIABLES}
setup: 'git clone https://ada:{PASSWORD}@example.com/x && curl -H "Authorization: Bearer {PASSWORD}" x'
run: |
  mysql --password={PASSWORD}
{COMMANDS}
"""
VERBS = [
    "explain job.yaml",
    "explain job.yaml --format json",
    "explain job.yaml --format md",
    "render job.yaml --out rendered --format json",
    "plan job.yaml --out plan",
    "plan job.yaml --out base --set num_nodes=2 --format json",
    "plan job.yaml --offline --format github",
    "plan job.yaml --offline --format text --set resources.cpus=2+",
    "diff base plan",
    "diff base plan --format json",
    "comment plan --dry-run --base base",
    "lock job.yaml --offline --format json",
    "status --format json",
    "describe train --format json",
    "logs train",
    "apply plan --format json",
    f"apply job.yaml --set secrets.A_TOKEN={DEFAULT} --format json",
    "plan job.yaml --set resources.cpus=none",
    "plan job.yaml --env bad.yaml --format json",
    f"plan job.yaml --out refused --set envs.B_TOKEN={DEFAULT}",
    f"plan job.yaml --set envs.B_TOKEN={DEFAULT} --set nonsense.{DEFAULT[:4]}=1 --format json",
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
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", OPERATOR)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "bad.yaml").write_text(f"clouds: {{local: {{}}}}\ndefaults: {{secrets: {{C_TOKEN: {DEFAULT}}}}}\n")
    ran = []
    for words in VERBS:
        monkeypatch.setattr(console, "_secrets", set())  # each in a process of its own, which knows of no other
        ran.append(trainrig(capsys, *words.split()))
    codes = dict(zip(VERBS, (one.code for one in ran), strict=True))
    assert [words for words in VERBS[:11] if codes[words]] == [], "\n".join(one.err for one in ran)
    assert 1 not in codes.values()
    said = "".join(one.out + one.err for one in ran)
    mine = {tmp_path / "job.yaml", tmp_path / "bad.yaml"}
    written = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p not in mine}
    assert len(written) > 40
    for secret in (VALUE, REFERENCED, PASSWORD, DEFAULT, OPERATOR, *SHAPES.values()):
        for form in forms(secret):
            assert form not in said.encode(), secret
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
