"""An S3 server that nodes reach: moto's. An emulator: any credentials will do. It proves nothing about permissions."""

from __future__ import annotations

import http.server
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from moto.server import ThreadedMotoServer


@contextmanager
def s3(address: str, buckets: dict[str, dict[str, bytes]]) -> Iterator[str]:
    """The server at an address of this machine, with these objects in these buckets; yields its URL."""
    server = ThreadedMotoServer(ip_address=address, port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        send(f"{url}/moto-api/reset", method="POST")
        for bucket, objects in buckets.items():
            send(f"{url}/{bucket}", method="PUT")
            for key, data in objects.items():
                send(f"{url}/{bucket}/{key}", data, method="PUT")
        yield url
    finally:
        server.stop()


def send(url: str, data: bytes = b"", method: str = "GET") -> bytes:
    request = urllib.request.Request(url, data=data if method == "PUT" else None, method=method)
    request.add_header("Content-Type", "application/octet-stream")  # else moto takes it for a form
    request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request")
    with urllib.request.urlopen(request, timeout=30) as answer:
        body: bytes = answer.read()
    return body


@contextmanager
def read_only(store: str, address: str) -> Iterator[str]:
    """The same store for somebody who may only read."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            request = urllib.request.Request(store + self.path, headers=headers, method=self.command)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    self._answer(answer.status, answer.read(), dict(answer.headers))
            except urllib.error.HTTPError as error:
                self._answer(error.code, error.read(), dict(error.headers))

        do_GET = do_HEAD = _pass_on  # noqa: N815

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>", {})

        do_POST = do_DELETE = do_PUT  # noqa: N815

        def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() in {"content-type", "etag", "last-modified", "content-length"}:
                    self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Silent."""

    with http.server.ThreadingHTTPServer((address, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{address}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
