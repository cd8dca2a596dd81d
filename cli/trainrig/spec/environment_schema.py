"""The environment file: every key, its form and its meaning. docs/environments.md is made from these tables."""

from __future__ import annotations

import re
from typing import Final

from trainrig.spec.forms import DURATION, LABEL_NAME, NAME, NOT_NEGATIVE, SETTING, STRING, USD, integer
from trainrig.spec.infra import PLACE
from trainrig.spec.job_forms import BUCKET_URL, as_node
from trainrig.spec.nodes import Bad, Node
from trainrig.spec.scalars import string
from trainrig.spec.schema import PINS
from trainrig.spec.tables import Form, Key, Table, list_of, map_of, one_of

_FAILOVER: Final = re.compile(r"[a-z][a-z0-9_-]*(?:/[A-Za-z0-9_.-]+){0,2}\Z")


def _failover(node: Node) -> str:
    word = string(node)
    if not _FAILOVER.match(word):
        raise Bad(node, f"`{word}` is not a place", "write CLOUD, CLOUD/REGION or CLOUD/REGION/ZONE")
    return word


# Clouds that register themselves bring names of their own, which this package cannot know: theirs are not checked.
ACCOUNTS: Final = {
    "aws": Table(
        title="`account` of aws",
        keys=(
            Key(name="profile", form=STRING, meaning="A profile of ~/.aws/config"),
            Key(name="role_arn", form=STRING, meaning="A role to assume"),
            Key(name="account_id", form=SETTING, meaning="The account that must be met"),
            Key(name="permissions_boundary", form=STRING, meaning="Boundary of the roles that are made"),
            Key(name="checkpoint_kms_key_arn", form=STRING, meaning="Key of the checkpoint bucket"),
            Key(name="endpoint", form=STRING, meaning="Another base address of its APIs"),
        ),
    ),
    "gcp": Table(
        title="`account` of gcp",
        keys=(
            Key(name="project", form=STRING, meaning="The project"),
            Key(name="impersonate_service_account", form=STRING, meaning="A service account to act as"),
            Key(
                name="registry_project",
                form=STRING,
                meaning="Another project with images in Artifact Registry: the nodes may read a job's repository there",
            ),
            Key(name="endpoint", form=STRING, meaning="Another base address of its APIs"),
        ),
    ),
    "azure": Table(
        title="`account` of azure",
        keys=(
            Key(name="subscription", form=STRING, meaning="The subscription's id"),
            Key(name="tenant", form=STRING, meaning="The tenant's id"),
            Key(name="client_id", form=STRING, meaning="The identity of workload or managed identity"),
            Key(name="storage_resource_group", form=STRING, meaning="Resource group of the checkpoint store"),
            Key(
                name="data_resource_group",
                form=STRING,
                meaning="Resource group of the storage accounts that jobs read and mount, or its full id in another "
                "subscription; that of the checkpoint store when not given",
            ),
            Key(
                name="registry_resource_group",
                form=STRING,
                meaning="Resource group of the container registry that holds images, or its full id in another "
                "subscription: the nodes get AcrPull there",
            ),
            Key(name="encryption_at_host", form=SETTING, meaning="`true`: disks and caches, encrypted on the host too"),
            Key(name="endpoint", form=STRING, meaning="Another base address of its APIs"),
            Key(name="retail_prices", form=STRING, meaning="Another address of the price list"),
        ),
    ),
}

CREDITS: Final = Table(
    title="`credits`",
    keys=(
        Key(name="limit", form=USD, meaning="What may be spent on this account", required=True),
        Key(name="used", form=NOT_NEGATIVE, meaning="What is spent of it beside trainrig, which adds its own"),
        Key(
            name="burst",
            form=one_of("allow", "approve", "deny"),
            meaning="Past the limit: go on (default), ask first, or use other accounts only",
        ),
    ),
)

_ACCOUNT_KEYS: Final = (
    Key(
        name="account",
        form=Form(read=as_node, shows="mapping, see below", schema={"type": "object"}),
        meaning="How to reach it, by names alone",
    ),
    Key(name="regions", form=list_of(PLACE), meaning="Allowed; all when not given"),
    Key(
        name="zones",
        form=list_of(PLACE),
        meaning="Allowed; all of the regions when not given. Of AWS by their ids (`use1-az4`)",
    ),
    Key(name="markets", form=list_of(one_of("spot", "on_demand", "reserved")), meaning="Allowed; all when not given"),
    Key(name="credits", form=CREDITS, meaning="Credits to use up"),
    Key(name="priority", form=integer(-1000, 1000), meaning="Lower goes first; equal ones by cost"),
    Key(name="max_runs", form=integer(1, 100_000), meaning="Most runs of the queue at once on this account"),
    Key(
        name="max_gpus",
        form=map_of(LABEL_NAME, integer(0, 1_000_000)),
        meaning="Most GPUs at once that runs of the queue may take on this account, by GPU; `*`: of each other GPU",
    ),
    Key(
        name="network",
        form=map_of(LABEL_NAME, SETTING),
        meaning="Ids of an existing network: aws `vpc`, `subnet`; gcp `network`, `subnetwork`; azure `subnet`. "
        'With `public_ip: "false"` nodes get private addresses only',
    ),
)
ONE_ACCOUNT: Final = Table(title="an account", keys=_ACCOUNT_KEYS, refused={"accounts": "accounts do not nest"})
CLOUD_POLICY: Final = Table(
    title="the cloud",
    keys=(
        *_ACCOUNT_KEYS,
        Key(
            name="accounts",
            form=Form(read=as_node, shows="mapping of name to the keys above", schema={"type": "object"}),
            meaning="Several accounts, each with what differs from the keys beside",
        ),
    ),
)

STATE: Final = Table(
    title="`state`",
    keys=(
        Key(
            name="backend",
            form=one_of("local", "s3", "gcs", "azurerm"),
            meaning="Where Terraform's state lies",
            required=True,
        ),
        Key(name="bucket", form=STRING, meaning="s3, gcs"),
        Key(name="prefix", form=STRING, meaning="Begin of all keys"),
        Key(name="region", form=PLACE, meaning="s3"),
        Key(name="endpoint", form=STRING, meaning="s3: another server that speaks S3"),
        Key(name="kms_key_id", form=STRING, meaning="s3: key of the bucket"),
        Key(name="resource_group_name", form=STRING, meaning="azurerm"),
        Key(name="storage_account_name", form=STRING, meaning="azurerm"),
        Key(name="container_name", form=STRING, meaning="azurerm"),
    ),
)

BUDGET: Final = Table(
    title="`budget`",
    keys=(
        Key(name="run", form=USD, meaning="The most that one run may cost"),
        Key(name="month", form=USD, meaning="The most that all runs of a calendar month may cost"),
    ),
)

ENVIRONMENT: Final = Table(
    title="the environment",
    keys=(
        Key(name="name", form=NAME, meaning="The file's name when not given"),
        Key(name="project", form=NAME, meaning="In names and labels of all that is made"),
        Key(name="owner", form=STRING, meaning="In labels; the user when not given"),
        Key(
            name="clouds",
            form=Form(read=as_node, shows="mapping of cloud to its account", schema={"type": "object"}),
            meaning="Allowed clouds",
            required=True,
        ),
        Key(
            name="failover",
            form=list_of(Form(read=_failover, shows="`aws`, `gcp/us-central1`", schema={"type": "string"})),
            meaning="The written order; by cost alone when not given",
        ),
        Key(name="state", form=STATE, meaning="Terraform's state; under TRAINRIG_HOME when not given"),
        Key(name="checkpoint_store", form=BUCKET_URL, meaning="Where checkpoints lie"),
        Key(
            name="price_caps",
            form=map_of(LABEL_NAME, USD),
            meaning="Most for one GPU and hour, by GPU; `*`: all others",
        ),
        Key(name="budget", form=BUDGET, meaning="Limits of spend"),
        Key(name="max_runs", form=integer(1, 100_000), meaning="Most runs of the queue at once"),
        Key(name="lease", form=DURATION, meaning="Of a rig whose job gives none; 24h when not given"),
        Key(name="max_lease", form=DURATION, meaning="The longest lease; 7d when not given"),
        Key(
            name="ssh_ingress",
            form=list_of(STRING),
            meaning="Networks that may use SSH; the caller's address when not given",
        ),
        Key(name="required_labels", form=list_of(STRING), meaning="Labels that each job must have"),
        Key(name="labels", form=map_of(LABEL_NAME, STRING), meaning="Labels of all that is made"),
        Key(name="pins", form=PINS, meaning="Driver and CUDA of jobs that give none"),
        Key(
            name="defaults",
            form=Form(read=as_node, shows="keys of a job file", schema={"$ref": "#/$defs/job"}),
            meaning="What a job inherits when it does not say otherwise",
        ),
        Key(name="max_price_age", form=DURATION, meaning="Older prices are not trusted; 30d when not given"),
    ),
)
