from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from trainrig.errors import Interrupted
from trainrig.tools import interrupt


def send(sig: signal.Signals = signal.SIGTERM) -> None:
    os.kill(os.getpid(), sig)


@pytest.mark.parametrize("sig", interrupt.SIGNALS)
def test_each_signal_is_the_same_request(sig: signal.Signals) -> None:
    before = signal.getsignal(sig)
    with pytest.raises(Interrupted), interrupt.handled():
        send(sig)
    assert signal.getsignal(sig) is before
    with interrupt.shield():
        pass  # would raise if the request had not been raised to its end


def test_shielded_work_reaches_its_end_and_is_told_once() -> None:
    told: list[str] = []
    done = []

    def shielded() -> None:
        with interrupt.shield(lambda: told.append("stop")):
            for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
                send(sig)
            done.append("state written")

    with interrupt.handled(), pytest.raises(Interrupted):
        shielded()
    assert (told, done) == (["stop"], ["state written"])


def test_a_shield_without_a_request_is_silent() -> None:
    done = False
    with interrupt.shield():
        done = True
    assert done


def test_work_in_another_thread_is_told_too() -> None:
    told, ready, over = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        try:
            with interrupt.shield(told.set):
                ready.set()
                assert told.wait(10)
        except Interrupted:
            over.set()

    def main() -> None:
        with interrupt.handled():
            worker = threading.Thread(target=work)
            worker.start()
            assert ready.wait(10)
            try:
                send()
            finally:
                worker.join(10)

    with pytest.raises(Interrupted):
        main()
    assert told.is_set()
    assert over.is_set()


def test_a_program_that_ignores_hangups_goes_on_ignoring_them() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupt.handled():
            send(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_that_another_thread_received_is_heard_while_waiting() -> None:
    over = threading.Event()

    def deliver() -> None:
        time.sleep(0.3)  # until the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    with interrupt.handled():
        result = interrupt.Awaited(lambda: over.wait(5))
        threading.Thread(target=deliver).start()
        with pytest.raises(Interrupted):
            result.get()
        interrupt.acknowledge()
        over.set()
        assert result.get() is True


def test_an_awaited_call_that_fails_fails_here() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        interrupt.Awaited(fail).get()
