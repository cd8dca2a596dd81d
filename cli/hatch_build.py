"""Build hook: puts terraform/, ansible/, templates/, environments/ and examples/ into the wheel.

Plain `force-include` ignores both .gitignore and `exclude`, so a wheel built in a used checkout would carry state
files, which hold secrets. This walks the trees and drops what .gitignore names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pathspec
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TREES = ("terraform", "ansible", "templates", "environments", "examples")


class AssetsHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        ignored = pathspec.PathSpec.from_lines("gitignore", (root / ".gitignore").read_text().splitlines())
        for tree in TREES:
            for path in sorted((root / tree).rglob("*")):
                name = path.relative_to(root).as_posix()
                if path.is_file() and not path.is_symlink() and not ignored.match_file(name):
                    build_data["force_include"][str(path)] = f"trainrig/_assets/{name}"
