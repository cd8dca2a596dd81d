from __future__ import annotations

import pytest

from support.specs import job, problems


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("text", "text"),
        ("7", "7"),
        ("3.10", "3.10"),
        ("1e-5", "1e-5"),
        ("true", "True"),
        ("False", "False"),
        ("'no'", "no"),
        ('"010"', "010"),
        ("''", ""),
        ("2026-01-31", "2026-01-31"),
        ("x.x.x.x:3031", "x.x.x.x:3031"),
        ("localhost:8080", "localhost:8080"),
        ("|\n    two\n    lines", "two\nlines\n"),
    ],
)
def test_a_variable_has_the_text_as_written(written: str, value: str) -> None:
    assert job(f"run: x\nenvs:\n  NAME: {written}\n").env == {"NAME": value}


@pytest.mark.parametrize(
    ("written", "reading"),
    [
        ("no", "false"),
        ("on", "true"),
        ("Yes", "true"),
        ("010", "an octal number"),
        ("0o17", "an octal number"),
        ("0x1F", "a hexadecimal number"),
        ("0b101", "a binary number"),
        ("1_000", "a number"),
        ("1:30", "a number in base 60"),
        ("190:20:30", "a number in base 60"),
    ],
)
def test_a_word_that_readers_of_yaml_read_differently_is_refused(written: str, reading: str) -> None:
    expected = [f"3:9 `{written}` is {reading} to some YAML readers and text to others"]
    assert problems(f"run: x\nenvs:\n  NAME: {written}\n") == expected


@pytest.mark.parametrize("written", ["010", "0x10", "1_0", "1:30", "two", "1.5", "[1]", "'9999999999'"])
def test_a_number_is_decimal_and_whole(written: str) -> None:
    (message,) = problems(f"run: x\nnum_nodes: {written}\n")
    assert message.startswith("2:12 ")


@pytest.mark.parametrize("written", ["~", "null", ""])
def test_nothing_is_as_if_the_key_were_not_there(written: str) -> None:
    assert job(f"run: x\nnum_nodes: {written}\nsetup: {written}\n").nodes == 1


@pytest.mark.parametrize("written", ["2", "'2'"])
def test_a_number_may_have_quotes(written: str) -> None:
    assert job(f"run: x\nnum_nodes: {written}\n").nodes == 2


@pytest.mark.parametrize("written", ["12", "1.5", "true"])
def test_a_name_that_is_no_text_is_refused(written: str) -> None:
    (message,) = problems(f"run: x\nname: {written}\n")
    assert message.startswith("2:7 text is wanted here")
