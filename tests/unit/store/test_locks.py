from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from trainrig.errors import RigBusy
from trainrig.store import locks

HOLD = """
import sys
from pathlib import Path
from trainrig.store import locks
with locks.hold(Path(sys.argv[1]), "apply"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_writer_is_told_who_is_there(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RigBusy) as caught, locks.hold(tmp_path, "destroy"):
            pass
        assert locks.held(tmp_path)
        other.kill()
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
