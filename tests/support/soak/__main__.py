"""`python -m support.soak FIRST [AFTER_LAST]`: seeds, one after another; what each found. Folders of bad ones stay."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from support import crash, stub_rigs
from support.soak.judge import judged
from trainrig.clouds import registry


def one(seed: int, folder: Path) -> list[str]:
    site = crash.site(folder)
    site.cloud.mkdir()
    environment = folder / "test.yaml"
    environment.write_text("name: test\nclouds:\n  stub: {}\n")
    site.env["TRAINRIG_ENV"] = str(environment)
    mine = ("STUB_CLOUD", "TRAINRIG_HOME", "TRAINRIG_CACHE", "TRAINRIG_ENV", "PYTHONPATH")
    os.environ.update({name: site.env[name] for name in mine})
    registry.forget()
    found = judged(site, seed)
    site.end()
    return found


def main(first: int, after_last: int) -> int:
    bad = 0
    for seed in range(first, after_last):
        folder, began = Path(tempfile.mkdtemp(prefix=f"{seed}-")), time.monotonic()
        found = one(seed, folder)
        seen = json.loads((folder / "verdict.json").read_text())
        print(seed, seen["aim"], *seen["ends"], seen["codes"], f"{time.monotonic() - began:.0f} s", flush=True)
        for line in found:
            print(f"{seed} FOUND {line}, see {folder}", flush=True)
        if not found:
            shutil.rmtree(folder, ignore_errors=True)
        bad += bool(found)
    return bad


if __name__ == "__main__":
    sys.path.insert(0, str(stub_rigs.PLUGINS))
    start = int(sys.argv[1])
    sys.exit(bool(main(start, int(sys.argv[2]) if len(sys.argv) > 2 else start + 1)))
