from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from support.held import held_elsewhere
from trainrig.errors import RigBusy
from trainrig.store import locks


def test_the_second_writer_is_told_who_is_there(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path, "apply") as other:
        with pytest.raises(RigBusy) as caught, locks.hold(tmp_path, "destroy"):
            pass
        assert locks.held(tmp_path)
    assert caught.value.details["pid"] == other.pid
    assert caught.value.details["where"] == socket.gethostname()
    assert "apply since" in caught.value.message
    # the kernel dropped the lock with its holder; what is left is the note
    assert not locks.held(tmp_path)
    assert locks.holder(tmp_path) is not None
    with locks.hold(tmp_path, "destroy"):
        current = locks.holder(tmp_path)
        assert current is not None
        assert (current.pid, current.verb) == (os.getpid(), "destroy")
    assert locks.holder(tmp_path) is None
