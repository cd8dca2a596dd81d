"""Fixes what moves: asks clouds and registries, and writes trainrig.lock. What cannot be asked keeps its pin, and the
reader is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, NotBuilt, PreflightFailed, TerraformFailed
from trainrig.lifecycle import pins, provider_hashes
from trainrig.lifecycle.place import place
from trainrig.model.clock import utc_now
from trainrig.model.environment import Environment
from trainrig.model.events import Observer, Progress
from trainrig.model.job import Job
from trainrig.render import lockfile, references
from trainrig.render.images import architecture
from trainrig.render.lockfile import ImagePin, Lock, ProviderPin
from trainrig.store.workdir import write_atomic
from trainrig.tools import oci

MAX_REGIONS = 12  # of a cloud, in the order in which placement would try them


@dataclass(frozen=True, kw_only=True, slots=True)
class Locked:
    path: Path
    changes: tuple[str, ...]  # against what served before
    notes: tuple[str, ...]  # what could not be asked


def lock(jobs: Sequence[Job], environment: Environment, observe: Observer, *, offline: bool = False) -> Locked:
    """Writes the lock of the jobs of one file. `offline` asks nobody: what is pinned stays as it is, and only what the
    jobs need is kept.

    Raises:
        PreflightFailed: a container that moves has a digest nowhere.
    """
    path, before = pins.lock_path(jobs[0]), pins.load_lock(jobs[0])
    notes: list[str] = []
    images = list(before.images)
    wanted = _wanted(jobs, environment)
    for cloud, regions in wanted.items():
        if offline or not registry.has(cloud, "images"):
            continue
        policy = environment.policy(cloud)
        account = Account(cloud=cloud, settings=policy.account if policy else {})
        observe(Progress(phase="plan", message=f"ask {cloud} for machine images"))
        try:
            images, said = _refreshed(images, account, regions)
            notes += said
        except (PreflightFailed, CommandFailed, NotBuilt) as error:
            notes.append(f"{cloud} was not asked, its pins stay: {error.message}")
    providers, said = _providers(before, wanted, offline=offline)
    notes += said
    after = Lock(
        providers=providers,
        images=tuple(images),
        containers=_containers(jobs, before.containers, offline=offline),
    )
    write_atomic(path, lockfile.text(after).encode(), mode=0o644)
    return Locked(path=path, changes=tuple(lockfile.changes(before, after)), notes=tuple(notes))


def _wanted(jobs: Sequence[Job], environment: Environment) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Cloud -> architecture -> regions that the jobs may land in."""
    found: dict[str, dict[str, list[str]]] = {}
    for job in jobs:
        for candidate in place(job, environment, now=utc_now(), complete=False).candidates:
            offer = candidate.offer
            regions = found.setdefault(offer.cloud, {}).setdefault(architecture(offer), [])
            if offer.region not in regions and len(regions) < MAX_REGIONS:
                regions.append(offer.region)
    return found


def _refreshed(
    images: list[ImagePin], account: Account, wanted: Mapping[str, Sequence[str]]
) -> tuple[list[ImagePin], list[str]]:
    """The pins of one cloud against what it offers now. A newest image whose driver nobody states is not taken: the
    gate could not judge it."""
    module, notes = registry.images(account.cloud), []
    for arch, regions in wanted.items():
        newest = module.newest(account, regions[0], arch)
        known = {image.name: image for image in images if image.cloud == account.cloud and image.arch == arch}
        if newest and newest.name not in known:
            if newest.driver:
                pin = ImagePin(
                    cloud=account.cloud,
                    arch=arch,
                    name=newest.name,
                    driver=newest.driver,
                    cuda=newest.cuda,
                    id=None if module.PER_REGION else newest.id,
                    by_name=module.PER_REGION and any(image.by_name for image in known.values()),
                )
                images = [pin, *images]
                known[pin.name] = pin
            else:
                notes.append(f"{account.cloud} does not say which driver its newest image has: {newest.name} not taken")
        for name, pin in known.items():
            ids = dict(pin.ids)
            for region in regions if module.PER_REGION else ():
                if found := module.find(account, region, name):
                    ids[region] = found.id
            images = [replace(pin, ids=ids) if image is pin else image for image in images]
    return images, notes


def _providers(before: Lock, clouds: Iterable[str], *, offline: bool) -> tuple[Mapping[str, ProviderPin], list[str]]:
    """The providers with the hashes that Terraform's registry gives for them, for the clouds of the jobs."""
    providers, notes = dict(before.providers), []
    for address in sorted({registry.facts(cloud).terraform_provider for cloud in clouds} & providers.keys()):
        pin = providers[address]
        if offline or pin.hashes:
            continue
        try:
            providers[address] = replace(pin, hashes=provider_hashes.of(address, pin.version))
        except TerraformFailed as error:
            last = error.message.splitlines()[-1].strip()
            notes.append(f"no hashes of {address} {pin.version}: {last}")
    return providers, notes


def _containers(jobs: Sequence[Job], before: Mapping[str, str], *, offline: bool) -> dict[str, str]:
    """Digests of the containers that the jobs name by tag, and of no others."""
    found = {}
    for reference in sorted({job.image for job in jobs if job.image}):
        name, tag, digest = references.split(reference)
        if digest or references.is_recipe(reference):  # what a Dockerfile makes is named by its id when it is built
            continue
        if offline and reference in before:
            found[reference] = before[reference]
        elif not offline:
            found[reference] = oci.digest(name, tag or "latest")
    return found
