"""The terminal: stdout carries data, stderr carries talk. Nothing else in the package writes to either, and no secret
that this process knows passes through."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from trainrig.model.events import Event, LogLine, Observer, Progress
from trainrig.render.redact import named_secrets, redactor

Format = Literal["text", "json", "md", "github"]

_secrets: set[str] = set()


def hide(values: Iterable[str]) -> None:
    """Secrets that this process has come to know: from here on they are in no output and no log file."""
    _secrets.update(values)


def masked(text: str, *, guess: bool = False) -> str:
    """`text` without known secrets and keys of well-known shapes; with `guess`, without what only looks like one."""
    return redactor(_secrets).text(text, guess=guess)


def masked_document(value: Mapping[str, Any]) -> dict[str, Any]:
    """A document of what went wrong: it quotes what others said, so what only looks like a secret goes too."""
    return {key: redactor(_secrets).document(one) for key, one in value.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Console:
    """What one invocation may say. `quiet` drops talk, never errors; `verbose` adds every progress step."""

    format: Format = "text"
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        """Credentials of whoever started us may come back in what a program says."""
        hide(named_secrets(os.environ))

    def data(self, text: str) -> None:
        """A result for stdout."""
        _out(masked(text))

    def stream(self, chunks: Iterable[str]) -> None:
        """A result for stdout that is made while it is written."""
        for chunk in chunks:
            sys.stdout.write(masked(chunk))
        sys.stdout.flush()

    def document(self, value: Mapping[str, Any], *, line: bool = False) -> None:
        """One JSON document; with `line`, on one line, as long verbs print them."""
        text = _json(value, line=line)
        if masked(text) != text:  # seldom: each text by itself then, so that it stays a document
            text = _json(redactor(_secrets).strings(value), line=line)
        _out(text)

    def say(self, text: str) -> None:
        """Talk for stderr."""
        if not self.quiet:
            self.error(text)

    def error(self, text: str) -> None:
        sys.stderr.write(masked(text, guess=True) + "\n")
        sys.stderr.flush()

    @property
    def interactive(self) -> bool:
        return sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str) -> bool:
        """A yes or no on the terminal; no when there is none."""
        if not self.interactive:
            return False
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    @contextmanager
    def progress(self) -> Iterator[Observer]:
        """An observer that draws bars on a terminal, prints plain lines elsewhere, and sends log lines to stdout in
        text format and to stderr otherwise (stdout then carries the document alone)."""
        if self.quiet or not sys.stderr.isatty():
            yield _Lines(self)
            return
        from trainrig.progress import bars

        with bars(self) as observer:
            yield observer

    def log_line(self, line: LogLine) -> None:
        if self.format == "text":
            self.data(line.text)
        else:
            self.say(line.text)


def _json(value: Mapping[str, Any], *, line: bool) -> str:
    form: dict[str, Any] = {"separators": (",", ":")} if line else {"indent": 2}
    text = json.dumps(value, ensure_ascii=False, **form)
    try:
        text.encode()
    except UnicodeEncodeError:  # what a job made may be named in bytes that are no UTF-8
        return json.dumps(value, **form)
    return text


def _out(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


class _Lines:
    """Progress as plain lines, for files and pipes: each message once, of a count only the last unless `verbose`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last: dict[tuple[str, str | None], str] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case LogLine():
                self._console.log_line(event)
            case Progress():
                key = (event.phase, event.node)
                counting = bool(event.total) and event.done < event.total
                if self._last.get(key) == event.message or (counting and not self._console.verbose):
                    return
                self._last[key] = event.message
                self._console.say(f"{event.phase}: {f'{event.node}: ' if event.node else ''}{event.message}")
