"""`trainrig` and `python -m trainrig`."""

from __future__ import annotations

import sys


def main() -> None:
    # Scripts ask for the version often; it must not cost the import of a command-line framework.
    if sys.argv[1:] in (["--version"], ["-V"]):
        from trainrig import __version__

        sys.stdout.write(f"trainrig {__version__}\n")
        return
    from trainrig.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
