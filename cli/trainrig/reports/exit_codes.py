"""The table of exit codes, from the error classes themselves (docs/exit-codes.md)."""

from __future__ import annotations

from collections.abc import Iterator

from trainrig import errors

_HEAD = """# Exit codes

Scripts can rely on these. `code` is the field of the `trainrig.error/1` document that `--format json` prints on
stdout; the text for people goes to stderr.

| exit | meaning | `code` |
| --- | --- | --- |
| 0 | done; with `--detailed-exitcode`: no changes | |
| 2 | only with `--detailed-exitcode`: changes | |
"""


def families() -> dict[int, tuple[str, list[str]]]:
    """Exit code -> its meaning and the error codes that lead to it."""
    found: dict[int, tuple[str, list[str]]] = {}
    for cls in classes(errors.RigError):
        _, codes = found.setdefault(cls.exit_code, (cls.family, []))
        if cls.code not in codes:
            codes.append(cls.code)
    return dict(sorted(found.items()))


def markdown() -> str:
    rows = [
        f"| {exit_code} | {meaning} | {', '.join(f'`{c}`' for c in sorted(codes))} |"
        for exit_code, (meaning, codes) in families().items()
    ]
    return _HEAD + "\n".join(rows) + "\n"


def classes(cls: type[errors.RigError]) -> Iterator[type[errors.RigError]]:
    """`cls` and everything below it, in the order of the source."""
    yield cls
    for sub in cls.__subclasses__():
        yield from classes(sub)
