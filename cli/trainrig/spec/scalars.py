"""What an unquoted word means. YAML 1.1 (PyYAML, SkyPilot) and YAML 1.2 differ on `no`, `010`, `1:30` and others;
where the two readings differ and text is wanted, neither is guessed."""

from __future__ import annotations

import re
from typing import Final

from trainrig.spec.nodes import Bad, Node, Scalar, kind

NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
BOOLS: Final = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_SAME_IN_BOTH: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?\Z")
_ODD_INT: Final = re.compile(
    r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7]+|0[0-7_]+|[1-9][0-9_]*_[0-9_]*|[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)\Z"
)


def is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and node.text in NULLS


def scalar(node: Node, wanted: str) -> Scalar:
    """The node as a scalar with a value."""
    if not isinstance(node, Scalar) or is_null(node):
        raise Bad(node, f"{wanted} is wanted here, not {kind(node)}")
    return node


def boolean(node: Node) -> bool:
    word = scalar(node, "true or false")
    if not word.plain or word.text not in BOOLS:
        raise Bad(node, f"true or false is wanted here, not {kind(node)}", "write true or false, without quotes")
    return BOOLS[word.text]


def string(node: Node) -> str:
    """Text, where a number or a boolean would be a mistake: names, commands, paths."""
    word = scalar(node, "text")
    if word.plain:
        _refuse_ambiguous(word)
        if word.text in BOOLS or _INT.match(word.text) or _FLOAT.match(word.text):
            raise Bad(node, f"text is wanted here, and YAML reads {word.text} as {_reading(word.text)}", _quote(word))
    return word.text


def text(node: Node) -> str:
    """Text that may be written as a number or as true and false: values of variables and labels.

    Numbers stay as written (3.10 stays 3.10). true and false become True and False, as in SkyPilot.
    """
    word = scalar(node, "text")
    if word.plain:
        _refuse_ambiguous(word)
        if word.text in BOOLS:
            return str(BOOLS[word.text])
    return word.text


def number_text(node: Node, wanted: str = "a number") -> str:
    """The digits of a decimal number, quoted or not."""
    word = scalar(node, wanted)
    stripped = word.text.strip()
    if word.plain and _ODD_INT.match(stripped):
        raise Bad(
            node, f"{wanted} is wanted here, and YAML reads {stripped} as {_reading(stripped)}", "write it in decimal"
        )
    if not (_INT.match(stripped) or _FLOAT.match(stripped)):
        raise Bad(node, f"{wanted} is wanted here, not {kind(node)}")
    if len(stripped) > 30:
        raise Bad(node, f"{wanted} is wanted here, and this one has {len(stripped)} digits")
    return stripped


def typed(word: Scalar) -> object:
    """None, bool, int, float or text; for JSON."""
    if not word.plain:
        return word.text
    if word.text in NULLS:
        return None
    if word.text in BOOLS:
        return BOOLS[word.text]
    if _INT.match(word.text) and len(word.text) < 20:
        return int(word.text)
    if _FLOAT.match(word.text) and len(word.text) < 30:
        return float(word.text)
    return word.text


def _refuse_ambiguous(word: Scalar) -> None:
    if (word.text in BOOLS and word.text not in _SAME_IN_BOTH) or _ODD_INT.match(word.text):
        raise Bad(word, f"`{word.text}` is {_reading(word.text)} to some YAML readers and text to others", _quote(word))


def _quote(word: Scalar) -> str:
    return f'write "{word.text}" with quotes'


def _reading(word: str) -> str:
    if word in BOOLS:
        return str(BOOLS[word]).lower()
    bare = word.lstrip("+-")
    if ":" in bare:
        return "a number in base 60"
    if bare.startswith(("0x", "0X")):
        return "a hexadecimal number"
    if bare.startswith(("0b", "0B")):
        return "a binary number"
    if len(bare) > 1 and bare[0] == "0" and "." not in bare:
        return "an octal number"
    return "a number"
