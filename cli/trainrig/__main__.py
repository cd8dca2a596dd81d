"""`trainrig` and `python -m trainrig`."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main() -> None:
    # Scripts ask for the version often; it must not cost the import of a command-line framework.
    if sys.argv[1:] in (["--version"], ["-V"]):
        from trainrig import __version__

        sys.stdout.write(f"trainrig {__version__}\n")
        return
    from trainrig.app import run

    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        # A thread that still waits for a child must not hold the terminal; what is unfinished is in the journal.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
