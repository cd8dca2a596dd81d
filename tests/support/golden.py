"""Renders a golden case: a job file, an environment and the offers on that day, to the files of a root."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from support import rigs
from trainrig.lifecycle import pins
from trainrig.lifecycle.place import costs_of
from trainrig.lifecycle.render_rig import files_of
from trainrig.lifecycle.rig_request import rig_request
from trainrig.model.offer import Market, Offer
from trainrig.placement.decide import decide
from trainrig.render import lockfile
from trainrig.render.identity import identity_of
from trainrig.render.root import to_json
from trainrig.spec.environment import load_environment
from trainrig.spec.load import load_documents
from trainrig.spec.merge import resolve

FOLDER = Path(__file__).parent.parent / "golden"
NOW = datetime(2026, 10, 1, 9, 30, tzinfo=UTC)
# What an offer of a case need not say.
_OFFER = {"zone": None, "gpu": None, "gpu_count": 0, "gpu_memory_gib": None, "vcpus": 96, "memory_gib": 1024}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """tests/golden/cases/NAME.yaml. `offers` are rows of the catalogue, `lock` a trainrig.lock."""

    name: str
    job: str
    environment: str
    offers: tuple[Offer, ...]
    lock: str | None

    @property
    def cloud(self) -> str:
        return self.offers[0].cloud


def names() -> list[str]:
    return sorted(p.stem for p in (FOLDER / "cases").glob("*.yaml"))


def case(name: str) -> Case:
    data = yaml.safe_load((FOLDER / "cases" / f"{name}.yaml").read_text(encoding="utf-8"))
    return Case(
        name=name,
        job=data["job"],
        environment=data["environment"],
        offers=tuple(_offer(row) for row in data["offers"]),
        lock=data.get("lock"),
    )


def render(case: Case) -> dict[str, str]:
    """All files of the root, the module's too."""
    environment = load_environment(case.environment, "environments/golden.yaml")
    (spec,) = load_documents(case.job, "job.yaml")
    job = resolve(spec, environment)
    lock = lockfile.parse(case.lock, "trainrig.lock") if case.lock else pins.shipped()
    placement = decide(job, environment, case.offers, now=NOW, costs=costs_of(environment))
    assert placement.chosen, [f"{r.code}: {r.detail}" for r in placement.rejections]
    identity = identity_of(job, environment, owner=environment.owner or "ada", now=NOW, run_id="goldenab")
    request = rig_request(
        job,
        environment,
        placement.chosen,
        identity=identity,
        ssh_public_key=rigs.PUBLIC_KEY,
        ssh_ingress_cidrs=("203.0.113.7/32",),
        lock=lock,
    )
    return files_of(request, job=job, environment=environment)


def shown(files: dict[str, str]) -> dict[str, str]:
    """What a golden folder holds: all but the module, which is terraform/modules as it stands, and its variables.tf. Of
    job.json, what is set, without the digest, so that a new key of the job file is not a change of every folder."""
    own = {path: text for path, text in files.items() if not path.startswith("module/") and path != "variables.tf"}
    job = json.loads(own["job.json"])
    return own | {"job.json": to_json(_set({key: value for key, value in job.items() if key != "digest"}))}


def _set(value: Any) -> Any:
    """Without null, false, and what is empty."""
    if isinstance(value, dict):
        return {key: kept for key, one in value.items() if (kept := _set(one)) not in (None, False, {}, [])}
    return [_set(one) for one in value] if isinstance(value, list) else value


def dearer(case: Case, factor: str) -> Case:
    """The same case on a day with other prices."""
    offers = (replace(o, price_hour_usd=(o.price_hour_usd or Decimal(0)) * Decimal(factor)) for o in case.offers)
    return replace(case, offers=tuple(offers))


def _offer(row: dict[str, Any]) -> Offer:
    return Offer(
        **{
            **_OFFER,
            **row,
            "market": Market(row["market"]),
            "price_hour_usd": Decimal(str(row["price_hour_usd"])),
            "captured_at": NOW,
            "source": "golden",
        }
    )
