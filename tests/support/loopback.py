"""An HTTP server on 127.0.0.1 that answers from a table, and a guard that keeps tests off every other address."""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.web import serving


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    groups: tuple[str, ...]  # of the route's pattern


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    body: Any  # bytes as they are, anything else as JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Request], Any]  # a JSON value, or a Reply


class Loopback:
    """`route` answers; what has no route is a 404 and is listed in `unknown`."""

    def __init__(self) -> None:
        self.routes: list[tuple[str, re.Pattern[str], Handler]] = []
        self.unknown: list[str] = []
        self.seen: list[str] = []
        self.url = ""

    def route(self, method: str, pattern: str, answer: Any) -> None:
        """`pattern` must match the whole path; `answer` is a JSON value or a function of the request."""
        handler: Handler = answer if callable(answer) else (lambda _request: answer)
        self.routes.append((method, re.compile(pattern), handler))

    def answer(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        split = urlsplit(target)
        self.seen.append(f"{method} {split.path}")
        body = json.loads(raw) if raw.startswith((b"{", b"[")) else raw.decode()
        for wanted, pattern, handler in self.routes:
            found = pattern.fullmatch(split.path)
            if wanted == method and found:
                query = {key: values[0] for key, values in parse_qs(split.query).items()}
                request = Request(
                    method=method, path=split.path, query=query, headers=headers, body=body, groups=found.groups()
                )
                value = handler(request)
                return value if isinstance(value, Reply) else Reply(body=value)
        self.unknown.append(f"{method} {split.path}")
        return Reply(body={"error": {"code": "NotFound", "message": f"no route for {split.path}"}}, status=404)


@contextmanager
def serve(certificate: Path | None = None) -> Iterator[Loopback]:
    """The server on a free port, in a thread, until the block ends; with a `certificate` (PEM with key) over TLS."""
    table = Loopback()

    class Web(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = table.answer(self.command, self.path, dict(self.headers), raw)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_HEAD = do  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server) as url:
        table.url = url.replace("http:", "https:") if certificate else url
        yield table


def self_signed(path: Path, *hosts: str) -> Path:
    """A certificate for 127.0.0.1 and `hosts` with its key, as one PEM file that can also be the client's CA bundle."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), *map(x509.DNSName, hosts)]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
    return path


def forbid_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any connection but one to this machine fails the test, also where the code under test would swallow it."""
    real = socket.socket.connect
    leaks: list[object] = []

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in {"127.0.0.1", "::1", "localhost"}:
            leaks.append(address)
            pytest.fail(f"the test reaches for the network: {address}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
