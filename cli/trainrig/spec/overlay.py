"""Lays one tree over another: a job file over its environment's defaults, `--set` over the job file, an alternative of
`any_of` over the keys beside it."""

from __future__ import annotations

from typing import Final

from trainrig.spec.nodes import Map

# Keys of `resources` that say the same thing: where the upper tree has one of a group, the lower tree's are left out.
_GROUPS: Final = (
    frozenset({"infra", "cloud", "region", "zone"}),
    frozenset({"accelerators", "gpus"}),
    frozenset({"use_spot", "market"}),
    frozenset({"disk_size", "ephemeral_storage"}),
    frozenset({"any_of", "ordered"}),
)
_WHOLE: Final = frozenset({"accelerators", "gpus", "image_id"})  # mappings that are one value


def overlay(lower: Map, upper: Map) -> Map:
    """`upper` wins; mappings are merged key by key. Positions stay those of the tree that a key came from."""
    entries = {key.text: (key, value) for key, value in lower}
    for key, value in upper:
        below = entries.get(key.text)
        if below and isinstance(value, Map) and isinstance(below[1], Map) and key.text not in _WHOLE:
            merge = overlay_resources if key.text == "resources" else overlay
            value = merge(below[1], value)
        entries[key.text] = (key, value)
    return Map(entries=tuple(entries.values()), source=upper.source, line=upper.line, column=upper.column)


def overlay_resources(lower: Map, upper: Map) -> Map:
    above = {key.text for key, _ in upper}
    dropped = {name for group in _GROUPS if group & above for name in group - above}
    kept = tuple((key, value) for key, value in lower if key.text not in dropped)
    return overlay(Map(entries=kept, source=lower.source, line=lower.line, column=lower.column), upper)
