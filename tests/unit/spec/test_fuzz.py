"""Whatever is typed, the reader answers with a job or with an error of its own."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.specs import ANYWHERE
from trainrig.errors import RigError, render
from trainrig.lifecycle.load_job import decode
from trainrig.model.job import Job
from trainrig.spec.compose import compose
from trainrig.spec.environment import load_environment
from trainrig.spec.load import load_documents
from trainrig.spec.merge import resolve
from trainrig.spec.nodes import UNPRINTABLE, to_plain
from trainrig.spec.resources import RESOURCES
from trainrig.spec.schema import JOB

_ODD = ["no", "010", "1:30", "null", "~", "{", "- ", "&a", "*a", "<<", "", "$A", "x" * 300]
WORDS = st.sampled_from(["A100:8", "8+", "32GB+", "aws", "*", "s3://b", *_ODD])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.text(max_size=20), st.dates())
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)
KEYS = sorted({k.name for k in JOB.keys} | set(JOB.refused))
RESOURCE_KEYS = sorted({k.name for k in RESOURCES.keys} | set(RESOURCES.refused))
JOBS = st.dictionaries(st.sampled_from(KEYS), TREES, max_size=6)
JOBS_WITH_RESOURCES = st.builds(
    lambda job, resources: {**job, "resources": resources},
    JOBS,
    st.dictionaries(st.sampled_from(RESOURCE_KEYS), TREES, max_size=6),
)
SPECIAL = st.text(alphabet="{}[]:-&*!|>'\"%@`#,? \n\tab0.<~\x00\ufeff", max_size=60)
few = settings(max_examples=150, deadline=None)


def jobs(text: str) -> tuple[Job, ...]:
    return tuple(resolve(spec, ANYWHERE) for spec in load_documents(text, "fuzz.yaml"))


def answers(text: str) -> str:
    """The jobs, or the error as it is printed."""
    try:
        return repr(jobs(text))
    except RigError as error:
        return render(error)


@few
@given(SPECIAL)
def test_any_text_is_answered(text: str) -> None:
    assert answers(text)


ASCII = st.text(st.characters(codec="ascii"), max_size=20)
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), ASCII),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text("ab<~-:# ", max_size=4), inner)),
    max_leaves=15,
)


@few
@given(PLAIN)
def test_what_a_yaml_library_writes_is_read_as_it_was(tree: Any) -> None:
    text = yaml.safe_dump(tree, default_flow_style=None)
    assume(not UNPRINTABLE.search(text))
    documents = compose(text, "fuzz.yaml")
    assert [to_plain(document) for document in documents] == ([] if tree is None else [tree])


@few
@given(st.binary(max_size=80))
def test_any_bytes_are_answered(data: bytes) -> None:
    with contextlib.suppress(RigError):
        jobs(decode(data, Path("fuzz.yaml"), "job file"))


@few
@given(st.one_of(JOBS, JOBS_WITH_RESOURCES))
def test_any_tree_under_known_keys_is_answered_and_always_alike(tree: dict[str, Any]) -> None:
    text = yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)
    assert answers(text) == answers(text)


@few
@given(TREES)
def test_any_environment_is_answered(tree: Any) -> None:
    with contextlib.suppress(RigError):
        load_environment(
            yaml.safe_dump({"clouds": tree, "defaults": tree, "state": tree}, allow_unicode=True), "e.yaml"
        )


@few
@given(WORDS, st.text(max_size=12))
def test_any_override_is_answered(value: str, path: str) -> None:
    (spec,) = load_documents("run: x\nresources: {cpus: 1}\n", "fuzz.yaml")
    for key in (path, f"resources.{path}", f"envs.{path}"):
        with contextlib.suppress(RigError):
            resolve(spec, ANYWHERE, [f"{key}={value}"])
