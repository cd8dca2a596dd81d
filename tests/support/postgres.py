"""A PostgreSQL of the machine's own package, for one test: a folder, a socket, no port, nothing kept."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE_SECONDS = 60
USER = "postgres"  # it refuses to run as root; the package makes this user


def program(name: str) -> str | None:
    """Debian keeps the server's programs off PATH, one folder a version."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: int(p.parts[4].split(".")[0]))
    return str(versions[-1]) if versions else shutil.which(name)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a new, empty database `trainrig`, which does not exist yet."""
    user = USER if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="trainrig-pg-", dir="/tmp"))  # the path of a socket must be short
    try:
        if user:
            shutil.chown(folder, user)
        data, initdb, postgres = folder / "data", program("initdb"), program("postgres")
        assert initdb is not None
        assert postgres is not None
        subprocess.run(
            [initdb, "-D", str(data), "-U", USER, "-A", "trust", "-N", "--no-locale", "-E", "UTF8"],
            user=user,
            cwd=folder,
            check=True,
            capture_output=True,
        )
        options = ["-k", str(folder), "-h", "", "-c", "fsync=off", "-c", "max_connections=60"]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen([postgres, "-D", str(data), *options], user=user, cwd=folder, stderr=log) as process,
        ):
            try:
                _wait(folder, process)
                yield f"postgresql://{USER}@/trainrig?host={folder}"
            finally:
                process.terminate()  # SIGTERM waits for the clients to go
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                process.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(folder: Path, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not any(folder.glob(".s.PGSQL.*.lock")) or "ready" not in (folder / "data/postmaster.pid").read_text():
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < until, (folder / "log").read_text()
        time.sleep(0.05)
