"""A server that does with comments what GitHub and GitLab do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from support import web


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, object]] = []
        self.runs: dict[str, str] = {}  # path -> status, of CI runs
        self.seen: list[tuple[str, str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def _answer(self, code: int, value: object) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def _handle(self) -> None:
        token = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
        path = urlsplit(self.path)
        self.server.seen.append((self.command, path.path, token))
        if token not in {"Bearer forge-test-token", "forge-test-token"}:
            return self._answer(403, {"message": "Resource not accessible by integration"})
        if path.path in self.server.runs:
            return self._answer(200, {"status": self.server.runs[path.path]})
        if path.path == "/user":
            return self._answer(200, {"id": 1})
        if self.command == "GET":
            page, size = (int(parse_qs(path.query)[k][0]) for k in ("page", "per_page"))
            return self._answer(200, self.server.comments[(page - 1) * size : page * size])
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        if self.command == "POST":
            own = {"user": {"type": "Bot"}, "author_association": "NONE", "author": {"id": 1}}
            self.server.comments.append({"id": len(self.server.comments), "body": body, **own})
            return self._answer(201, {})
        self.server.comments[int(path.path.rsplit("/", 1)[1])]["body"] = body
        return self._answer(200, {})

    do_GET = do_POST = do_PATCH = do_PUT = _handle  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    with web.serving(server):
        yield server


def github(server: Server, **more: str) -> dict[str, str]:
    return {
        "GITHUB_API_URL": server.url,
        "GITHUB_REPOSITORY": "team/train",
        "GITHUB_REF": "refs/pull/12/merge",
        "GITHUB_TOKEN": "forge-test-token",
        **more,
    }
