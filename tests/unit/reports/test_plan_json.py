from __future__ import annotations

import json

from support.plans import plan
from support.schemas import check
from trainrig.reports.plan_json import from_document, to_document


def test_a_plan_comes_back() -> None:
    one = plan()
    document = json.loads(json.dumps(to_document(one, "root")))
    check(document)
    assert from_document(document, one.identity, one.lease_seconds) == one
