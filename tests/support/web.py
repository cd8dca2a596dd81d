"""Runs a test's HTTP server in a thread, for as long as a block lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

POLL_SECONDS = 0.01  # how long the end of the block may wait


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    """Yields its URL."""
    thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        host, port = server.server_address[:2]
        yield f"http://{host if isinstance(host, str) else host.decode()}:{port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
