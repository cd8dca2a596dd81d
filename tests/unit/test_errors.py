from __future__ import annotations

from trainrig.errors import Position, Problem, SpecInvalid, Unplaceable, document, render

WHERE = Position(file="job.yaml", line=3, column=5, text="\tgpu: A100")


def test_the_caret_stands_under_the_column_whatever_a_tab_is_worth() -> None:
    assert WHERE.excerpt().splitlines() == ["    3 | \tgpu: A100", "      | \t   ^"]


def test_all_problems_of_a_file_are_reported_together() -> None:
    error = SpecInvalid(
        "job.yaml has 2 problems",
        problems=[
            Problem(message="unknown key gpu", where=WHERE, hint="did you mean gpus?"),
            Problem(message="name is empty"),
        ],
    )
    text = render(error)
    assert text.startswith("job.yaml has 2 problems\n\njob.yaml:3:5: unknown key gpu\n")
    assert "hint: did you mean gpus?" in text
    assert text.endswith("\n\nname is empty")
    details = document(error)["details"]
    assert isinstance(details, dict)
    assert [p["position"] for p in details["problems"]] == [{"file": "job.yaml", "line": 3, "column": 5}, None]


def test_a_hint_follows_the_message() -> None:
    assert render(Unplaceable("no offer", hint="widen")) == "no offer\nhint: widen"
