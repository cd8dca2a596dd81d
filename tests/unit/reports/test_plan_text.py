from __future__ import annotations

from support.plans import plan
from trainrig.model.plan import Rule
from trainrig.reports.plan_text import text


def test_a_terminal_says_what_the_policy_came_to_by_its_codes() -> None:
    rules = (
        Rule(code="ingress", says="...", holds=True),
        Rule(code="rights", says="...", holds=False),
        Rule(code="lease", says="...", holds=True),
    )
    lines = text(plan(policy=rules), None).splitlines()
    assert [line for line in lines if line.startswith("policy")] == [
        "policy holds: ingress, lease",
        "policy is broken: rights",
    ]
    unknown = (Rule(code="labels", says="...", holds=None),)
    assert "policy, not known without a provider: labels" in text(plan(policy=unknown), None)


def test_it_ends_with_the_digest_and_what_applies_the_folder() -> None:
    last = text(plan(), "plan").splitlines()[-2:]
    assert last[0] == f"digest {plan().digest}"
    assert last[1].startswith("written to plan; trainrig apply plan until ")
