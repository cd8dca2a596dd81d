from __future__ import annotations

import pytest

from trainrig.errors import SpecInvalid, render
from trainrig.spec.compose import MAX_CHARACTERS, compose
from trainrig.spec.nodes import Map, Scalar, to_plain


def plain(text: str) -> object:
    (document,) = compose(text, "f.yaml")
    return to_plain(document)


def refused(text: str) -> str:
    with pytest.raises(SpecInvalid) as caught:
        compose(text, "f.yaml")
    return render(caught.value)


def test_nodes_know_where_they_were_written() -> None:
    (document,) = compose("a: 1\nb:\n  c: x\n", "f.yaml")
    assert isinstance(document, Map)
    inner = document.get("b")
    assert isinstance(inner, Map)
    value = inner.get("c")
    assert isinstance(value, Scalar)
    assert (value.line, value.column) == (3, 6)


def test_anchors_and_merge_keys_mean_what_yaml_says() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nuse:\n  <<: [*b, *o]\n  x: 9\n"
    assert plain(text) == {
        "base": {"x": 1, "y": 2},
        "other": {"y": 3, "z": 4},
        "use": {"x": 9, "y": 2, "z": 4},
    }


def test_a_key_that_is_there_twice_is_refused() -> None:
    assert "f.yaml:3:1: `a` is here twice" in refused("a: 1\nb: 2\na: 3\n")
    assert "hint: the first is in line 1" in refused("a: 1\nb: 2\na: 3\n")


def test_a_tab_is_named() -> None:
    assert "a tab: YAML indents with spaces only" in refused("a:\n\tb: 1\n")


def test_ten_lines_that_name_a_billion_nodes_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert "more than 100,000 values" in refused("\n".join(lines))


def test_an_anchor_inside_of_itself_is_refused() -> None:
    assert "*a is inside of &a" in refused("x: &a [*a]\n")


@pytest.mark.parametrize("text", ["[" * 60 + "]" * 60, "[" * 100_000, "- " * 100 + "x", "{a: " * 60 + "1" + "}" * 60])
def test_deep_nesting_is_refused(text: str) -> None:
    assert "levels deep" in refused(text) or "nesting" in refused(text)


def test_a_text_that_is_too_long_is_refused() -> None:
    assert "characters are too many" in refused("a: " + "x" * MAX_CHARACTERS)


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\x7f", "\ud800"])
def test_control_characters_are_named_with_their_place(character: str) -> None:
    assert "f.yaml:2:4: a control character" in refused(f"a: 1\nb: {character}\n")


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert plain("\ufeffa: 1\n") == {"a": 1}


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!Ref", "!!binary"])
def test_tags_are_refused(tag: str) -> None:
    assert "is not taken" in refused(f"a: {tag} x\n")


def test_a_str_tag_makes_text() -> None:
    (document,) = compose("a: !!str 5\n", "f.yaml")
    assert to_plain(document) == {"a": "5"}


def test_keys_that_are_no_words_are_refused() -> None:
    assert "a key must be one word" in refused("? [a, b]\n: 1\n")


def test_windows_line_ends_are_taken() -> None:
    assert plain("a: 1\r\nb: 2\r\n") == {"a": 1, "b": 2}


def test_an_error_shows_no_control_characters_and_no_endless_line() -> None:
    shown = refused("a: \x1b[31m\n").split("\n", 2)[2]
    assert "a: \ufffd[31m" in shown
    assert "\x1b" not in shown
    assert len(refused(f"a: 1\na: {'x' * 5000}\n")) < 300
    assert "| " not in refused(f"[{'x' * 5000}, *nowhere]")
