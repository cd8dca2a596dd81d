"""trainrig is the Terraform provider of this cloud."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from trainrig.localcloud import plugin


def serve() -> AbstractContextManager[Mapping[str, str]]:
    # grpc takes a third of a second to import; a folder that is only rendered does not need it.
    from trainrig.localcloud import serve as server

    return server.serve()


def lay_plugin(root: Path) -> None:
    plugin.lay_plugin(root)
