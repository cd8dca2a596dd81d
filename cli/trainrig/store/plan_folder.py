"""The folder of a plan: what was reviewed, and a manifest that holds every byte of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from trainrig.errors import PlanStale, UsageError
from trainrig.store.workdir import write_atomic

SCHEMA = "trainrig.manifest/1"
MANIFEST = "manifest.json"
ROOT = "root"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanFolder:
    path: Path
    manifest: Mapping[str, Any]
    files: Mapping[str, str]  # path -> text, each as the manifest says

    def document(self, name: str) -> dict[str, Any]:
        found = json.loads(self.files[name])
        assert isinstance(found, dict)
        return found

    @property
    def root(self) -> dict[str, str]:
        """The files of the reviewed Terraform root."""
        return {p.removeprefix(f"{ROOT}/"): t for p, t in self.files.items() if p.startswith(f"{ROOT}/")}


def write(path: Path, files: Mapping[str, str], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Writes `files` and a manifest of them and of `facts`; an older plan there goes. Readable by the owner alone.

    Raises:
        UsageError: the folder holds something else, or a Terraform state.
    """
    _make_room(path)
    manifest = {"schema": SCHEMA, "files": {name: _digest(text) for name, text in sorted(files.items())}, **facts}
    for name, text in files.items():
        write_atomic(path / name, text.encode())
    write_atomic(path / MANIFEST, (json.dumps(manifest, ensure_ascii=False, indent=2) + "\n").encode())
    return manifest


def _make_room(path: Path) -> None:
    if not path.exists():
        return
    if not path.is_dir() or (any(path.iterdir()) and not (path / MANIFEST).is_file()):
        raise UsageError(f"{path} is not a plan folder", hint="give a new folder, or one of an earlier plan")
    if list(path.glob(f"{ROOT}/*.tfstate*")):
        raise UsageError(
            f"{path / ROOT} holds a Terraform state: something was applied there by hand",
            hint="terraform destroy there first, or plan into another folder",
        )
    shutil.rmtree(path / ROOT, ignore_errors=True)
    (path / MANIFEST).unlink(missing_ok=True)


def plans_in(path: Path) -> list[Path]:
    """The folders of plans in a folder: itself, or of several jobs one each, by name; none: there is no plan."""
    if (path / MANIFEST).is_file():
        return [path]
    return sorted(found.parent for found in path.glob(f"*/{MANIFEST}"))


def read(path: Path) -> PlanFolder:
    """The plan in a folder, once every file is what was written.

    Raises:
        PlanStale: a file is missing or was changed, or Terraform would read one that is not of the plan.
        UsageError: there is no plan.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        if manifest["schema"] != SCHEMA:
            raise UsageError(f"{path}: schema {manifest['schema']!r} is not {SCHEMA}", hint="update trainrig")
        wanted = {str(name): str(digest) for name, digest in manifest["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "trainrig plan JOB --out DIR writes one"
        if several := plans_in(path):
            hint = f"it has plans of several jobs, one in each of: {', '.join(map(str, several))}"
        raise UsageError(f"{path} holds no plan: {error}", hint=hint) from error
    files, wrong = {}, []
    for name, digest in wanted.items():
        inside = PurePosixPath(name)
        text = None if inside.is_absolute() or ".." in inside.parts else _text(path / name)
        if text is None or _digest(text) != digest:
            wrong.append(name)
        else:
            files[name] = text
    wrong += [name for name in _terraform_files(path) if name not in wanted]
    if wrong:
        raise PlanStale(
            f"{path} is not the plan that was written: {', '.join(sorted(wrong))}",
            hint="plan again and have the new plan reviewed",
            details={"changed": sorted(wrong)},
        )
    return PlanFolder(path=path, manifest=manifest, files=files)


def _terraform_files(path: Path) -> list[str]:
    """What Terraform would read in the root and its module."""
    folders = (path / ROOT, path / ROOT / "module")
    return [
        p.relative_to(path).as_posix()
        for folder in folders
        for p in folder.glob("*")
        if p.name.endswith((".tf", ".tf.json", ".tfvars", ".tfvars.json", ".tofu", ".tofu.json"))
    ]


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
