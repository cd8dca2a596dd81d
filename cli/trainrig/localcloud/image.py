"""Builds an image of the local cloud from the distribution's packages, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trainrig.errors import PreflightFailed
from trainrig.localcloud.engine import Engine
from trainrig.localcloud.recipe import SLIM, Recipe
from trainrig.model.process import Command, Runner

BUILD_TIMEOUT_SECONDS = 1200
NEEDED_GB = 4  # both images, unpacked twice while Docker imports them


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    suite: str  # "bookworm", "noble"
    sources: tuple[str, ...]  # lines of a sources.list


def host_distribution(run: Runner, suite: str) -> Distribution:
    """The host's own archive as apt has it configured, mirrors included and third-party archives left out.

    Raises:
        PreflightFailed: apt knows no archive of the distribution (its lists were never fetched).
    """
    form = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    listed = run(Command(argv=["apt-get", "indextargets", "--format", form, "Created-By: Packages"])).stdout
    lines = []
    for row in listed.splitlines():
        origin, uri, release, component = row.split("|")
        if origin in {"Debian", "Ubuntu", "Raspbian"}:
            lines.append(f"deb {uri} {release} {component}")
    if not lines:
        raise PreflightFailed(
            "apt has no package lists of this distribution", hint="apt-get update, then run this again"
        )
    return Distribution(suite=suite, sources=tuple(dict.fromkeys(lines)))


def build(recipe: Recipe, engine: Engine, run: Runner, suite: str) -> str:
    """Builds an image from the distribution's packages and hands it to Docker; returns its reference.

    Raises:
        MissingTool: mmdebstrap is not installed.
        CommandFailed: it failed; its last lines are in the message.
    """
    source = host_distribution(run, suite)
    reference = recipe.reference(suite)
    # mmdebstrap unpacks in there too, so that nothing of a build that is killed stays. Without root it does so as
    # another user of its own, who must reach it, and who may own what is then left.
    with TemporaryDirectory(prefix="trainrig-image-", ignore_cleanup_errors=True) as scratch:
        Path(scratch).chmod(0o711)
        tar = Path(scratch) / "image.tar"
        argv = mmdebstrap(recipe, source, tar)
        run(Command(argv=argv, env={"TMPDIR": scratch}, timeout_seconds=BUILD_TIMEOUT_SECONDS))
        engine.import_image(tar, reference, entry=recipe.entry)
    return reference


def mmdebstrap(recipe: Recipe, source: Distribution, tar: Path) -> Sequence[str]:
    return [
        "mmdebstrap",
        "--quiet",
        f"--variant={recipe.variant}",
        "--aptopt=Acquire::Languages none",
        "--skip=cleanup/reproducible",
        *(f"--dpkgopt={option}" for option in SLIM),
        f"--include={','.join(recipe.packages)}",
        *(f"--customize-hook={hook}" for hook in recipe.hooks),
        source.suite,
        str(tar),
        *source.sources,
    ]
