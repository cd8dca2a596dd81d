"""Forms of values that only the job file has."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Final

from trainrig.spec.forms import ENV_NAME, NAME, STRING
from trainrig.spec.nodes import Bad, Map, Node, Seq, each, kind
from trainrig.spec.scalars import boolean, is_null, scalar, string, text
from trainrig.spec.tables import Form, map_of


def read_variables(node: Node) -> dict[str, str | None]:
    if not isinstance(node, Map):
        raise Bad(node, f"a mapping of names to values is wanted here, not {kind(node)}")
    return dict(each(node, lambda pair: (ENV_NAME.read(pair[0]), None if is_null(pair[1]) else text(pair[1]))))


def read_secrets(node: Node) -> dict[str, str | None]:
    """SkyPilot marks references to its secret server with `secrets:`; here they are variables of this machine."""
    if isinstance(node, Map):
        return dict(each(node, lambda pair: (_secret_name(pair[0]), None if is_null(pair[1]) else text(pair[1]))))
    if isinstance(node, Seq):
        return dict.fromkeys(each(node.items, _secret_name))
    raise Bad(node, f"a mapping of names to values is wanted here, not {kind(node)}")


def _secret_name(node: Node) -> str:
    word = scalar(node, "a secret's name")
    return ENV_NAME.read(replace(word, text=word.text.removeprefix(_MANAGED)))


def read_resume(node: Node) -> str:
    if isinstance(node, Map) and len(node.entries) == 1 and node.entries[0][0].text == "from":
        return f"from:{string(node.entries[0][1])}"
    word = string(node)
    if word in {"fresh", "resume"} or (word.startswith("from:") and len(word) > 5):
        return word
    raise Bad(node, f"`{word}` is not fresh, resume or from:RUN")


def _bucket_url(node: Node) -> str:
    word = string(node)
    if not word.startswith(("s3://", "gs://", "az://", "file:///")) or word.endswith("://"):
        raise Bad(node, f"`{word}` is not the URL of a store", "s3://BUCKET/PREFIX, gs://..., az://... or file:///PATH")
    return word


def _http_url(node: Node) -> str:
    word = string(node)
    if not re.match(r"https?://[^/\s]+/?\Z", word):
        raise Bad(node, f"`{word}` is not the address of a server", "https://HOST[:PORT]")
    return word.rstrip("/")


def as_node(node: Node) -> Node:
    """Read later, with more at hand than the value alone."""
    return node


def read_no_server(node: Node) -> bool:
    if boolean(node):
        raise Bad(node, "`api_server_access: true` is not supported: there is no API server")
    return False


def read_serial(node: Node) -> bool:
    if string(node) != "serial":
        raise Bad(node, "`parallel` is not supported: a file's jobs run one after the other", "execution: serial")
    return True


def read_version(node: Node) -> str:
    word = text(node)
    if not word or not all(part.isdigit() for part in word.split(".")):
        raise Bad(node, f"`{word}` is not a version such as 12.8", "pins are exact: no ranges, no `latest`")
    return word


def read_run_options(node: Node) -> tuple[str, ...]:
    words: list[str] = []
    for part in node.items if isinstance(node, Seq) else (node,):
        try:
            words += shlex.split(string(part))
        except ValueError as error:
            raise Bad(part, f"options that a shell would not take: {str(error).lower()}") from None
    for before, word in zip(["", *words], words, strict=False):
        if not word.startswith("-") and (not before.startswith("-") or "=" in before):
            raise Bad(node, f"`{word}` is not an option of docker run", "an image or a command has no place here")
        if word.split("=")[0] in _OWN_OPTIONS:
            raise Bad(node, f"`{word}` is not supported: trainrig sets it itself")
    return tuple(words)


def read_outputs(node: Node) -> dict[str, str]:
    if isinstance(node, Map) and (url := next((k for k, _ in node if "://" in k.text), None)) is not None:
        raise Bad(url, "SkyPilot's `outputs: {URL: GB}` is not supported", "write NAME: /path/in/the/container")
    return dict(map_of(NAME, STRING).read(node))


BUCKET_URL: Final = Form(
    read=_bucket_url, shows="`s3://BUCKET/PREFIX`, `gs://`, `az://`, `file:///`", schema={"type": "string"}
)
HTTP_URL: Final = Form(read=_http_url, shows="`https://HOST:PORT`", schema={"type": "string"})
# Options of `docker run` that would take the container out of our hands.
_OWN_OPTIONS: Final = frozenset(
    {"--name", "--network", "--net", "--entrypoint", "--workdir", "-w", "--env-file", "--log-driver", "--pull", "--rm"}
    | {"--detach", "-d", "--interactive", "-i", "--tty", "-t", "-it", "--gpus", "--init", "--restart"}
)
_MANAGED: Final = "secrets:"
