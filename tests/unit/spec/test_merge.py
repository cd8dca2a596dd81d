from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from support.specs import ANYWHERE, job, problems
from trainrig.errors import SpecInvalid, UsageError, render
from trainrig.model.job import Pins
from trainrig.model.offer import Market
from trainrig.spec.from_flags import JobFlags, spec_from_flags
from trainrig.spec.load import load_documents
from trainrig.spec.merge import resolve


def with_defaults(**defaults: Any) -> Any:
    return replace(ANYWHERE, defaults=defaults)


def test_defaults_apply_where_a_job_does_not_say_otherwise() -> None:
    team = with_defaults(resources={"market": "any", "disk_size": "500GB", "region": "us-east-1"}, envs={"A": "1"})
    found = job("run: x\nenvs: {B: b}\nresources: {infra: gcp, use_spot: true}\n", environment=team)
    (option,) = found.options
    assert (option.market, option.disk_gb, option.region) == (Market.SPOT, 500, None)
    assert found.env == {"A": "1", "B": "b"}


def test_flags_win_over_the_file_and_set_over_flags() -> None:
    (spec,) = load_documents("run: x\nbudget: 1\nresources: {accelerators: A100}\n", "j.yaml")
    flags = JobFlags(gpu="H100:8", max_cost="2", image="org/image:1")
    found = resolve(spec, ANYWHERE, ["budget=$3"], flags)
    assert (found.options[0].gpus[0].name, found.budget_usd, found.image) == ("H100", Decimal(3), "org/image:1")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("envs.A=no way", {"A": "no way"}),
        ("envs={B: 1}", {"A": "a", "B": "1"}),
        ("envs.A=", None),
        ("envs.A=''", {"A": ""}),
        ("envs=null", {}),
    ],
)
def test_overrides_are_yaml_and_null_takes_away(override: str, expected: dict[str, str] | None) -> None:
    text = "run: x\nenvs: {A: a}\n"
    if expected is None:
        assert problems(text, override) == ["1:1 the variable A needs a value"]
    else:
        assert job(text, override).env == expected


def test_a_dot_inside_of_a_key() -> None:
    found = job("run: x\n", r"resources.labels.example\.com/team=ml")
    assert found.options[0].labels == {"example.com/team": "ml"}


@pytest.mark.parametrize("override", ["name", "=x", "a..b=1", ".=1"])
def test_what_is_no_override(override: str) -> None:
    with pytest.raises(UsageError, match="is not KEY=VALUE"):
        job("run: x\n", override)


def test_a_variable_that_is_null_must_be_given() -> None:
    text = "run: x\nenvs:\n  A: null\n  B:\n"
    assert problems(text) == ["3:3 the variable A needs a value", "4:3 the variable B needs a value"]
    assert job(text, "envs.A=1", "envs.B=2").env == {"A": "1", "B": "2"}


def test_secrets_are_references() -> None:
    text = "run: x\nsecrets: {A: null, B: 'env:OTHER', C: 'file:~/t', D: literal, 'secrets:E': null}\n"
    expected = {"A": "env:A", "B": "env:OTHER", "C": "file:~/t", "D": "value:literal", "E": "env:E"}
    assert job(text).secrets == expected
    assert job("run: x\nsecrets: ['secrets:A', B]\n").secrets == {"A": "env:A", "B": "env:B"}


def test_an_error_beside_a_secret_does_not_show_its_line() -> None:
    with pytest.raises(SpecInvalid) as caught:
        job("run: x\nsecrets: {TOKEN: hush, 1BAD: x}\nnum_nodes: 0\n")
    said = render(caught.value)
    assert "job.yaml:2:24: `1BAD` is not a variable's name" in said
    assert "hush" not in said
    assert "| num_nodes: 0" in said


def test_a_wrong_flag_is_named() -> None:
    with pytest.raises(SpecInvalid) as caught:
        resolve(spec_from_flags(JobFlags(timeout="10")), ANYWHERE, (), JobFlags(timeout="10", command=("x",)))
    assert "--timeout:1:1: a duration such as 90m, 10h or 2d is wanted here, not `10`" in render(caught.value)


def test_the_digest_ignores_layout_and_secrets_and_nothing_else() -> None:
    one = job("run: x\nname: a\nsecrets: {T: one}\n")
    same = job("# comment\nsecrets:\n  T: two\nname: 'a'\nrun: |-\n  x\n")
    assert one.digest == same.digest
    assert one.digest.startswith("sha256:")
    assert job("run: y\nname: a\nsecrets: {T: one}\n").digest != one.digest
    assert job("run: x\nname: a\nsecrets: {T: one}\n", "num_nodes=2").digest != one.digest


def test_pins_are_the_jobs_and_then_the_environments() -> None:
    pinned = replace(ANYWHERE, pins=Pins(driver="580", cuda="12.8"))
    assert job("run: x\npins: {cuda: 12.4}\n", environment=pinned).pins == Pins(driver="580", cuda="12.4")


def test_a_lease_longer_than_allowed_is_refused() -> None:
    short = replace(ANYWHERE, lease_seconds=3600, max_lease_seconds=7200)
    with pytest.raises(SpecInvalid) as caught:
        job("run: x\nlease: 3h\n", environment=short)
    (problem,) = caught.value.problems
    assert (str(problem.where), problem.message) == (
        "job.yaml:2:8",
        "a lease of 3 h is longer than the 2 h that anywhere allows",
    )


def test_a_required_label_must_be_there() -> None:
    strict = replace(ANYWHERE, required_labels=("cost-center",))
    with pytest.raises(SpecInvalid) as caught:
        job("run: x\n", environment=strict)
    assert "requires the label cost-center" in caught.value.problems[0].message
    labelled = "run: x\nresources: {labels: {cost-center: '1'}}\n"
    assert job(labelled, environment=strict).options[0].labels == {"cost-center": "1"}
