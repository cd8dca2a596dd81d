"""An object store behind a gate: some calls pass, and the others are refused as S3 refuses them."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from support.web import serving

REFUSED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
HOP_BY_HOP = {"connection", "transfer-encoding", "content-length"}


Allows = Callable[[str, str, Mapping[str, str]], bool]  # command, path with query, headers


@contextmanager
def read_only(store: str, gate: Path | None = None, address: str = "127.0.0.1") -> Iterator[str]:
    """The URL of a gateway to the store that is shut to writers, or is so while the file `gate` exists."""

    def allows(command: str, _target: str, _headers: Mapping[str, str]) -> bool:
        return command in {"GET", "HEAD"} or (gate is not None and not gate.exists())

    with guarded(store, allows, address) as url:
        yield url


@contextmanager
def guarded(store: str, allows: Allows, address: str = "127.0.0.1", *, absent: int = 404) -> Iterator[str]:
    """The URL of the gateway, at an address of this machine, to the store at the URL `store`. `absent` is what is
    answered of an object that is not there: of who may not list the whole bucket S3 hides it with a 403."""
    target = urlsplit(store).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not allows(self.command, self.path, dict(self.headers)):
                return self._answer(403, {"Content-Type": "application/xml"}, REFUSED)
            connection = http.client.HTTPConnection(target, timeout=30)
            try:
                connection.request(self.command, self.path, body, dict(self.headers))
                answer = connection.getresponse()
                headers = {k: v for k, v in answer.getheaders() if k.lower() not in HOP_BY_HOP}
                status = absent if answer.status == 404 else answer.status
                self._answer(status, headers, answer.read(), answer.getheader("Content-Length"))
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
