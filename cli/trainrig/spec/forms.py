"""Values as people write them: `8+`, `32GB+`, `256GB`, `90m`, `40` dollars."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from trainrig.model.job import Amount
from trainrig.spec.nodes import Bad, Node, Scalar, kind
from trainrig.spec.scalars import boolean, number_text, scalar, string, text
from trainrig.spec.tables import Form

_POWERS: Final = {"k": -2, "m": -1, "g": 0, "t": 1, "p": 2}
_SIZE_UNITS: Final = {"": 1.0} | {u + rest: 1024.0**n for u, n in _POWERS.items() for rest in ("", "b", "i", "ib")}
_SIZE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([A-Za-z]{0,3})(\+?)\Z")
_DURATION_PART: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_REFERENCE: Final = re.compile(r"(?:env:[A-Za-z_][A-Za-z0-9_]*|file:.+)\Z")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME: Final = re.compile(r"[a-zA-Z0-9]+(?:[._-]{1,2}[a-zA-Z0-9]+)*\Z")
NUMBER_OR_TEXT: Final[dict[str, Any]] = {"type": ["number", "string"]}


def integer(minimum: int, maximum: int) -> Form[int]:
    def read(node: Node) -> int:
        digits = number_text(node, "a whole number")
        if "." in digits or "e" in digits.lower():
            raise Bad(node, f"a whole number is wanted here, not {digits}")
        value = int(digits)
        if not minimum <= value <= maximum:
            raise Bad(node, f"{value} is not between {minimum} and {maximum}")
        return value

    return Form(read=read, shows="whole number", schema={"type": "integer", "minimum": minimum, "maximum": maximum})


def _decimal(node: Node, wanted: str) -> Decimal:
    return Decimal(number_text(node, wanted))


def _usd(node: Node) -> Decimal:
    word = scalar(node, "an amount of US dollars")
    bare = Scalar(
        text=word.text.removeprefix("$"), plain=word.plain, source=word.source, line=word.line, column=word.column
    )
    value = _decimal(bare, "an amount of US dollars")
    if value <= 0:
        raise Bad(node, f"{word.text} is not more than zero dollars")
    return value


def _positive(node: Node) -> Decimal:
    value = _decimal(node, "a number")
    if value <= 0:
        raise Bad(node, f"{value} is not more than zero")
    return value


def _not_negative(node: Node) -> Decimal:
    value = _decimal(node, "a number")
    if value < 0:
        raise Bad(node, f"{value} is less than zero")
    return value


def _amount(node: Node) -> Amount:
    """`8`, `8+`."""
    word = scalar(node, "a number such as 8 or 8+")
    at_least = word.text.endswith("+")
    bare = Scalar(
        text=word.text.removesuffix("+"), plain=word.plain, source=word.source, line=word.line, column=word.column
    )
    value = float(_decimal(bare, "a number such as 8 or 8+"))
    if value <= 0:
        raise Bad(node, f"{word.text} is not more than zero")
    return Amount(value=value, at_least=at_least)


def size_gib(node: Node, *, wanted: str = "a size such as 256GB") -> Amount:
    """`32`, `32+`, `32GB+`, `1.5TB`; a bare number is GiB, and so is GB, as in SkyPilot."""
    word = scalar(node, wanted)
    match = _SIZE.match(word.text.strip())
    if not match or match[2].lower() not in _SIZE_UNITS:
        raise Bad(
            node, f"{wanted} is wanted here, not {kind(node)}", "units: KB, MB, GB, TB; each 1024 of the one before"
        )
    value = float(match[1]) * _SIZE_UNITS[match[2].lower()]
    if value <= 0:
        raise Bad(node, f"{word.text} is not more than zero")
    return Amount(value=value, at_least=bool(match[3]))


def _disk_gb(node: Node) -> int:
    amount = size_gib(node)
    if amount.at_least or amount.value != int(amount.value):
        raise Bad(node, "a disk has whole GB and an exact size, such as 256GB")
    if amount.value > 65536:
        raise Bad(node, "a disk has at most 65536 GB")
    return int(amount.value)


def _data_gb(node: Node) -> Decimal:
    amount = size_gib(node, wanted="a size such as 150GB")
    return Decimal(str(round(amount.value, 6)))


def _seconds(node: Node) -> int:
    word = scalar(node, "a duration such as 90m or 10h").text.strip().lower().replace(" ", "")
    parts = _DURATION_PART.findall(word)
    if not parts or "".join(f"{n}{u}" for n, u in parts) != word:
        raise Bad(node, f"a duration such as 90m, 10h or 2d is wanted here, not {kind(node)}", "units: s, m, h, d, w")
    value = int(sum(Decimal(n) * _SECONDS[u] for n, u in parts))
    if not 0 < value <= 366 * 86400:
        raise Bad(node, f"{word} is not between one second and a year")
    return value


def _moment(node: Node) -> datetime:
    word = scalar(node, "a time such as 2026-01-31T18:00:00Z").text.strip()
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise Bad(node, f"a time such as 2026-01-31T18:00:00Z is wanted here, not {kind(node)}") from None
    if moment.tzinfo is None:
        raise Bad(node, f"{word} has no time zone", "add Z for UTC, or an offset such as +02:00")
    return moment.astimezone(UTC)


def _env_name(node: Node) -> str:
    word = scalar(node, "a variable's name").text
    if not _ENV_NAME.match(word):
        raise Bad(node, f"`{word}` is not a variable's name", "letters, digits and _, not beginning with a digit")
    if word.startswith("TRAINRIG_"):
        raise Bad(node, f"`{word}`: names that begin with TRAINRIG_ are set by trainrig")
    return word


def _job_name(node: Node) -> str:
    word = string(node)
    if not _NAME.match(word) or len(word) > 100:
        raise Bad(node, f"`{word[:60]}` is not a name", "letters, digits and single . _ - between them, at most 100")
    return word


def _reference(node: Node) -> str:
    word = string(node)
    if not _REFERENCE.match(word):
        raise Bad(node, "a reference is wanted here, not the value itself", "write env:NAME, or file:PATH")
    return word


def _container_path(node: Node) -> str:
    word = string(node)
    if not word.startswith("/"):
        raise Bad(node, f"`{word}` is not a path in the container", "begin with /")
    return word


def _setting(node: Node) -> str:
    """Text for Terraform, whose words for yes and no are true and false."""
    word = text(node)
    return word.lower() if word in {"True", "False"} else word


BOOLEAN: Final = Form(read=boolean, shows="`true`, `false`", schema={"type": "boolean"})
STRING: Final = Form(read=string, shows="text", schema={"type": "string"})
TEXT: Final = Form(read=text, shows="text", schema={"type": ["string", "number", "boolean"]})
SETTING: Final = Form(read=_setting, shows="text", schema={"type": ["string", "number", "boolean"]})
SCRIPT: Final = Form(read=string, shows="shell script", schema={"type": "string"})
NAME: Final = Form(
    read=_job_name, shows="name", schema={"type": "string", "pattern": _NAME.pattern.replace("\\Z", "$")}
)
ENV_NAME: Final = Form(read=_env_name, shows="NAME", schema={"type": "string"})
LABEL_NAME: Final = Form(read=lambda n: scalar(n, "a label").text, shows="label", schema={"type": "string"})
REFERENCE: Final = Form(
    read=_reference, shows="`env:NAME`, `file:PATH`", schema={"type": "string", "pattern": "^(env|file):"}
)
CONTAINER_PATH: Final = Form(read=_container_path, shows="absolute path", schema={"type": "string", "pattern": "^/"})
USD: Final = Form(read=_usd, shows="US dollars: `40`, `2.50`", schema=NUMBER_OR_TEXT)
POSITIVE: Final = Form(read=_positive, shows="number", schema={"type": "number", "exclusiveMinimum": 0})
NOT_NEGATIVE: Final = Form(read=_not_negative, shows="number", schema={"type": "number", "minimum": 0})
AMOUNT: Final = Form(read=_amount, shows="`8` exactly, `8+` at least", schema=NUMBER_OR_TEXT)
DISK: Final = Form(read=_disk_gb, shows="`256`, `256GB`, `1TB`", schema=NUMBER_OR_TEXT)
DATA_SIZE: Final = Form(read=_data_gb, shows="`150GB`, `2TB`", schema=NUMBER_OR_TEXT)
DURATION: Final = Form(read=_seconds, shows="`90m`, `10h`, `2d`, `1h30m`", schema={"type": "string"})
MOMENT: Final = Form(read=_moment, shows="`2026-01-31T18:00:00Z`", schema={"type": "string", "format": "date-time"})
