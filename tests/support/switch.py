"""A server behind a switch: switched off, its port refuses and its connections break, as if it had been killed; what
it has stored is there when it is on again."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Switch:
    """Leads a port of 127.0.0.1 to another one."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._connections: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self.port = 0
        self.on()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def off(self) -> None:
        listener, self._listener = self._listener, None
        for open_one in [*([listener] if listener else []), *self._connections]:
            with suppress(OSError):
                open_one.shutdown(socket.SHUT_RDWR)
            open_one.close()
        self._connections.clear()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                outside, _ = listener.accept()
            except OSError:
                return
            inside = socket.create_connection(("127.0.0.1", self._target))
            self._connections += [outside, inside]
            for source, sink in ((outside, inside), (inside, outside)):
                threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
