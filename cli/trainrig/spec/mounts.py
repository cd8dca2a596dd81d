"""`file_mounts` and `storage`: files and buckets at paths of the container."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from trainrig.errors import Problem
from trainrig.model.job import Mount, MountMode
from trainrig.spec.forms import BOOLEAN, DATA_SIZE, STRING
from trainrig.spec.infra import PLACE
from trainrig.spec.nodes import MAX_PROBLEMS, Bad, Map, Node, Scalar, Seq, kind, problem
from trainrig.spec.scalars import is_null, string
from trainrig.spec.tables import Form, Key, Table, did_you_mean, one_of, take

STORES: Final = ("s3", "gcs", "azure")
_NOT_STORES: Final = ("r2", "ibm", "oci", "nebius", "coreweave", "vastdata", "hf", "volume")
_SCHEMES: Final = ("s3", "gs", "az", "hf", "https", "http", "file")
_NOT_SCHEMES: Final = ("r2", "cos", "oci", "nebius", "cw", "vastdata")
_COPIED: Final = re.compile(r"hf://|https?://(?![^/]*\.blob\.core\.windows\.net/)")  # what no mount can serve
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://")
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_STORE_OF_SCHEME: Final = {"s3": "s3", "gs": "gcs", "az": "azure"}
_TYPES: Final = ("MODEL_CHECKPOINT_RO", "MODEL_CHECKPOINT_RW", "DATASET_RO", "DATASET_RW")


def _source(node: Node) -> str:
    if isinstance(node, Seq):
        raise Bad(node, "a list of sources is not supported: one mount takes one source", "write a mount for each")
    word = string(node).strip()
    match = _URL.match(word)
    if match and match[1] in _NOT_SCHEMES:
        raise Bad(node, f"`{match[1]}://` is not supported: data lies in s3://, gs:// or az://")
    if match and match[1] not in _SCHEMES:
        raise Bad(node, f"`{match[1]}://` is not a place that trainrig knows", did_you_mean(match[1], _SCHEMES))
    if not word:
        raise Bad(node, "an empty path")
    return word.removeprefix("file://") if word.startswith("file:///") else word


def _store(node: Node) -> str:
    word = string(node)
    if "$" in word:
        return word  # read once more when the variable has its value
    if word.lower() in _NOT_STORES:
        raise Bad(node, f"the store `{word}` is not supported: data lies in s3, gcs or azure")
    return one_of(*STORES).read(node)


SOURCE: Final = Form(
    read=_source,
    shows="local path, `s3://`, `gs://`, `az://ACCOUNT/CONTAINER`, `hf://`, `https://`",
    schema={"type": "string"},
)
BUCKET: Final = Table(
    title="a mount",
    keys=(
        Key(name="source", form=SOURCE, meaning="What is mounted"),
        Key(
            name="name",
            form=STRING,
            meaning="A bucket to be made, which trainrig does not: the path is a folder of the node, and that is said",
        ),
        Key(
            name="store",
            form=Form(
                read=_store, shows=", ".join(f"`{s}`" for s in STORES), schema={"type": "string", "enum": list(STORES)}
            ),
            meaning="Which object store that bucket would be in",
        ),
        Key(
            name="mode",
            form=one_of("MOUNT", "COPY", "MOUNT_CACHED"),
            meaning="`MOUNT` (default) is the bucket itself, `MOUNT_CACHED` goes through a cache, `COPY` copies first",
        ),
        Key(
            name="type",
            form=one_of(*_TYPES),
            meaning="SkyPilot's presets of `MOUNT_CACHED`; with `_RO` the nodes get no right to write",
        ),
        Key(name="persistent", form=BOOLEAN, meaning="`false`: the bucket is deleted when the run ends"),
        Key(
            name="size", form=DATA_SIZE, meaning="How much data it is; moving it is priced from this", origin="trainrig"
        ),
        Key(name="region", form=PLACE, meaning="Where the data lies", origin="trainrig"),
    ),
    refused={
        "config": "mounts are not tuned one by one",
        "_is_sky_managed": "it is internal to SkyPilot",
        "_bucket_sub_path": "it is internal to SkyPilot",
        "_force_delete": "it is internal to SkyPilot",
    },
)


def read_mounts(node: Node, problems: list[Problem]) -> tuple[Mount, ...]:
    if not isinstance(node, Map):
        problems.append(problem(node, f"`file_mounts` must be a mapping of paths to sources, not {kind(node)}"))
        return ()
    mounts: list[Mount] = []
    targets: dict[str, Scalar] = {}  # two keys may become one when variables are filled in
    for key, value in node:
        if len(problems) > MAX_PROBLEMS:
            break
        first = targets.setdefault(key.text.rstrip("/") or "/", key)
        if not key.text.strip():
            problems.append(problem(key, "an empty path"))
        elif first is not key:
            problems.append(problem(key, f"{key.text} is mounted twice", f"the first is in line {first.line}"))
        elif is_null(value):
            problems.append(problem(value, f"nothing is mounted at {key.text}", "give a path, a URL or a mapping"))
        elif isinstance(value, Map):
            mounts.append(read_bucket(key.text, value, problems))
        elif (source := take(SOURCE, value, problems)) is not None:
            mounts.append(Mount(target=key.text, source=source, store=_store_of(source)))
    return tuple(mounts)


def read_bucket(target: str, node: Map, problems: list[Problem]) -> Mount:
    """A storage object. Its mode is MOUNT where a plain path's is COPY, as in SkyPilot."""
    values = BUCKET.read(node, problems)
    source, name = values.get("source"), values.get("name")
    mode = MountMode(values.get("mode", "MOUNT_CACHED" if "type" in values else "MOUNT"))
    is_url = bool(source and _URL.match(source))
    if mode is MountMode.COPY and not source and not name:
        problems.append(problem(values.at("mode"), "COPY copies a `source`, and there is none"))
    if source and mode is not MountMode.COPY and _COPIED.match(source):
        problems.append(problem(values.at("source"), f"{source} cannot be mounted", "write mode: COPY"))
    if is_url and name:
        problems.append(problem(values.at("name"), "`source` names the bucket already", "leave `name` out"))
    if name and _URL.match(name):
        problems.append(problem(values.at("name"), "a name has no scheme", f"write source: {name}"))
    return Mount(
        target=target,
        source=source,
        mode=mode,
        read_only=(values.get("type") or "").endswith("_RO"),
        name=name,
        store=values.get("store") or _store_of(source),
        persistent=values.get("persistent", True),
        size_gb=values.get("size"),
        region=values.get("region"),
    )


def declared_sizes(mounts: tuple[Mount, ...], inputs: Mapping[str, Decimal]) -> tuple[Mount, ...]:
    """Mounts with the sizes that SkyPilot's `inputs: {URL: GB}` declares for them."""
    sizes = {url.rstrip("/"): size for url, size in inputs.items()}
    return tuple(replace(m, size_gb=m.size_gb or sizes.get(m.source.rstrip("/"))) if m.source else m for m in mounts)


def _store_of(source: str | None) -> str | None:
    match = _URL.match(source or "")
    return _STORE_OF_SCHEME.get(match[1]) if match else None


def substitute(node: Node, variables: Mapping[str, str]) -> Node:
    """`$NAME` and `${NAME}` in keys and values, for the job's own variables; others stay as they are."""
    match node:
        case Scalar():
            filled = _VARIABLE.sub(lambda m: variables.get(m[1] or m[2], m[0]), node.text)
            return node if filled == node.text else replace(node, text=filled, plain=False)
        case Seq():
            return replace(node, items=tuple(substitute(item, variables) for item in node.items))
        case Map():
            return replace(node, entries=tuple((_key(k, variables), substitute(v, variables)) for k, v in node))


def _key(key: Scalar, variables: Mapping[str, str]) -> Scalar:
    filled = substitute(key, variables)
    assert isinstance(filled, Scalar)
    return filled
