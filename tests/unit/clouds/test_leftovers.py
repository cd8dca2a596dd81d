from __future__ import annotations

from datetime import UTC, datetime

import pytest

from support.rigs import identity
from trainrig.clouds.base import Resource
from trainrig.clouds.leftovers import claim, with_known_runs

LABELS = identity().all_labels()
NAME = identity().resource_prefix  # tr-finetune-abcd2345


def resource(name: str, run_id: str | None, expires_at: datetime | None = None) -> Resource:
    return Resource(cloud="gcp", region="r", type="t", id=name, name=name, run_id=run_id, expires_at=expires_at)


def test_labels_say_run_and_lease() -> None:
    found = claim(LABELS, "whatever")
    assert found is not None
    assert (found.run_id, found.expires_at) == ("abcd2345", datetime(2026, 3, 2, 12, tzinfo=UTC))


def test_a_name_alone_is_a_claim_without_a_run() -> None:
    found = claim({}, f"{NAME}-0")
    assert found is not None
    assert found.run_id is None


def test_a_name_is_believed_where_something_else_marks_it_or_its_run_is_asked_for() -> None:
    marked, asked = claim({}, NAME, marked=True), claim({}, NAME, run_id="abcd2345")
    assert marked is not None
    assert asked is not None
    assert marked.run_id == asked.run_id == "abcd2345"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "web-1",
        "tr-finetune",
        "tr-abcd2345",
        "xtr-finetune-abcd2345",
        "tr-x-abcd23456",
        "tr-x-ABCD2345",
        "tr-x-notebook",
    ],
)
def test_other_names_are_not_ours(name: str) -> None:
    assert claim({}, name) is None


def test_another_run_is_not_of_this_one() -> None:
    assert claim(LABELS, NAME, run_id="zzzz2222") is None
    assert claim({}, NAME, run_id="zzzz2222") is None


def test_what_lost_its_labels_shares_those_of_its_run() -> None:
    end = datetime(2026, 3, 2, tzinfo=UTC)
    orphan, machine = resource(f"{NAME}-1", None), resource(f"{NAME}-0", "abcd2345", end)
    network, stray = resource(NAME, "abcd2345"), resource("tr-other-zzzz2222", None)
    found = {r.id: r for r in with_known_runs([orphan, machine, network, stray])}
    assert (found[orphan.id].run_id, found[orphan.id].expires_at) == ("abcd2345", end)
    assert found[network.id].expires_at == end
    assert (found[stray.id].run_id, found[stray.id].expires_at) == (None, None)
