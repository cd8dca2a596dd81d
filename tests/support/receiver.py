"""A webhook's receiver: keeps what it is sent, and answers as it is told to."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.web import serving


class Receiver:
    """`answers` are the status codes to come, 200 after the last; `tries` counts requests."""

    def __init__(self) -> None:
        self.documents: list[dict[str, Any]] = []  # those that were answered with 200
        self.answers: list[int] = []
        self.tries = 0
        self.url = ""

    @property
    def events(self) -> list[str]:
        return [d["event"] for d in self.documents]


@contextlib.contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.tries += 1
            code = found.answers.pop(0) if found.answers else 200
            if code == 200:
                found.documents.append(json.loads(body))
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: Any) -> None: ...

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        found.url = f"{url}/hooks/planted-secret"
        yield found
