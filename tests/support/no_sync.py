"""CheckpointSync for tests that have no nodes: no round is ever made."""

from __future__ import annotations


class NoSync:
    committed = 0
    saves: tuple[object, ...] = ()
    failing = False

    def __init__(self, *_: object, **__: object) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def looked_at(self, rank: int, mark: str | None) -> None: ...

    def commit_now(self) -> bool:
        return False
