"""What a rendered root will make: asked of Terraform and its providers, or worked out without them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainrig import settings
from trainrig.clouds import registry
from trainrig.errors import RigError
from trainrig.lifecycle.context import Context
from trainrig.model.plan import PlannedResource
from trainrig.render import static_plan
from trainrig.render.redact import redactor
from trainrig.store import workdir
from trainrig.tools import terraform_state
from trainrig.tools.terraform import PLAN_FILE, Terraform
from trainrig.tools.terraform_plan import REDACTED, ResourceChange, TerraformPlan

_ACTIONS = {"replace": ("delete", "create")}


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """`plan` and `serial` are of Terraform; None where no provider was asked."""

    resources: tuple[PlannedResource, ...]
    unknown: tuple[str, ...] = ()
    plan: TerraformPlan | None = None
    serial: int | None = None
    version: str | None = None


def ask(context: Context, files: Mapping[str, str], cloud: str, *, keep: Path | None) -> Planned:
    """Plans in a copy that is thrown away. `keep`: where the binary plan goes, which holds everything in clear.

    Raises:
        TerraformFailed: the plan fails.
        UnsafePlan: it deletes or replaces something.
    """
    with _scratch() as folder:
        root = Path(folder)
        workdir.write_tree(root, files)
        with context.terraform(root, cloud) as terraform:
            terraform.init().check()
            serial = terraform_state.serial(terraform.state_pull())
            terraform.plan().check()
            plan = terraform.show_plan()
            plan.raise_if_unsafe()
            version = terraform.version()
        if keep is not None:
            workdir.write_atomic(keep, (root / PLAN_FILE).read_bytes())
    return Planned(resources=resources(plan), plan=plan, serial=serial, version=version)


def resources(plan: TerraformPlan) -> tuple[PlannedResource, ...]:
    return tuple(_resource(c) for c in sorted(plan.changes, key=lambda c: c.address))


def _resource(change: ResourceChange) -> PlannedResource:
    values = change.after if change.after is not None else change.before
    return PlannedResource(
        address=change.address,
        type=change.type,
        actions=_ACTIONS.get(change.kind, (change.kind,)),
        sensitive=REDACTED in str(values),
        values=values,
    )


def without_secrets(found: Sequence[PlannedResource]) -> tuple[PlannedResource, ...]:
    """What may be shown: values under names of secrets, and those that look like keys, are taken out."""
    clean = redactor(())
    return tuple(r if r.values is None else replace(r, values=clean.document(r.values)) for r in found)


def work_out(files: Mapping[str, str], cloud: str) -> Planned:
    """Without providers, credentials or a network; the resources' values stay unknown."""
    unknown = ["the values of the resources, and what the cloud's provider would refuse: no provider was asked"]
    counts: Mapping[str, object] = {}
    version = None
    try:
        with _scratch() as folder:
            root = Path(folder)
            workdir.write_tree(root, static_plan.evaluation_root(files))
            terraform = Terraform(root)
            version = terraform.version()
            terraform.init().check()
            counts = terraform.apply(None).check().outputs.get(static_plan.OUTPUT, {})
    except RigError as error:
        unknown.append(f"how many there are of each resource: {error.message}")
    found: list[PlannedResource] = []
    for block in static_plan.blocks(files):
        addresses = static_plan.instances(block, counts)
        if addresses is None:
            unknown.append(f"whether and how often {cloud} needs {block.address}")
        found += [PlannedResource(address=a, type=block.type, actions=("create",)) for a in addresses or ()]
    return Planned(resources=tuple(sorted(found, key=lambda r: r.address)), unknown=tuple(unknown), version=version)


def possible_offline(cloud: str) -> bool:
    """Whether the provider is ours, so that a real plan needs nobody."""
    return registry.has(cloud, "provider")


def _scratch() -> tempfile.TemporaryDirectory[str]:
    settings.cache().mkdir(parents=True, exist_ok=True, mode=0o700)
    return tempfile.TemporaryDirectory(prefix="plan-", dir=settings.cache())
