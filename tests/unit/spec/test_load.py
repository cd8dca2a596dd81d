from __future__ import annotations

import pytest

from trainrig.errors import SpecInvalid, render
from trainrig.spec.load import default_name, load_documents


def problems(text: str) -> list[str]:
    with pytest.raises(SpecInvalid) as caught:
        load_documents(text, "job.yaml")
    return [f"{p.where.line}:{p.where.column} {p.message}" if p.where else p.message for p in caught.value.problems]


def test_all_problems_of_a_file_come_in_one_go_and_in_its_order() -> None:
    text = "resources:\n  cpu: 8+\nnum_nodes: two\nworkdirr: .\nrun: true\n"
    assert problems(text) == [
        "2:3 unknown key `cpu` in `resources`",
        "3:12 a whole number is wanted here, not `two`",
        "4:1 unknown key `workdirr` in the job file",
        "5:6 text is wanted here, and YAML reads true as true",
    ]


def test_a_problem_shows_its_line_a_caret_and_what_was_meant() -> None:
    with pytest.raises(SpecInvalid) as caught:
        load_documents("run: x\nworkdirr: .\n", "job.yaml")
    assert "job.yaml:2:1: unknown key `workdirr`" in render(caught.value)
    assert "    2 | workdirr: .\n      | ^\nhint: did you mean `workdir`?" in render(caught.value)


@pytest.mark.parametrize("key", ["service", "pool", "volumes", "managed_secrets", "event_callback", "_metadata"])
def test_what_trainrig_does_not_have_is_refused_by_name(key: str) -> None:
    (message,) = problems(f"run: x\n{key}: {{}}\n")
    assert message.startswith(f"2:1 `{key}` is not supported: ")


def test_a_serial_pipeline_is_several_jobs_named_after_its_header() -> None:
    specs = load_documents("name: chain\nexecution: serial\n---\nrun: a\n---\nname: second\nrun: b\n", "x.yaml")
    assert [s.default_name for s in specs] == ["chain-1", "chain-2"]


def test_a_parallel_job_group_is_refused() -> None:
    (message,) = problems("name: g\nexecution: parallel\n---\nrun: a\n")
    assert message.startswith("2:12 `parallel` is not supported")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "job.yaml: nothing in it"),
        ("# only a comment\n", "job.yaml: nothing in it"),
        ("just text\n", "a job file is a mapping of keys"),
        ("- run: x\n", "a job file is a mapping of keys"),
    ],
)
def test_what_is_no_mapping_is_refused(text: str, said: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        load_documents(text, "job.yaml")
    assert said in render(caught.value)


def test_the_default_name_comes_from_the_file() -> None:
    assert default_name("examples/llama3 qlora.sky.yaml") == "llama3-qlora-sky"
    assert default_name("-") == "job"
