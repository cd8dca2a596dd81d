"""Writes the Terraform root of one rig attempt into a folder, where trainrig and plain `terraform` both work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trainrig import assets
from trainrig.clouds import registry
from trainrig.errors import NotBuilt
from trainrig.lifecycle import pins
from trainrig.model.environment import Environment
from trainrig.model.job import Job
from trainrig.render import cloud_init, job_document, root, tfvars
from trainrig.render.lockfile import Lock
from trainrig.render.request import RigRequest
from trainrig.store import workdir

# What a module's folder holds for its developers alone.
_NOT_SHIPPED = {"tests", ".terraform", "README.md", ".terraform.lock.hcl"}


def render_rig(
    request: RigRequest,
    *,
    job: Job,
    environment: Environment,
    out: Path,
    attempt: str = "1-1",
    lock: Lock | None = None,
) -> dict[str, str]:
    """Renders into `out`, a new folder or one that an earlier render wrote; state and plugins there stay.

    `attempt` (`<generation>-<attempt>`) keeps the remote states of a rig's attempts apart. Returns the files that it
    wrote, `path -> text`.
    """
    files = files_of(request, job=job, environment=environment, attempt=attempt, lock=lock)
    write(files, out)
    cloud = request.candidate.offer.cloud
    if registry.has(cloud, "provider"):
        registry.provider(cloud).lay_plugin(out)
    return files


def files_of(
    request: RigRequest,
    *,
    job: Job,
    environment: Environment,
    attempt: str = "1-1",
    lock: Lock | None = None,
) -> dict[str, str]:
    """The rendered root as data. `lock` in place of the job's own."""
    cloud = request.candidate.offer.cloud
    module_files, text = module(cloud), template(cloud)
    inputs = (*root.declared(module_files["variables.tf"]), *root.declared(text))
    own = registry.tfvars(cloud).tfvars(request) if registry.has(cloud, "tfvars") else {}
    if "cloud_init" in inputs:
        own["cloud_init"] = cloud_init.cloud_init(_read("configure/cloud-init.yaml.j2"), request)
    address = registry.facts(cloud).terraform_provider
    provider = (lock or pins.load_lock(job)).providers.get(address)
    return root.render_root(
        cloud=cloud,
        template=text,
        module_files=module_files,
        tfvars=tfvars.tfvars(request, own, inputs),
        backend=environment.state,
        state_key=f"{request.identity.resource_prefix}/{attempt}",
        provider=(address, provider) if provider else None,
        documents={"job.json": job_document.to_document(job)},
    )


def module(cloud: str) -> dict[str, str]:
    """The files of a cloud's rig module by relative path."""
    folder = assets.path("terraform") / "modules" / cloud
    if not folder.is_dir():
        raise NotBuilt(f"{cloud}: there is no Terraform module yet")
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _NOT_SHIPPED & set(path.relative_to(folder).parts)
    }


def template(name: str) -> str:
    """The root template of a cloud."""
    if not (assets.path("templates") / "roots" / f"{name}.tf.j2").is_file():
        raise NotBuilt(f"{name}: there is no root template yet")
    return _read(f"roots/{name}.tf.j2")


def _read(path: str) -> str:
    return (assets.path("templates") / path).read_text(encoding="utf-8")


def write(files: Mapping[str, str], out: Path) -> None:
    """Each file appears whole or not at all, readable by its owner alone; files of an older render disappear."""
    stale = [p for p in out.glob("module/**/*") if p.is_file()] + [out / "backend.tf.json"]
    for path in stale:
        if path.relative_to(out).as_posix() not in files:
            path.unlink(missing_ok=True)
    workdir.write_tree(out, files)
