"""Ctrl-C, SIGTERM and a lost terminal as one thing: a request to stop, heard where stopping is safe.

`handled()` turns the three signals into Interrupted. Inside `shield()` nothing is raised; the shield's callback is
told, once, and Interrupted is raised when the shield is left. CI systems send SIGINT, then SIGTERM, then kill: only the
first one counts.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from types import FrameType
from typing import Generic, TypeVar

from trainrig.errors import Interrupted

T = TypeVar("T")

SLICE_SECONDS = 0.2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_callbacks: list[Callable[[], None]] = []  # of the shields that are held now, in any thread
_held_by_main = 0
_requested = threading.Event()


def acknowledge() -> None:
    """The stop is being carried out: the work that carries it out is not interrupted by it."""
    _requested.clear()


@contextlib.contextmanager
def handled() -> Iterator[None]:
    """Within it the three signals raise Interrupted, at once outside of shields. Nests; a no-op off the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.getsignal(s) for s in SIGNALS}
    outermost = before[signal.SIGINT] is not _on_signal
    for s in SIGNALS:
        # A program started by nohup ignores SIGHUP and must go on doing so.
        if before[s] is not signal.SIG_IGN:
            signal.signal(s, _on_signal)
    try:
        yield
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
        if outermost:
            _requested.clear()


@contextlib.contextmanager
def shield(on_request: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Work that must reach its own end. `on_request` runs in the signal handler: it must be short.

    Raises:
        Interrupted: on leaving, when a stop was asked for meanwhile.
    """
    global _held_by_main  # noqa: PLW0603
    main = threading.current_thread() is threading.main_thread()
    with handled():
        _held_by_main += main
        _callbacks.append(on_request)
        try:
            yield
        finally:
            _callbacks.remove(on_request)
            _held_by_main -= main
        if _requested.is_set() and not _held_by_main:
            raise interrupted()


class Awaited(Generic[T]):
    """The result of a call that blocks, waited for in slices.

    Python runs signal handlers in the main thread alone and between two of its steps. A main thread that sleeps in a
    lock does not hear a signal that the kernel has given to another thread.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        threading.Thread(target=self._run, args=[call], daemon=True, name="awaited").start()

    def get(self) -> T:
        """Raises what the call raised; or Interrupted, after which it can be waited for again."""
        while True:
            done, _ = wait([self._future], timeout=SLICE_SECONDS)
            if done:
                return self._future.result()

    def _run(self, call: Callable[[], T]) -> None:
        try:
            self._future.set_result(call())
        except BaseException as error:  # noqa: BLE001  # whoever waits gets it
            self._future.set_exception(error)


def interrupted() -> Interrupted:
    return Interrupted("interrupted", hint="trainrig status shows what is left, trainrig destroy removes it")


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    first = not _requested.is_set()
    _requested.set()
    if first:
        for callback in tuple(_callbacks):
            callback()
        if not _held_by_main:
            raise interrupted()
