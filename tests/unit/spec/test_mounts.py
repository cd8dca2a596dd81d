from __future__ import annotations

from decimal import Decimal

import pytest

from support.specs import job, problems
from trainrig.model.job import Mount, MountMode


def test_plain_sources_are_copied() -> None:
    found = job("run: x\nfile_mounts: {/data: 's3://bucket/data/', ~/.cfg: ~/.cfg, /w: 'https://host/weights.bin'}\n")
    assert found.mounts == (
        Mount(target="/data", source="s3://bucket/data/", store="s3"),
        Mount(target="~/.cfg", source="~/.cfg"),
        Mount(target="/w", source="https://host/weights.bin"),
    )


def test_a_bucket_is_mounted_unless_it_says_otherwise() -> None:
    text = """
run: x
file_mounts:
  /a: {name: scratch}
  /b: {source: 'gs://b', mode: copy, size: 150GB, region: us-central1}
  /c: {name: c, source: ./local, store: azure, mode: MOUNT_CACHED, persistent: false}
  /d: {source: 's3://d', type: DATASET_RO}
"""
    assert job(text).mounts == (
        Mount(target="/a", source=None, name="scratch", mode=MountMode.MOUNT),
        Mount(
            target="/b",
            source="gs://b",
            store="gcs",
            mode=MountMode.COPY,
            size_gb=Decimal(150),
            region="us-central1",
        ),
        Mount(target="/c", source="./local", name="c", store="azure", mode=MountMode.MOUNT_CACHED, persistent=False),
        Mount(target="/d", source="s3://d", store="s3", mode=MountMode.MOUNT_CACHED, read_only=True),
    )


def test_variables_are_filled_in() -> None:
    text = """
run: x
envs: {BUCKET: b, STORE: s3, DIR: data, N: 7}
workdir: ~/code-$N
file_mounts:
  /$DIR/${N}b: s3://${BUCKET}/$DIRECTORY/$N
  /out: {name: $BUCKET, store: $STORE}
"""
    found = job(text)
    assert found.workdir == "~/code-7"
    assert [(m.target, m.source, m.name, m.store) for m in found.mounts] == [
        ("/data/7b", "s3://b/$DIRECTORY/7", None, "s3"),
        ("/out", None, "b", "s3"),
    ]


def test_inputs_that_no_mount_brings_are_read_by_the_job_itself() -> None:
    found = job("run: x\ninputs: {'gs://big': 1000, 's3://small/': 1}\nfile_mounts: {/d: 's3://small'}\n")
    assert found.inputs == {"gs://big": Decimal(1000)}
    assert found.mounts[0].size_gb == Decimal(1)


def test_the_sizes_of_inputs_are_those_of_mounts() -> None:
    found = job("run: x\ninputs: {'gs://big': 1000}\nfile_mounts: {/d: 'gs://big/'}\n")
    assert found.mounts[0].size_gb == Decimal(1000)


def test_storage_is_mounted_at_the_workdir() -> None:
    found = job("run: x\nworkdir: /persistent\nstorage: {name: ckpt, source: ~/local, store: s3}\n")
    assert (found.workdir, found.start_in) == (None, "/persistent")
    assert found.mounts == (
        Mount(target="/persistent", source="~/local", name="ckpt", store="s3", mode=MountMode.MOUNT),
    )


@pytest.mark.parametrize(
    ("mounts", "said"),
    [
        ("{/d: {mode: COPY}}", "COPY copies a `source`, and there is none"),
        ("{/d: {name: b, source: 's3://b'}}", "`source` names the bucket already"),
        ("{/d: {name: 's3://b'}}", "a name has no scheme"),
        ("{/d: {source: [a, b], name: c}}", "a list of sources is not supported: one mount takes one source"),
        ("{/d: {name: b, store: r2}}", "the store `r2` is not supported: data lies in s3, gcs or azure"),
        ("{/d: 'r2://bucket/x'}", "`r2://` is not supported: data lies in s3://, gs:// or az://"),
        ("{/d: {source: 'hf://org/model'}}", "hf://org/model cannot be mounted"),
        ("{/d: {source: 'https://host/a.tar', mode: MOUNT_CACHED}}", "https://host/a.tar cannot be mounted"),
        ("{/d: 'ftp://host/x'}", "`ftp://` is not a place that trainrig knows"),
        ("{/d: {name: b, mode: LINK}}", "`LINK` is not one of MOUNT, COPY, MOUNT_CACHED"),
        ("{/d: {name: b, config: {}}}", "`config` is not supported: mounts are not tuned one by one"),
        ("{/d: a, /d/: b}", "/d/ is mounted twice"),
        ("{/d: null}", "nothing is mounted at /d"),
        ("{/d: [a]}", "a list of sources is not supported: one mount takes one source"),
        ("[]", "`file_mounts` must be a mapping of paths to sources, not a list"),
    ],
)
def test_what_is_refused(mounts: str, said: str) -> None:
    (message,) = problems(f"run: x\nfile_mounts: {mounts}\n")
    assert message.split(" ", 1)[1] == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("storage: {name: b}", "`storage` is mounted at `workdir`, which is not given"),
        ("workdir: .\nstorage: {name: b}", "`storage` is mounted at `workdir`, which must be an absolute path"),
        ("inputs: {big: 1}", "`big` is neither the URL of a store nor a source in `file_mounts`"),
        ("workdir: {ref: main}", "`workdir` needs the key `url`"),
    ],
)
def test_what_belongs_together(text: str, said: str) -> None:
    (message,) = problems(f"run: x\n{text}\n")
    assert message.split(" ", 1)[1] == said


def test_a_file_url_is_a_path_of_this_machine() -> None:
    assert job("run: x\nfile_mounts: {/d: 'file:///data/set'}\n").mounts[0].source == "/data/set"


def test_a_bucket_of_azure_may_be_mounted_by_its_https_address() -> None:
    source = "https://acc.blob.core.windows.net/box"
    found = job(f"run: x\ns3_endpoint: http://minio:9000/\nfile_mounts: {{/d: {{source: '{source}'}}}}\n")
    assert (found.mounts[0].source, found.mounts[0].mode) == (source, MountMode.MOUNT)
    assert found.s3_endpoint == "http://minio:9000"


def test_an_endpoint_is_a_server_and_nothing_behind_it() -> None:
    (message,) = problems("run: x\ns3_endpoint: minio:9000/bucket\n")
    assert "`minio:9000/bucket` is not the address of a server" in message
