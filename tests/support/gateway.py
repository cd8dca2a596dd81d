"""An object store for somebody who may only read: always, or while a file exists, as after a policy change."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from support.web import serving

REFUSED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
HOP_BY_HOP = {"connection", "transfer-encoding", "content-length"}


@contextmanager
def read_only(store: str, gate: Path | None = None, address: str = "127.0.0.1") -> Iterator[str]:
    """The URL of the gateway, at an address of this machine, to the store at the URL `store`; it is shut to writers, or
    is so while `gate` exists."""
    target = urlsplit(store).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if (gate is None or gate.exists()) and self.command not in {"GET", "HEAD"}:
                return self._answer(403, {"Content-Type": "application/xml"}, REFUSED)
            connection = http.client.HTTPConnection(target, timeout=30)
            try:
                connection.request(self.command, self.path, body, dict(self.headers))
                answer = connection.getresponse()
                headers = {k: v for k, v in answer.getheaders() if k.lower() not in HOP_BY_HOP}
                self._answer(answer.status, headers, answer.read(), answer.getheader("Content-Length"))
            finally:
                connection.close()

        def _answer(self, status: int, headers: dict[str, str], body: bytes, length: str | None = None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with serving(ThreadingHTTPServer((address, 0), Handler)) as url:
        yield url
