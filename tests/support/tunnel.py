"""An HTTPS proxy that leads every CONNECT to one port of this machine, whatever host was asked for."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def proxy(port: int) -> Iterator[str]:
    """Yields its URL."""

    class Tunnel(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(("127.0.0.1", port)) as inside:
                back = threading.Thread(target=_pump, args=(inside, self.connection), daemon=True)
                back.start()
                _pump(self.connection, inside)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:  # either side may hang up at any time
        return
