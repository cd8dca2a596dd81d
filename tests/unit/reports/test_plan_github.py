from __future__ import annotations

from dataclasses import replace

import pytest

from support.plans import RESOURCES, plan, resource
from trainrig.model.plan import Finding, Rule
from trainrig.reports.plan_diff import PlanDiff
from trainrig.reports.plan_github import Comment, State, Write, comment, decide, over, read, settled

UNTIL = "2026-06-02T12:00:00Z"
COMMAND = "trainrig apply job.yaml --plan-digest sha256:aa --ceiling 12.00"


def made(at: str = "2026-06-01T12:00:00Z", **changes: object) -> Comment:
    state = changes.pop("state", "planned")
    base = changes.pop("base", None)
    return comment(plan(**changes), key="train", at=at, state=state, base=base, command=COMMAND, until=UNTIL)  # type: ignore[arg-type]


def test_rights_and_network_come_before_the_machines_and_the_digest_is_there() -> None:
    body = made().body
    assert (
        body.index("aws_iam_role_policy.node") < body.index("security_group_ingress") < body.index("aws_instance.node")
    )
    assert "203.0.113.7/32" in body
    assert '`{"Action": ["s3:GetObject"]}`' in body
    assert plan().digest in body
    assert COMMAND in body


def test_the_marker_comes_back() -> None:
    one = made()
    assert read(one.body) == one.marker
    assert read("a person's comment") is None
    assert read("<!-- trainrig {broken} -->") is None


def test_an_older_run_never_overwrites_a_newer_comment() -> None:
    newer, older = made("2026-06-01T13:00:00Z"), made("2026-06-01T12:00:00Z", digest="sha256:" + "c" * 64)
    assert "newer plan" in (decide(older.marker, [("7", newer.body)]).why or "")


def test_unchanged_is_not_written_and_prices_within_a_tenth_are_no_change() -> None:
    old = [("1", "hello"), ("7", made().body)]
    assert decide(made("2026-06-01T13:00:00Z").marker, old).why
    assert decide(made("2026-06-01T13:00:00Z", price="10.9").marker, old).why
    assert decide(made("2026-06-01T13:00:00Z", price="11.5").marker, old) == Write(id="7")
    assert decide(made("2026-06-01T13:00:00Z", digest="sha256:" + "c" * 64).marker, old) == Write(id="7")
    assert decide(made("2026-06-01T13:00:00Z", state="destroyed").marker, old) == Write(id="7")
    other = replace(made().marker, key="another rig")
    assert decide(other, old) == Write()


@pytest.mark.parametrize("n", [400, 3000])
def test_a_long_plan_is_cut_at_its_sections_and_then_cannot_be_approved(n: int) -> None:
    many = tuple(
        resource(f"module.rig.aws_vpc_security_group_ingress_rule.ssh[{i}]", cidr_ipv4="x" * 20) for i in range(n)
    )
    found = made(resources=(*RESOURCES, *many))
    assert len(found.body) < 65_000
    assert found.body.count("<details>") == found.body.count("</details>")
    assert found.marker.cut == (n == 3000)
    assert (COMMAND in found.body) != found.marker.cut
    assert ("cannot be approved" in found.body) == found.marker.cut


def test_texts_of_others_are_no_markdown() -> None:
    evil = "![x](http://evil/) <img src=x> @org/team --> `code`"
    found = made(findings=(Finding(code="loose_pin", detail=evil),), pins={"container": evil}).body
    assert "![x](" not in found.replace("`` " + evil + " ``", "")
    assert "<img" not in found.replace("`` " + evil + " ``", "")
    assert read(found) is not None


def test_what_differs_from_the_base_branch_is_shown() -> None:
    rule = "Network: module.rig.aws_vpc_security_group_ingress_rule.ssh"
    moved = PlanDiff(
        job="train",
        place=(("chosen", "a", "b"), ("fallback", "c", None), ("fallback", None, "d"), ("fallback", None, "e")),
        costs=(("expected", "$100.00", "$110.00 (+10 %)"),),
        work=(("command, line 2", "a", "b"),),
        pins=(("driver", "580.126.09", "570.1"),),
        resources=((f"{rule}[0]", None, "create"), (f"{rule}[1]", None, "create"), (f"{rule} cidr_ipv4", "1", "2")),
        findings=(),
        values=(("disk_gb", "64", "96"), ("ssh_ingress_cidrs", "[1]", "[2]")),
        files=(("main.tf", "aa", "bb"),),
    )
    body = made(base=moved).body
    shown = [line for line in body.splitlines() if line.startswith("* ")]
    first = [
        "* Place ~ `chosen`: `a` -> `b`",
        "* Place - fallback `c`",
        "* Place + fallback `d`, `e`",
        "* Cost ~ `expected`: `$100.00` -> `$110.00 (+10 %)`",
        "* Work ~ `command, line 2`: `a` -> `b`",
        "* Pins ~ `driver`: `580.126.09` -> `570.1`",
        f"* Network ~ `{rule.partition(': ')[2]} cidr_ipv4`: `1` -> `2`",
        f"* Network + create `{rule.partition(': ')[2]}[0]`, `{rule.partition(': ')[2]}[1]`",
        "* Given ~ `ssh_ingress_cidrs`: `[1]` -> `[2]`",
    ]
    at = shown.index(first[0])
    assert shown[at : at + len(first)] == first
    folded = body[body.index("<details><summary>Against the base branch, 2 more") :]
    assert folded.index("* Values ~ `disk_gb`") < folded.index("* Files ~ `main.tf`") < folded.index("</details>")
    assert body.index("### `train`") < body.index("#### Against the base branch") < body.index("#### Cost")


def test_a_plan_like_that_of_the_base_branch_says_so() -> None:
    nothing = PlanDiff(
        job="train", place=(), costs=(), work=(), pins=(), resources=(), findings=(), values=(), files=()
    )
    assert "nothing that decides differs" in made(base=nothing).body


def test_what_the_job_does_and_what_the_rules_say_is_there() -> None:
    body = made(
        work={"command": "set -e\n```\necho `date`", "variable LR": "0.1"},
        policy=(
            Rule(code="encryption", says="every disk is encrypted", holds=True),
            Rule(code="lease", says="each node ends", holds=False),
            Rule(code="labels", says="all have labels", holds=None),
        ),
    ).body
    assert "````sh\nset -e\n```\necho `date`\n````" in body
    assert "| variable LR | `0.1` |" in body
    assert "Held to the planned values: every disk is encrypted." in body
    assert "Broken, see above: each node ends." in body
    assert "Not known, no provider was asked: all have labels." in body


def test_what_is_past_its_time_is_written_anew_though_nothing_has_changed() -> None:
    old = [("7", made().body)]
    assert decide(made("2026-06-02T12:00:01Z").marker, old) == Write(id="7")
    assert over(made().marker, UNTIL)
    assert not over(made().marker, "2026-06-02T11:59:59Z")
    assert not over(made(state="destroyed").marker, UNTIL)


def test_only_what_waits_for_approval_prints_the_command() -> None:
    assert COMMAND in made().body
    for state in ("applied", "failed", "destroyed", "expired"):
        assert COMMAND not in made(state=state).body
    assert f"the rig is up, until {UNTIL} at the latest. Run id" in made(state="applied").body


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("planned", "expired", "plan again before it is applied"),
        ("applied", "expired", "its lease is over"),
        ("applied", "destroyed", "nothing is left"),
    ],
)
def test_a_comment_is_settled_without_its_plan(before: str, after: State, said: str) -> None:
    old = made(state=before)
    new = settled(old.body, state=after, at="2026-06-03T12:00:00Z")
    marker = read(new)
    assert marker is not None
    assert (marker.key, marker.state, marker.run_id) == ("train", after, plan().identity.run_id)
    first, headline, *rest = new.splitlines()
    assert (first.startswith("<!--"), "`train`" in headline, said in headline) == (True, True, True)
    assert rest == [line for line in old.body.splitlines()[2:] if COMMAND not in line]
    assert decide(made("2026-06-03T13:00:00Z").marker, [("7", new)]) == Write(id="7")
    assert "newer plan" in (decide(old.marker, [("7", new)]).why or "")
