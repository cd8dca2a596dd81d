"""The job file: every key, its form and its meaning, and the keys of SkyPilot that trainrig refuses, with the reason.

docs/job-file.md and data/schemas/job.schema.json are made from these tables.
"""

from __future__ import annotations

from typing import Final

from trainrig.spec.forms import (
    BOOLEAN,
    DURATION,
    LABEL_NAME,
    MOMENT,
    NAME,
    NOT_NEGATIVE,
    POSITIVE,
    SCRIPT,
    SETTING,
    STRING,
    USD,
    integer,
)
from trainrig.spec.job_forms import (
    HTTP_URL,
    as_node,
    read_no_server,
    read_outputs,
    read_run_options,
    read_secrets,
    read_serial,
    read_variables,
    read_version,
)
from trainrig.spec.survival import CHECKPOINTS, GUARDS, NOTIFY, RECOVERY
from trainrig.spec.tables import Form, Key, Table, map_of, one_of

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
            form=Form(read=read_version, shows="`570.172.08`, `570`", schema={"type": ["string", "number"]}),
            meaning="NVIDIA driver",
        ),
        Key(
            name="cuda",
            form=Form(read=read_version, shows="`12.8`", schema={"type": ["string", "number"]}),
            meaning="CUDA of the container",
        ),
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
                read=read_run_options,
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
                read=read_secrets,
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
            form=Form(read=read_no_server, shows="`false`", schema={"const": False}),
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
                read=read_outputs,
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
            form=Form(read=read_serial, shows="`serial`", schema={"const": "serial"}),
            meaning="One after the other",
        ),
    ),
    refused={name: JOB.refused[name] for name in ("primary_tasks", "termination_delay", "inter_connection")},
)
