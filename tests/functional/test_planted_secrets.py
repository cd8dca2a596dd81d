"""A real run whose job prints every secret that it has: what stays on this machine of it, and what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.program import Program, last_document, left_of

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.slow]

VALUE, REFERENCED, FILED = "planted/Value+with=signs 1", "planted-referenced-2", "planted-filed-3"
OPERATOR, PASSWORD, KEY = "planted-operator-4", "planted-password-5", "AKIA" + "PLANTEDPLANTED12"
JOB = f"""
name: planted
resources: {{cpus: 1+}}
workdir: .
envs: {{DB_PASSWORD: {PASSWORD}}}
secrets: {{A_TOKEN: '{VALUE}', B_TOKEN: 'env:PLANTED', C_TOKEN: 'file:secret.txt'}}
run: |
  echo got: *
  echo "$A_TOKEN" "$B_TOKEN" "$C_TOKEN" "$DB_PASSWORD" {KEY}
  echo "password is $DB_PASSWORD" >&2
  exit 3
"""


def test_neither_output_nor_log_nor_any_other_file_holds_one(isolated: Path, tmp_path: Path) -> None:
    program = Program(isolated, tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "secret.txt").write_text(FILED)
    words = ("run", "job.yaml", "--format", "json")
    # A pipeline's login lays its credentials in the checkout, and our own keys lie there too: neither is the job's.
    login = tmp_path / "gha-creds-1.json"
    login.write_text(OPERATOR)
    env = {"AWS_SECRET_ACCESS_KEY": OPERATOR, "GOOGLE_APPLICATION_CREDENTIALS": str(login)}
    done = program.run(*words, PLANTED=REFERENCED, **env)  # type: ignore[arg-type]
    assert done.returncode == 9, done.stderr
    run_id = last_document(done.stdout)["run_id"]
    assert left_of(run_id) == []
    shown = [program.run(*words.split()) for words in ("logs planted", "describe planted --format json", "status")]
    said = "".join(ran.stdout + ran.stderr for ran in (done, *shown))
    assert said.count("password is ***") >= 2
    assert "got: job.yaml secret.txt\n" in said

    kept = {p: p.read_bytes() for p in isolated.rglob("*") if p.is_file()}
    assert {"stdout", "rank-0.log", "terraform.jsonl", "workflows.sqlite", "trainrig.db"} <= {p.name for p in kept}
    # What the job is run from again after a crash: the plain variables, for this machine's user alone.
    own = isolated / "rigs" / f"planted-{run_id}" / "job.json"
    assert own.stat().st_mode & 0o077 == 0
    for secret in (VALUE, REFERENCED, FILED, OPERATOR, PASSWORD, KEY):
        assert secret not in said
        found = [p for p, content in kept.items() if secret.encode() in content]
        assert found == ([own] if secret in {PASSWORD, KEY} else [])
