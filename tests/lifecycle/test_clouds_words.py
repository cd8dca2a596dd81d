"""What a cloud says when it refuses is shown and written down without the keys that it may quote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Ran
from support.stub_cloud import objects
from support.stub_rigs import order
from trainrig import console
from trainrig.errors import RigError
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context
from trainrig.model.events import Event

pytestmark = pytest.mark.terraform

KEY, PASSWORD, BEARER, OPERATOR = "AKIA" + "PLANTEDPLANTED12", "planted-password-1", "planted-bearer-2", "planted-op-3"
WORDS = f"InternalError: {KEY} with password={PASSWORD}, Authorization: Bearer {BEARER}, secret {OPERATOR}"


def test_no_output_and_not_the_journal_has_a_key_that_a_cloud_quotes(
    context: Context, cli: Callable[..., Ran], isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_secrets", set())
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", OPERATOR)
    console.Console()
    objects.order({"op": "create", "type": "stub_node", "error": WORDS})
    events: list[Event] = []
    object.__setattr__(context, "observe", events.append)
    with pytest.raises(RigError) as caught:
        apply(context, order())
    assert "InternalError: ***" in caught.value.message
    said = [repr(caught.value.message), repr(caught.value.details), repr(events)]
    for words in ("status", "status --format json", "describe finetune", "describe finetune --format json"):
        ran = cli(*words.split())
        said += [ran.out, ran.err]
    assert any("InternalError" in text for text in said[3:])
    # Terraform writes its log by itself, beside the state, for this machine's user alone.
    log = isolated / "rigs" / "finetune-abcd2345" / "1-1" / "terraform.jsonl"
    assert log.stat().st_mode & 0o077 == 0
    kept = {p: p.read_bytes() for p in isolated.rglob("*") if p.is_file() and p != log}
    assert {"trainrig.db"} <= {p.name for p in kept}
    for secret in (KEY, PASSWORD, BEARER, OPERATOR):
        assert [text for text in said if secret in text] == []
        assert [p for p, content in kept.items() if secret.encode() in content] == []
