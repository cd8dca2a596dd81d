"""`resources`: one set of hardware, or alternatives of it under `any_of` or `ordered`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Final

from trainrig.errors import Problem
from trainrig.model.job import Amount, Recovery, ResourceOption
from trainrig.model.offer import Market
from trainrig.spec.accelerators import ACCELERATORS, Accelerators
from trainrig.spec.forms import (
    AMOUNT,
    BOOLEAN,
    DISK,
    DURATION,
    LABEL_NAME,
    NUMBER_OR_TEXT,
    STRING,
    USD,
    integer,
    size_gib,
)
from trainrig.spec.infra import CLOUD, INFRA, NOT_RENTED, PLACE, Place
from trainrig.spec.nodes import Bad, Map, Node, Scalar, Seq, each, kind, problem
from trainrig.spec.overlay import overlay_resources
from trainrig.spec.scalars import BOOLS, is_null, scalar, string
from trainrig.spec.tables import Form, Key, Table, Values, list_of, map_of, one_of

_PORTS: Final = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?\Z")
_LOCAL_DISK: Final = re.compile(r"(?:(?:nvme|ssd)(?::[0-9.]{1,9}\+?)?|[0-9.]{1,9}\+?)\Z", re.IGNORECASE)
STRATEGIES: Final = ("failover", "eager_next_region")
CONTAINER: Final = "docker:"


def _memory(node: Node) -> tuple[Amount, bool]:
    word = scalar(node, "memory such as 32GB+").text.strip()
    per_vcpu = word.lower().rstrip("+").endswith("x")
    if not per_vcpu:
        return size_gib(node, wanted="memory such as 32GB+"), False
    number = word.lower().rstrip("+").removesuffix("x")
    bare = Scalar(text=number, plain=False, source=node.source, line=node.line, column=node.column)
    return replace(AMOUNT.read(bare), at_least=word.endswith("+")), True


def _port(node: Node) -> str:
    word = scalar(node, "a port").text
    match = _PORTS.match(word)
    if not match or not 0 < int(match[1]) <= int(match[2] or match[1]) <= 65535:
        raise Bad(node, f"a port such as 8080, or a range such as 10000-10010, is wanted here, not {kind(node)}")
    return word


def _local_disk(node: Node) -> str:
    """`nvme:1000+`; a kind alone is at least 100 GB, a size alone is NVMe, as in SkyPilot."""
    word = scalar(node, "a local disk such as nvme:1000+").text
    if not _LOCAL_DISK.match(word):
        raise Bad(node, f"`{word}` is not a local disk", "nvme, nvme:1000+, ssd:500, 1000+")
    kind_of, colon, size = word.lower().rpartition(":")
    if not colon:
        kind_of, size = ("nvme", size) if size[0].isdigit() else (size, "100+")
    return f"{kind_of}:{size}"


def _image_id(node: Node) -> dict[str, str]:
    """Image by region, `*` for any; `docker` is the container beside machine images."""
    if isinstance(node, Map):
        return {"*" if is_null(k) else string(k): _image(v) for k, v in node}
    return {"*": _image(node)}


def _image(node: Node) -> str:
    word = string(node)
    if word.startswith("skypilot:"):
        raise Bad(node, f"`{word}` is not supported: it is an image that SkyPilot publishes and moves")
    if word == CONTAINER or not word.strip():
        raise Bad(node, "an image's name is missing")
    return word.strip()


def _exit_codes(node: Node) -> tuple[int, ...]:
    codes = list_of(integer(0, 255)).read(node)
    return tuple(dict.fromkeys(codes))


JOB_RECOVERY: Final = Table(
    title="`job_recovery`",
    keys=(
        Key(name="strategy", form=one_of(*STRATEGIES, "none"), meaning="Where to look first after a preemption"),
        Key(
            name="max_restarts_on_errors",
            form=integer(0, 1000),
            meaning="How often a job that failed by itself is started again",
        ),
        Key(
            name="recover_on_exit_codes",
            form=Form(read=_exit_codes, shows="`137`, `[1, 2]`", schema={"type": ["integer", "array"]}),
            meaning="Exit codes after which the job is started again",
        ),
    ),
    short=one_of(*STRATEGIES, "none"),
    short_key="strategy",
)


def _idle(node: Node) -> bool:
    """`true`, `false`, minutes or a duration."""
    word = scalar(node, "minutes or a duration such as 2h").text
    if word not in BOOLS and not word.isdecimal():
        DURATION.read(node)
    return True


# Always met: a rig is destroyed when its run ends, idle or not. Only hooks would ask for more.
_AUTOSTOP: Final = Table(
    title="`autostop`",
    keys=(
        Key(name="idle_minutes", form=integer(0, 10**6), meaning="No effect"),
        Key(name="down", form=BOOLEAN, meaning="No effect"),
        Key(name="wait_for", form=one_of("jobs_and_ssh", "jobs", "none"), meaning="No effect"),
    ),
    refused={
        "hook": "put what must run at the end into `run`",
        "hook_timeout": "put what must run at the end into `run`",
    },
    short=Form(read=_idle, shows="`10`, `2h`, `false`", schema={"type": ["integer", "string", "boolean"]}),
    short_key="idle",
)

MARKETS: Final = ("spot", "on_demand", "reserved", "any")

PLAIN_KEYS: Final = (
    Key(name="infra", form=INFRA, meaning="Where: cloud, region and zone, `*` for any"),
    Key(name="cloud", form=CLOUD, meaning="Older spelling of `infra`"),
    Key(name="region", form=PLACE, meaning="Older spelling of `infra`"),
    Key(name="zone", form=PLACE, meaning="Older spelling of `infra`"),
    Key(name="accelerators", form=ACCELERATORS, meaning="GPUs of each node", alias="gpus"),
    Key(name="cpus", form=AMOUNT, meaning="vCPUs of each node"),
    Key(
        name="memory",
        form=Form(read=_memory, shows="`32`, `32+`, `32GB+`, `4x` GiB a vCPU", schema=NUMBER_OR_TEXT),
        meaning="Memory of each node, in GiB",
    ),
    Key(name="instance_type", form=STRING, meaning="Exactly this machine type"),
    Key(name="use_spot", form=BOOLEAN, meaning="`true`: spot only, `false` or not given: on demand only"),
    Key(
        name="market",
        form=one_of(*MARKETS),
        meaning="Like `use_spot`, with `reserved`, and `any`: whatever is cheapest for the whole job",
        origin="trainrig",
    ),
    Key(name="reservation", form=STRING, meaning="Id of a reservation or capacity block to use", origin="trainrig"),
    Key(name="disk_size", form=DISK, meaning="Boot disk, in GiB; 256 when not given", alias="ephemeral_storage"),
    Key(
        name="disk_tier",
        form=one_of("low", "medium", "high", "ultra", "best", "none"),
        meaning="Met up to `medium`: the boot disk is the cloud's general SSD, which `explain` says of the others",
    ),
    Key(
        name="local_disk",
        form=Form(read=_local_disk, shows="`nvme`, `nvme:1000+`", schema={"type": "string"}),
        meaning="A disk inside of the machine",
    ),
    Key(
        name="network_tier",
        form=one_of("standard", "best"),
        meaning="`best`: EFA, GPUDirect or InfiniBand where the machine has it",
    ),
    Key(
        name="image_id",
        form=Form(read=_image_id, shows="`docker:IMAGE`, machine image, mapping of region to machine image", schema={}),
        meaning="The container (`docker:`), or the machine image of a cloud",
    ),
    Key(
        name="ports",
        form=list_of(Form(read=_port, shows="`8080`, `10000-10010`", schema={"type": ["integer", "string"]})),
        meaning="Not opened to the internet: `trainrig ssh RIG --forward PORT` brings one to this machine",
    ),
    Key(name="labels", form=map_of(LABEL_NAME, STRING), meaning="Labels of all that is made in the cloud"),
    Key(name="autostop", form=_AUTOSTOP, meaning="Always met: a rig is destroyed when its run ends"),
    Key(name="max_hourly_cost", form=USD, meaning="Price cap of a node and hour; holds at every failover"),
    Key(name="job_recovery", form=JOB_RECOVERY, meaning="What happens after preemption and failure"),
)

_REFUSED: Final = {
    "hooks": "put what must run at the end into `run`",
    "spot_recovery": "it became `job_recovery`",
    "accelerator_args": "it is for TPUs, and trainrig rents GPUs",
    "priority": "there is no queue that ranks jobs; environments rank accounts with `priority`",
    "priority_class": "there is no queue that ranks jobs; environments rank accounts with `priority`",
    "volumes": "extra disks are not made; ask for a bigger `disk_size` or mount a bucket in `file_mounts`",
    "_docker_login_config": "it is internal to SkyPilot",
    "_is_image_managed": "it is internal to SkyPilot",
    "_requires_fuse": "it is internal to SkyPilot",
    "_cluster_config_overrides": "it is internal to SkyPilot",
    "_no_missing_accel_warnings": "it is internal to SkyPilot",
}


def _options(node: Node) -> tuple[Map, ...]:
    if not isinstance(node, Seq):
        raise Bad(node, f"a list of resources is wanted here, not {kind(node)}")
    return tuple(each(node.items, _alternative))


def _alternative(node: Node) -> Map:
    if not isinstance(node, Map):
        raise Bad(node, f"a mapping such as `infra: aws` is wanted here, not {kind(node)}")
    return node


_OPTIONS: Final = Form(
    read=_options, shows="list of `resources`", schema={"type": "array", "items": {"type": "object"}}
)

OPTION: Final = Table(
    title="an alternative",
    keys=PLAIN_KEYS,
    refused={**_REFUSED, "any_of": "alternatives do not nest", "ordered": "alternatives do not nest"},
)
RESOURCES: Final = Table(
    title="`resources`",
    keys=(
        *PLAIN_KEYS,
        Key(name="any_of", form=_OPTIONS, meaning="Alternatives that inherit the keys beside; the cheapest wins"),
        Key(name="ordered", form=_OPTIONS, meaning="Alternatives that inherit the keys beside; in this order"),
    ),
    refused=_REFUSED,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hardware:
    options: tuple[ResourceOption, ...] = (ResourceOption(market=Market.ON_DEMAND),)
    ordered: bool = False
    container: str | None = None
    recovery: Recovery = field(default_factory=Recovery)


def read_resources(node: Node, problems: list[Problem]) -> Hardware:
    """All alternatives, each with what it inherits."""
    outer = RESOURCES.read(node, problems)
    if not isinstance(node, Map):
        return Hardware()
    listed: tuple[Map, ...] = (*outer.get("any_of", ()), *outer.get("ordered", ()))
    if "any_of" in outer and "ordered" in outer:
        problems.append(problem(outer.at("ordered"), "`any_of` and `ordered` exclude each other", "keep one of them"))
    base = Map(
        entries=tuple((k, v) for k, v in node if k.text not in {"any_of", "ordered"}),
        source=node.source,
        line=node.line,
        column=node.column,
    )
    found: list[Problem] = []
    read = [OPTION.read(overlay_resources(base, item), found) for item in listed or (replace(base, entries=()),)]
    known = {p.where for p in problems}
    problems.extend({p.where: p for p in found if p.where not in known}.values())  # what they inherit is wrong once
    _check_alternatives(outer, read, problems)
    options = tuple(option for values in read for option in _build(values, problems))
    rented = tuple(o for o in options if o.cloud not in NOT_RENTED)
    if options and not rented:
        cloud = str(options[0].cloud)
        problems.append(problem(_place_node(read[0]), f"`{cloud}` is not supported: {NOT_RENTED[cloud]}"))
    return Hardware(
        options=rented,
        ordered="ordered" in outer,
        container=_container(read, problems),
        recovery=_recovery(read[0]),
    )


def _check_alternatives(outer: Values, read: list[Values], problems: list[Problem]) -> None:
    accelerators = [(v, v.get("accelerators")) for v in read]
    for values, wanted in accelerators:
        if not isinstance(wanted, Accelerators):
            continue
        at = values.at("accelerators") if values.node.get("accelerators") else values.at("gpus")
        if "ordered" in outer and len(wanted.requests) > 1:
            problems.append(problem(at, "several accelerators inside of `ordered`", "make each an entry of `ordered`"))
            break
        if "any_of" in outer and wanted.listed and len(wanted.requests) > 1:
            problems.append(problem(at, "a list of accelerators has an order, and `any_of` has none", "use {A, B}"))
            break
    if len({repr(_recovery(v)) for v in read}) > 1:
        different = next(v for v in read if _recovery(v) != _recovery(read[0]))
        message = "`job_recovery` must be equal in all alternatives"
        problems.append(problem(different.at("job_recovery"), message, "give it once, beside `any_of`"))


def _place_node(values: Values) -> Node:
    return values.node.get("infra") or values.at("cloud")


def _build(values: Values, problems: list[Problem]) -> tuple[ResourceOption, ...]:
    """One option; several where `image_id` names a machine image for each region."""
    place: Place = values.get("infra", Place())
    older = [k for k in ("cloud", "region", "zone") if k in values]
    if "infra" in values and older:
        message = f"`infra` and `{older[0]}` say the same thing"
        problems.append(problem(values.at(older[0]), message, "keep `infra`"))
    if "use_spot" in values and "market" in values:
        problems.append(problem(values.at("market"), "`use_spot` and `market` say the same thing", "keep `market`"))
    cloud = place.cloud or values.get("cloud")
    accelerators: Accelerators = values.get("accelerators", Accelerators(requests=()))
    memory, per_vcpu = values.get("memory", (None, False))
    option = ResourceOption(
        cloud=cloud,
        region=place.region or values.get("region"),
        zone=place.zone or values.get("zone"),
        instance_type=values.get("instance_type"),
        gpus=accelerators.requests,
        gpus_ordered=accelerators.listed,
        market=_market(values),
        vcpus=values.get("cpus"),
        memory_gib=memory,
        memory_per_vcpu=per_vcpu,
        disk_gb=values.get("disk_size", 256),
        disk_tier=None if values.get("disk_tier") == "none" else values.get("disk_tier"),
        local_disk=values.get("local_disk"),
        network_tier=values.get("network_tier"),
        max_hourly_usd=values.get("max_hourly_cost"),
        ports=values.get("ports", ()),
        labels=values.get("labels", {}),
        reservation=values.get("reservation"),
    )
    return _with_images(option, values, problems)


def _with_images(option: ResourceOption, values: Values, problems: list[Problem]) -> tuple[ResourceOption, ...]:
    """The option for each region that has a machine image of its own; containers are the job's, not the option's."""
    images = {r: i for r, i in values.get("image_id", {}).items() if r != "docker" and not i.startswith(CONTAINER)}
    if not images:
        return (option,)
    at = values.at("image_id")
    if option.cloud is None:
        message = "a machine image exists in one cloud only, and none is named"
        problems.append(problem(at, message, "add `infra`, or write docker:IMAGE for a container"))
    if option.cloud == "aws" and option.region is None and "*" in images:
        hint = "add the region to `infra`, or write image_id: {REGION: IMAGE}"
        problems.append(problem(at, "a machine image of AWS exists in one region only, and none is named", hint))
    wanted = {r: i for r, i in images.items() if option.region is None or r in {"*", option.region}}
    if not wanted:
        problems.append(problem(at, f"no image for the region {option.region}"))
    return tuple(replace(option, region=option.region if r == "*" else r, image_id=i) for r, i in wanted.items())


def _container(read: list[Values], problems: list[Problem]) -> str | None:
    """The one container of all alternatives; those without one run the others' too."""
    found: dict[str, Values] = {}
    for values in read:
        for region, image in values.get("image_id", {}).items():
            if region == "docker" or image.startswith(CONTAINER):
                found.setdefault(image.removeprefix(CONTAINER), values)
    if len(found) > 1:
        at = list(found.values())[1].at("image_id")
        message = "different containers are not supported: a run that moves takes its container along"
        problems.append(problem(at, message, "name one container, beside `any_of`"))
    return next(iter(found), None)


def _market(values: Values) -> Market | None:
    market: Any = values.get("market")
    if market is not None:
        return None if market == "any" else Market(market)
    return Market.SPOT if values.get("use_spot") else Market.ON_DEMAND


def _recovery(values: Values) -> Recovery:
    wanted = values.get("job_recovery")
    if not isinstance(wanted, Values):
        return Recovery()
    strategy = wanted.get("strategy")
    return Recovery(
        strategy=None if strategy == "none" else strategy,
        max_restarts_on_errors=wanted.get("max_restarts_on_errors", 0),
        on_exit_codes=wanted.get("recover_on_exit_codes", ()),
    )
