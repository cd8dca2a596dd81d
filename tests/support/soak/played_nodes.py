"""Nodes that are played: a folder of the stub cloud for each of its machines, and a job that is a function of time.

What trainrig asks over SSH is answered from it; a machine that the cloud does not have answers nobody.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from support.soak.settings import SAVE_EVERY, STEPS, STEPS_A_SECOND, Play, chain, note
from support.stub_cloud import objects
from trainrig.errors import CommandFailed, ConfigureFailed
from trainrig.lifecycle import job_control
from trainrig.model.events import Observer
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.process import Outcome
from trainrig.render.launch import UNIT, Launch
from trainrig.store.workdir import write_atomic
from trainrig.tools.ssh import UNREACHABLE, Ssh


class PlayedSsh(Ssh):
    """The commands that reach a node while its job is followed, saved and stopped."""

    def run(self, node: Node, words: Sequence[str], *, check: bool = True, **_how: Any) -> Outcome:
        code, said = _answer(node, list(words))
        if check and code:
            raise CommandFailed(f"{node.name}: code {code}")
        return Outcome(returncode=code, stdout=said, stderr="", seconds=0.0)

    def close(self) -> None: ...


def connect(rig: Path, nodes: Iterable[Node]) -> PlayedSsh:
    return PlayedSsh(rig=rig, nodes=tuple(sorted(nodes, key=lambda n: n.rank)))


def folder(node: Node) -> Path:
    path = objects.root() / "nodes" / node.instance_id
    path.mkdir(parents=True, exist_ok=True)
    return path


def lives(node: Node) -> bool:
    return objects.get(node.instance_id) is not None


def _answer(node: Node, words: list[str]) -> tuple[int, str]:
    if not lives(node):
        return UNREACHABLE, ""
    if words[0] == job_control.POLL:
        return 0, _polled(node, words[1:])
    script = words[-1]
    if (words[:2] == ["systemctl", "stop"] and words[2] == UNIT) or "docker stop" in script:
        _stop(node)
    if "docker ps" in script:
        return 0, "container\n" if _state(node)["active"] == "active" else ""
    return 0, "yes\n" if "find . -type f -newer" in script else ""


def start(ssh: PlayedSsh, launch: Launch, _observe: Observer) -> None:
    """All ranks begin with the newest checkpoint that all of them have."""
    if not all(map(lives, ssh.nodes)):
        raise ConfigureFailed("the job did not start: a node does not answer")
    base = max(set.intersection(*(set(_restored(n)) for n in ssh.nodes)) or {0})
    digests = {_restored(n).get(base, "") for n in ssh.nodes}
    assert digests == {chain(base)}, f"ranks begin with {digests} at step {base}"
    note("start", generation=launch.generation, base=base)
    for node in ssh.nodes:
        document = {"generation": launch.generation, "at": time.time(), "base": base, "stopped": None}
        write_atomic(folder(node) / "launch.json", json.dumps(document).encode())


def restore_checkpoints(ssh: PlayedSsh, source: Path, _observe: Observer) -> None:
    for node in ssh.nodes:
        if not lives(node):
            raise CommandFailed(f"{node.name} does not answer")
        target = folder(node) / "restored"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source / f"rank-{node.rank}", target)


def collect_checkpoints(ssh: PlayedSsh, target: Path, _observe: Observer) -> int:
    count = 0
    for node in ssh.nodes:
        local = target / f"rank-{node.rank}"
        local.mkdir(parents=True, exist_ok=True)
        files = _files(node)
        if not lives(node):
            raise CommandFailed(f"{node.name} does not answer")
        for name, content in files.items():
            if not (local / name).exists() or (local / name).read_text() != content:
                write_atomic(local / name, content.encode())
        for path in local.iterdir():
            if path.name not in files:
                path.unlink()
        count += len(files)
    return count


def save_times(ssh: PlayedSsh, _since: float) -> tuple[float, float | None]:
    if not all(map(lives, ssh.nodes)):
        raise CommandFailed("a node does not answer")
    return time.time(), 0.01


def collect_outputs(ssh: PlayedSsh, _job: Job, target: Path, _observe: Observer) -> dict[str, Path]:
    if not all(map(lives, ssh.nodes)):
        raise CommandFailed("a node does not answer")
    launch = json.loads((folder(ssh.nodes[0]) / "launch.json").read_text())
    step = _step(launch)
    path = target / "model.json"
    digest = chain(step, base=launch["base"], digest=_restored(ssh.nodes[0]).get(launch["base"], ""))
    write_atomic(path, json.dumps({"step": step, "digest": digest}).encode())
    return {"model": path}


def steps_of(paths: Iterable[str]) -> int:
    """The newest checkpoint that both ranks have among the files of a manifest."""
    found = [re.fullmatch(r"rank-(\d)/step-(\d+)\.json", p) for p in paths]
    ranks: dict[str, set[int]] = {"0": set(), "1": set()}
    for match in filter(None, found):
        ranks[match[1]].add(int(match[2]))
    return max(ranks["0"] & ranks["1"], default=0)


def _stop(node: Node) -> None:
    path = folder(node) / "launch.json"
    launch = json.loads(path.read_text()) if path.exists() else {"stopped": 0}
    if launch["stopped"] is None:
        write_atomic(path, json.dumps({**launch, "stopped": time.time()}).encode())


def _polled(node: Node, cursor: list[str]) -> str:
    state = _state(node)
    lines, last = range(int(cursor[0]) + 1 if cursor else state["base"] + 1, state["line"] + 1), {}
    entries = [json.dumps({"__CURSOR": str(n), "MESSAGE": f"step {n}"}) for n in lines]
    last = {k: v for k, v in state.items() if k not in {"base", "line"}}
    return "\n".join([json.dumps(last), *entries]) + "\n"


def _state(node: Node) -> dict[str, Any]:
    path = folder(node) / "launch.json"
    if not path.exists():
        return {"active": "inactive", "base": 0, "line": 0}
    play, launch = Play.of_this_cloud(), json.loads(path.read_text())
    step = _step(launch)
    fails = play.fails_at == step and _fails(play, launch)
    line = min(step, play.mute_from) if play.mute_from else step
    found = {
        "active": "active",
        "checkpoints": str(step // SAVE_EVERY),
        "notice": (folder(node) / "notice").exists(),
        "base": launch["base"],
        "line": line,
    }
    if fails or (step == STEPS and not play.mute_from):
        found |= {"active": "inactive", "exit_code": 7 if fails else 0, "oom_killed": False, "finished_at": ""}
    elif launch["stopped"] is not None:
        found |= {"active": "inactive", "exit_code": play.code_on_stop, "oom_killed": False, "finished_at": ""}
    return found


def _fails(play: Play, launch: dict[str, Any]) -> bool:
    at = play.fails_at
    return at is not None and launch["base"] <= at and play.fails_in in {None, launch["generation"]}


def _step(launch: dict[str, Any]) -> int:
    play = Play.of_this_cloud()
    seconds = (launch["stopped"] or time.time()) - launch["at"]
    step = min(STEPS, int(launch["base"] + seconds * STEPS_A_SECOND))
    return min(step, play.fails_at or step) if _fails(play, launch) else step


def _restored(node: Node) -> dict[int, str]:
    found = [json.loads(p.read_text()) for p in (folder(node) / "restored").glob("step-*.json")]
    return {f["step"]: f["digest"] for f in found}


def _files(node: Node) -> dict[str, str]:
    """Name -> content of what its job has saved: the last two, and what it began with."""
    path = folder(node) / "launch.json"
    if not path.exists():
        return {}
    launch, restored = json.loads(path.read_text()), _restored(node)
    base, last = launch["base"], _step(launch) // SAVE_EVERY * SAVE_EVERY
    made = {s: chain(s, base=base, digest=restored.get(base, "")) for s in (last - SAVE_EVERY, last) if s > base}
    kept = sorted({**restored, **made}.items())[-3:]
    return {f"step-{s}.json": json.dumps({"step": s, "digest": d}) for s, d in kept}
