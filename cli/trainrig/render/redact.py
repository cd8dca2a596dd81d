"""Takes secrets out of text and documents: by value, by the name of their key, by their shape, and by their entropy."""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MASK = "***"
MIN_LENGTH = 4  # a shorter value would take ordinary words out of every text
MIN_NAMED_LENGTH = 8  # of a value of which only the name of its variable says that it is a secret

# Key names that always hold a secret; `token_count` and `key_name` do not.
_KEY = re.compile(
    r"(?:^|[_-])(?:secret|secrets|password|passwd|passphrase|token|access_?key|private_?key|api_?key|sas|credential"
    r"|credentials|authorization|cookie)$",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)  # of any kind, cut off or whole
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                                # AWS key ids
    | \bya29\.[\w-]{20,} | \bAIza[\w-]{35}                         # Google
    | \b(?:AccountKey|SharedAccessSignature|sig)=[\w%+/=-]{20,}    # Azure storage
    | \bgh[opsur]_\w{30,} | \bgithub_pat_\w{30,} | \bglpat-[\w-]{20,}
    | \bhf_\w{30,} | \bsk-[\w-]{24,} | \bxox[abprs]-[\w-]{10,}
    | \beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}                      # JSON web tokens
    """,
    re.VERBOSE | re.DOTALL,
)
# Looking for these first makes a megabyte of offers a matter of a millisecond.
_MARKS = (
    *(
        "-----BEGIN",
        "AKIA",
        "ASIA",
        "ya29.",
        "AIza",
        "AccountKey=",
        "SharedAccessSignature=",
        "sig=",
        "hf_",
        "sk-",
        "xox",
    ),
    *("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "eyJ"),
)
_URL_PASSWORD = re.compile(r"(?<=://)([^/\s:@]+):([^/\s@]+)(?=@)")
_ASSIGNED = re.compile(
    r"""(?P<key>[\w-]*(?:secret|password|passwd|token|access_?key|private_?key|api_?key)["']?\s*[=:]\s*["']?)"""
    r"""(?P<value>(?!env:|file:)[^\s"',;&]{8,})""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<=[Bb]earer )[\w.~+/=-]{8,}")
_WORD = re.compile(r"(?<![\w/+.-])(?:[A-Za-z0-9+/]{36,}={0,2}|[\w-]{36,})(?![\w/+.-])")
_ENTROPY_BITS = 4.4  # a random base64 word of 40 characters has 4.7 on average, a path or a name about 3.9


@dataclass(frozen=True, kw_only=True, slots=True)
class Redactor:
    """`values` are known secrets. What has only the shape or the entropy of one is taken out where `guess` says so."""

    values: frozenset[str] = frozenset()

    def text(self, text: str, *, guess: bool = True) -> str:
        text = _without(text, self._forms())
        if not guess:
            return text
        text = _URL_PASSWORD.sub(rf"\1:{MASK}", text)
        text = _BEARER.sub(MASK, text)
        text = _ASSIGNED.sub(rf"\g<key>{MASK}", text)
        return _WORD.sub(lambda word: MASK if _random(word[0]) else word[0], text)

    def document(self, value: Any) -> Any:
        """A JSON value without secrets: whatever stands under a key that names one, and all text."""
        if isinstance(value, Mapping):
            return {k: MASK if _names_secret(k, v) else self.document(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.document(one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def strings(self, value: Any) -> Any:
        """A JSON value whose texts have no known secret and no key of a known shape. Its own words stay, names and
        `true` among them, even when a secret is spelt as one of them."""
        forms = self._forms()
        return _mapped(value, lambda text: _without(text, forms))

    def _forms(self) -> list[str]:
        """Each value, and how it looks in a URL, in JSON and in base64; longest first."""
        forms: set[str] = set()
        for value in self.values:
            if len(value) >= MIN_LENGTH:
                raw = value.encode("utf-8", "surrogatepass")
                forms |= {value, _in_url(raw), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
                forms.add(base64.b64encode(raw).decode().rstrip("="))
        return sorted(forms, key=len, reverse=True)


def named_secrets(variables: Mapping[str, str]) -> set[str]:
    """The values of variables whose names or shapes say that they are secret; not the short ones, which may be words
    of any text, nor a path, which is where a secret lies."""
    shown = redactor(()).document(variables)
    return {
        value
        for name, value in variables.items()
        if shown[name] == MASK and len(value) >= MIN_NAMED_LENGTH and not value.startswith(("/", "~"))
    }


def redactor(values: Iterable[str]) -> Redactor:
    return Redactor(values=frozenset(values))


def _in_url(raw: bytes) -> str:
    """Percent-encoded, as urllib.parse.quote does it; the core imports nothing of the network."""
    plain = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in raw)


def _without(text: str, forms: Iterable[str]) -> str:
    for form in forms:
        text = text.replace(form, MASK)
    return _SHAPES.sub(MASK, text) if any(mark in text for mark in _MARKS) else text


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _mapped(one, change) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


def _names_secret(key: Any, value: Any) -> bool:
    return isinstance(key, str) and isinstance(value, str) and bool(value) and bool(_KEY.search(key))


def _random(word: str) -> bool:
    """Whether a long word looks drawn by lot: upper case, lower case and digits, and no letter much more often than
    others. Digests and ids are hexadecimal, and stay; so do public keys."""
    if word.startswith("AAAA") or not (
        re.search(r"[a-z]", word) and re.search(r"[A-Z]", word) and re.search(r"\d", word)
    ):
        return False
    counts = Counter(word)
    return -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values()) >= _ENTROPY_BITS
