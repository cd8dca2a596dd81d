"""An S3 server that nodes reach: moto's. An emulator: any credentials will do. It proves nothing about permissions."""

from __future__ import annotations

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
