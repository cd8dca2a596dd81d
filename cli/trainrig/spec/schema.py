"""The job file: every key, its form and its meaning, and the keys of SkyPilot that trainrig refuses, with the reason.

docs/job-file.md and data/schemas/job.schema.json are made from these tables.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Final

from trainrig.model.job import ACTS, EVENTS
from trainrig.spec.forms import (
    BOOLEAN,
    CONTAINER_PATH,
    DATA_SIZE,
    DURATION,
    ENV_NAME,
    LABEL_NAME,
    MOMENT,
    NAME,
    NOT_NEGATIVE,
    POSITIVE,
    REFERENCE,
    SCRIPT,
    SETTING,
    STRING,
    USD,
    integer,
)
from trainrig.spec.nodes import Bad, Map, Node, Seq, each, kind
from trainrig.spec.resources import STRATEGIES
from trainrig.spec.scalars import boolean, is_null, scalar, string, text
from trainrig.spec.tables import Form, Key, Table, list_of, map_of, one_of


def read_variables(node: Node) -> dict[str, str | None]:
    if not isinstance(node, Map):
        raise Bad(node, f"a mapping of names to values is wanted here, not {kind(node)}")
    return dict(each(node, lambda pair: (ENV_NAME.read(pair[0]), None if is_null(pair[1]) else text(pair[1]))))


def _secrets(node: Node) -> dict[str, str | None]:
    """SkyPilot marks references to its secret server with `secrets:`; here they are variables of this machine."""
    if isinstance(node, Map):
        return dict(each(node, lambda pair: (_secret_name(pair[0]), None if is_null(pair[1]) else text(pair[1]))))
    if isinstance(node, Seq):
        return dict.fromkeys(each(node.items, _secret_name))
    raise Bad(node, f"a mapping of names to values is wanted here, not {kind(node)}")


def _secret_name(node: Node) -> str:
    word = scalar(node, "a secret's name")
    return ENV_NAME.read(replace(word, text=word.text.removeprefix(_MANAGED)))


def _resume(node: Node) -> str:
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


def _no_server(node: Node) -> bool:
    if boolean(node):
        raise Bad(node, "`api_server_access: true` is not supported: there is no API server")
    return False


def _serial(node: Node) -> bool:
    if string(node) != "serial":
        raise Bad(node, "`parallel` is not supported: a file's jobs run one after the other", "execution: serial")
    return True


def _version(node: Node) -> str:
    word = text(node)
    if not word or not all(part.isdigit() for part in word.split(".")):
        raise Bad(node, f"`{word}` is not a version such as 12.8", "pins are exact: no ranges, no `latest`")
    return word


def _run_options(node: Node) -> tuple[str, ...]:
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


def _outputs(node: Node) -> dict[str, str]:
    if isinstance(node, Map) and (url := next((k for k, _ in node if "://" in k.text), None)) is not None:
        raise Bad(url, "SkyPilot's `outputs: {URL: GB}` is not supported", "write NAME: /path/in/the/container")
    return dict(map_of(NAME, STRING).read(node))


BUCKET_URL: Final = Form(
    read=_bucket_url, shows="`s3://BUCKET/PREFIX`, `gs://`, `az://`, `file:///`", schema={"type": "string"}
)
HTTP_URL: Final = Form(read=_http_url, shows="`https://HOST:PORT`", schema={"type": "string"})
SIGNALS: Final = ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP")
# Options of `docker run` that would take the container out of our hands.
_OWN_OPTIONS: Final = frozenset(
    {"--name", "--network", "--net", "--entrypoint", "--workdir", "-w", "--env-file", "--log-driver", "--pull", "--rm"}
    | {"--detach", "-d", "--interactive", "-i", "--tty", "-t", "-it", "--gpus", "--init", "--restart"}
)
_MANAGED: Final = "secrets:"
_INTERNAL: Final = "it is internal to SkyPilot"

WORKDIR: Final = Table(
    title="`workdir`",
    keys=(
        Key(name="url", form=STRING, meaning="A git repository", required=True),
        Key(name="ref", form=STRING, meaning="Branch, tag or commit"),
    ),
    short=STRING,
    short_key="path",
)

CHECKPOINTS: Final = Table(
    title="`checkpoints`",
    keys=(
        Key(name="path", form=CONTAINER_PATH, meaning="Directory in the container", required=True),
        Key(name="interval", form=DURATION, meaning="How often the job writes one; lost work is priced from it"),
        Key(name="size", form=DATA_SIZE, meaning="Of one checkpoint"),
        Key(name="save_signal", form=one_of(*SIGNALS), meaning="Sent when a preemption is announced"),
        Key(
            name="resume",
            form=Form(read=_resume, shows="`resume`, `fresh`, `from: RUN`", schema={"type": ["string", "object"]}),
            meaning="Which checkpoint a new run begins with",
        ),
        Key(name="keep", form=integer(1, 1000), meaning="How many are kept; 3 when not given"),
        Key(name="store", form=BUCKET_URL, meaning="Instead of the environment's"),
    ),
    short=CONTAINER_PATH,
    short_key="path",
)

PLACEMENT: Final = Table(
    title="`placement`",
    keys=(
        Key(name="profile", form=one_of("balanced", "cost", "speed"), meaning="What the best offer is"),
        Key(name="fallbacks", form=integer(0, 1000), meaning="How many; all that fit when not given"),
        Key(name="same", form=one_of("zone", "region"), meaning="Where the nodes of one rig lie together"),
        Key(name="egress_usd_per_gb", form=NOT_NEGATIVE, meaning="Instead of the cloud's list price"),
    ),
)

PINS: Final = Table(
    title="`pins`",
    keys=(
        Key(
            name="driver",
            form=Form(read=_version, shows="`570.172.08`, `570`", schema={"type": ["string", "number"]}),
            meaning="NVIDIA driver",
        ),
        Key(
            name="cuda",
            form=Form(read=_version, shows="`12.8`", schema={"type": ["string", "number"]}),
            meaning="CUDA of the container",
        ),
    ),
)


MOVE: Final = Table(
    title="`recovery.move`",
    keys=(
        Key(
            name="min_saving",
            form=USD,
            meaning="What must be saved over the work left, the cost of the move paid; 1 USD when not given",
        ),
        Key(name="wait", form=DURATION, meaning="The job stays at least so long in one place; 1h when not given"),
        Key(name="max_moves", form=integer(1, 10000), meaning="How often at most"),
    ),
    short=BOOLEAN,
    short_key="wanted",
)

RECOVERY: Final = Table(
    title="`recovery`",
    keys=(
        Key(
            name="max_recoveries",
            form=integer(0, 10000),
            meaning="Without it, spend, deadline and progress are the limits",
        ),
        Key(
            name="on_exit_codes",
            form=list_of(integer(1, 255)),
            meaning="Exit codes that are recovered from like a preemption",
        ),
        Key(
            name="max_restarts_on_errors",
            form=integer(0, 1000),
            meaning="How often a job that failed by itself is started again",
        ),
        Key(name="strategy", form=one_of(*STRATEGIES), meaning="Where to look first"),
        Key(name="move", form=MOVE, meaning="Move to a cheaper approved place while the job runs; off when not given"),
    ),
)

_DO: Final = Key(
    name="do",
    form=one_of(*ACTS),
    meaning="`warn` (default) tells; `checkpoint` commits one and tells; `stop` lets the job save, brings home what it "
    "made and destroys; `destroy` does so at once",
)


def _after(title: str) -> Table:
    after = Key(name="after", form=DURATION, meaning="For so long without a break", required=True)
    return Table(title=title, keys=(after, _DO), short=DURATION, short_key="after")


IDLE: Final = _after("`idle`")
DISK_USE: Final = Table(
    title="`disk`",
    keys=(Key(name="above", form=integer(1, 99), meaning="Percent of a node's disk in use", required=True), _DO),
    short=integer(1, 99),
    short_key="above",
)
GUARDS: Final = Table(
    title="`guards`",
    keys=(
        Key(name="idle", form=IDLE, meaning="The job runs, and no GPU of any node is busier than 5 percent"),
        Key(name="silence", form=_after("`silence`"), meaning="The job writes no line to its log"),
        Key(
            name="disk",
            form=DISK_USE,
            meaning="A node's disk is nearly full",
        ),
    ),
)

NOTIFY: Final = Table(
    title="`notify`",
    keys=(
        Key(
            name="webhook",
            form=REFERENCE,
            meaning="Where the URL is found that gets the events; never the URL itself",
            required=True,
        ),
        Key(name="events", form=list_of(one_of(*EVENTS)), meaning="Which; all when not given"),
    ),
)

NETWORK: Final = map_of(LABEL_NAME, SETTING)

_CONFIG_REFUSED: Final = {
    "nvidia_gpus": "ECC is left as the cloud delivers it",
    "azure": "identity and network of a cloud are the environment's",
    "aws": "identity and network of a cloud are the environment's",
    "gcp": "identity and network of a cloud are the environment's",
    "hooks": "use `checkpoints.save_signal` for preemptions, and `run` for the rest",
    "active_workspace": "use an environment",
}
_ELSEWHERE: Final = Form(read=as_node, shows="anything", schema={})

DOCKER: Final = Table(
    title="`config.docker`",
    keys=(
        Key(
            name="run_options",
            form=Form(
                read=_run_options,
                shows="`--cap-add=SYS_PTRACE --ipc=host`, or a list of such",
                schema={"type": ["string", "array"]},
            ),
            meaning="Options of `docker run`, after trainrig's own",
        ),
    ),
)

CONFIG: Final = Table(
    title="`config`",
    keys=(
        Key(name="docker", form=DOCKER, meaning="How the container is started"),
        *(
            Key(name=name, form=_ELSEWHERE, meaning="Read by no cloud that trainrig rents from, so it has no effect")
            for name in ("kubernetes", "ssh", "slurm", "vast")
        ),
    ),
    refused=_CONFIG_REFUSED,
    path="config.",
)

JOB: Final = Table(
    title="the job file",
    keys=(
        Key(name="name", form=NAME, meaning="Shown everywhere; the file's name when not given"),
        Key(
            name="resources",
            form=Form(read=as_node, shows="mapping, see `resources`", schema={"$ref": "#/$defs/resources"}),
            meaning="The hardware of each node",
        ),
        Key(name="num_nodes", form=integer(1, 1000), meaning="Equal nodes; 1 when not given"),
        Key(name="workdir", form=WORKDIR, meaning="Local folder or git repository in which `setup` and `run` start"),
        Key(name="setup", form=SCRIPT, meaning="Runs before `run`, on every node"),
        Key(name="run", form=SCRIPT, meaning="The job, on every node; without it only `setup` runs"),
        Key(
            name="envs",
            form=Form(
                read=read_variables,
                shows="mapping of NAME to text; `null`: must be given with `--set envs.NAME=...`",
                schema={"type": "object"},
            ),
            meaning="Variables of the container; also filled into `workdir` and `file_mounts`",
        ),
        Key(
            name="secrets",
            form=Form(
                read=_secrets,
                shows="mapping of NAME to `null`, `env:NAME`, `file:PATH` or text; or a list of names",
                schema={"type": ["object", "array"]},
            ),
            meaning="Like `envs`, never printed; `null`: the variable of the same name where trainrig runs",
        ),
        Key(
            name="file_mounts",
            form=Form(read=as_node, shows="mapping of container path to source or mount", schema={"type": "object"}),
            meaning="Files and buckets in the container",
        ),
        Key(
            name="storage",
            form=Form(read=as_node, shows="mapping, see `file_mounts`", schema={"$ref": "#/$defs/mount"}),
            meaning="One bucket, mounted at `workdir`",
        ),
        Key(
            name="inputs",
            form=map_of(STRING, NOT_NEGATIVE),
            meaning="URL and GB: data the job reads, priced like a mount; for a mount, its size",
        ),
        Key(name="config", form=CONFIG, meaning="SkyPilot's settings for one task"),
        Key(
            name="api_server_access",
            form=Form(read=_no_server, shows="`false`", schema={"const": False}),
            meaning="Only `false`: there is no API server",
        ),
        Key(
            name="s3_endpoint",
            form=HTTP_URL,
            meaning="Address of the S3-compatible store (MinIO, Ceph) behind `s3://`; AWS when not given",
            origin="trainrig",
        ),
        Key(
            name="image",
            form=STRING,
            meaning="The container; or the path of a Dockerfile (`./Dockerfile`), which is built where trainrig runs",
            origin="trainrig",
        ),
        Key(
            name="launch",
            form=one_of("torchrun", "ray", "mpi"),
            meaning="How `run` is started: once a GPU, as Ray's head, or by `mpirun`, once a GPU over all nodes",
            origin="trainrig",
        ),
        Key(
            name="metrics",
            form=BOOLEAN,
            meaning="`true`: exporters for Prometheus on each node, for the node alone: ports 9100 and, of GPUs, 9400",
            origin="trainrig",
        ),
        Key(name="checkpoints", form=CHECKPOINTS, meaning="The checkpoint contract", origin="trainrig"),
        Key(
            name="outputs",
            form=Form(
                read=_outputs,
                shows="mapping of name to path in the container, from `workdir` when relative",
                schema={"type": "object"},
            ),
            meaning="What is brought home at the end",
            origin="trainrig",
        ),
        Key(name="budget", form=USD, meaning="The whole bill; the run stops before it is passed", origin="trainrig"),
        Key(name="deadline", form=MOMENT, meaning="When the job must be done", origin="trainrig"),
        Key(
            name="expected_hours",
            form=POSITIVE,
            meaning="Undisturbed run time, from which costs are computed",
            origin="trainrig",
        ),
        Key(name="timeout", form=DURATION, meaning="The run is stopped after this time", origin="trainrig"),
        Key(name="lease", form=DURATION, meaning="When the rig must be gone, whatever happens", origin="trainrig"),
        Key(name="placement", form=PLACEMENT, meaning="How the offer is chosen", origin="trainrig"),
        Key(name="pins", form=PINS, meaning="Exact versions of driver and CUDA", origin="trainrig"),
        Key(name="recovery", form=RECOVERY, meaning="What happens after preemption and failure", origin="trainrig"),
        Key(name="guards", form=GUARDS, meaning="What is looked at while the job runs", origin="trainrig"),
        Key(name="notify", form=NOTIFY, meaning="Who is told what becomes of the run", origin="trainrig"),
        Key(
            name="network",
            form=NETWORK,
            meaning="Ids of existing networks, as the cloud's module names them",
            origin="trainrig",
        ),
    ),
    refused={
        "service": "trainrig runs jobs that end, and a service does not",
        "pool": "there are no worker pools; each run has its own rig",
        "volumes": "volumes live on Kubernetes; mount a bucket in `file_mounts`",
        "volume_mounts": _INTERNAL,
        "file_mounts_mapping": _INTERNAL,
        "storage_mounts": _INTERNAL,
        "managed_secrets": "there is no secret server; use `secrets`",
        "event_callback": "use `notify`, which tells a webhook",
        "execution": "it belongs into the first document of several",
        "primary_tasks": "job groups are not supported: a file's jobs run one after the other",
        "termination_delay": "job groups are not supported: a file's jobs run one after the other",
        "inter_connection": "job groups are not supported: a file's jobs run one after the other",
        "_metadata": _INTERNAL,
        "_user_specified_yaml": _INTERNAL,
        "experimental": "trainrig has no experimental keys",
    },
)

HEADER: Final = Table(
    title="the pipeline's header",
    keys=(
        Key(name="name", form=NAME, meaning="Of the pipeline"),
        Key(
            name="execution",
            form=Form(read=_serial, shows="`serial`", schema={"const": "serial"}),
            meaning="One after the other",
        ),
    ),
    refused={name: JOB.refused[name] for name in ("primary_tasks", "termination_delay", "inter_connection")},
)
