"""Terraform. python-terraform writes the argument lists; this class owns the process.

python-terraform's own process handling cannot stream, and its `destroy` and `synchronous` write flags that Terraform
1.x refuses. An apply or destroy is interrupted by exactly one SIGINT: at a second one Terraform drops what it is
creating from state while it exists in the cloud.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import python_terraform
from filelock import FileLock
from python_terraform import IsFlagged

from trainrig.console import masked
from trainrig.errors import RigBusy, TerraformFailed
from trainrig.model.process import Command, Outcome
from trainrig.tools import (
    interrupt,
    leftover,
    proc,
    terraform_events,
    terraform_lock,
    terraform_plan,
    terraform_program,
)
from trainrig.tools.terraform_events import Diagnostic, Outputs, TerraformEvent
from trainrig.tools.terraform_plan import TerraformPlan
from trainrig.tools.terraform_program import TerraformProgram

PLAN_FILE = "tfplan"
ERRORED_STATE = "errored.tfstate"
PATIENCE_SECONDS = 900.0
LOG_FILE = "terraform.jsonl"
_BOX = re.compile(r"\x1b\[[0-9;]*m|[│╷╵] ?")  # what frames an error text for people

Watch = Callable[[TerraformEvent], str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class TerraformResult:
    """How one command ended. `stopped` says why we interrupted it, None when we did not."""

    verb: str
    returncode: int
    diagnostics: tuple[Diagnostic, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    stopped: str | None = None
    log: Path | None = None

    @property
    def ok(self) -> bool:
        return self.returncode == 0

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")

    def check(self) -> TerraformResult:
        """Itself, when it went well.

        Raises:
            TerraformFailed: with the first errors of its diagnostics.
        """
        if self.ok:
            return self
        shown = [f"{d.address}: {d.text}" if d.address else d.text for d in self.errors[:5]]
        raise TerraformFailed(
            "\n".join([f"terraform {self.verb} failed", *shown]),
            hint=f"its whole output is in {self.log}" if self.log else "",
            details={"diagnostics": [{"summary": d.summary, "detail": d.detail} for d in self.errors]},
        )


class Terraform(python_terraform.Terraform):  # type: ignore[misc]  # the package has no types
    """Terraform in one root. Every command is logged to `terraform.jsonl` of the root."""

    def __init__(
        self,
        root: Path,
        *,
        program: TerraformProgram | None = None,
        env: Mapping[str, str] | None = None,
        plugin_cache: Path | None = None,
        lock_timeout_seconds: int = 30,
        patience_seconds: float = PATIENCE_SECONDS,
        secrets: Sequence[str] = (),
    ) -> None:
        """`env` goes on top of our environment. `patience_seconds`: how long an interrupted command may take to end
        before it is killed."""
        self.root = root
        self.program = program or terraform_program.find()
        self._env = {**terraform_program.environment(plugin_cache), **(env or {})}
        self._plugin_cache = plugin_cache
        self._lock_timeout = f"{lock_timeout_seconds}s"
        self._patience_seconds = patience_seconds
        self._secrets = tuple(secrets)
        super().__init__(working_dir=str(root), terraform_bin_path=self.program.argv[-1])

    def __getattr__(self, item: str) -> Any:
        # The parent turns every unknown name into a command; a typo would run it.
        raise AttributeError(item)

    def read_state_file(self, file_path: str | None = None) -> None:
        """The parent parses whatever state file it finds at every call; nothing here wants that."""

    def init(self, *, upgrade: bool = False) -> TerraformResult:
        with self._cache_lock():
            return self._stream("init", lock_timeout=self._lock_timeout, upgrade=IsFlagged if upgrade else None)

    def validate(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the root; empty: nothing."""
        document = self._document("validate", json=IsFlagged, no_color=IsFlagged, check=False)
        return tuple(terraform_events.diagnostic(d) for d in document.get("diagnostics", ()))

    def plan(
        self,
        *,
        out: str = PLAN_FILE,
        destroy: bool = False,
        refresh_only: bool = False,
        refresh: bool = True,
        replace: Sequence[str] = (),
        watch: Watch = lambda _event: None,
    ) -> TerraformResult:
        return self._stream(
            "plan",
            watch=watch,
            out=out,
            lock_timeout=self._lock_timeout,
            destroy=IsFlagged if destroy else None,
            refresh_only=IsFlagged if refresh_only else None,
            refresh=None if refresh else False,
            replace=list(replace) or None,
        )

    def show_plan(self, plan: str = PLAN_FILE) -> TerraformPlan:
        return terraform_plan.parse(self._document("show", plan, json=IsFlagged))

    def apply(
        self,
        plan: str | None = PLAN_FILE,
        *,
        watch: Watch = lambda _event: None,
        deadline_seconds: float | None = None,
    ) -> TerraformResult:
        """Applies that plan file, or, when None, what Terraform plans now. `watch` sees every event; the reason that it
        returns interrupts the apply."""
        return self._change("apply", [plan] if plan else [], watch, deadline_seconds)

    def destroy(
        self, *, watch: Watch = lambda _event: None, deadline_seconds: float | None = None, refresh: bool = True
    ) -> TerraformResult:
        return self._change("destroy", [], watch, deadline_seconds, refresh=None if refresh else False)

    def output(self) -> Mapping[str, Any]:
        """Values of all outputs by name, sensitive ones included."""
        return {name: o["value"] for name, o in self._document("output", json=IsFlagged).items()}

    def version(self) -> str:
        return str(self._document("version", json=IsFlagged)["terraform_version"])

    def state_pull(self) -> bytes:
        """The raw state; empty when there is none. Terraform notes a remote backend in its own folder; without one, the
        state is a file of the root, and reading it saves a process."""
        if not (self.root / ".terraform" / "terraform.tfstate").exists():
            local = self.root / "terraform.tfstate"
            return local.read_bytes() if local.exists() else b""
        return self._run("state pull").stdout.encode()

    def state_push(self, path: Path) -> None:
        self._run("state push", str(path), lock_timeout=self._lock_timeout)

    def force_unlock(self, lock_id: str) -> None:
        self._run("force-unlock", lock_id, force=IsFlagged)

    def lock_providers(self, platforms: Sequence[str], *, mirror: Path | None = None) -> None:
        """Writes `.terraform.lock.hcl` with hashes for these platforms."""
        self._run("providers lock", platform=list(platforms), fs_mirror=str(mirror) if mirror else None)

    def argv(self, cmd: str, *args: str, **options: Any) -> list[str]:
        """The whole command line."""
        return [*self.program.argv, *self.generate_cmd_string(cmd, *args, **options)[1:]]

    def _change(
        self, verb: str, args: list[str], watch: Watch, deadline_seconds: float | None, **options: Any
    ) -> TerraformResult:
        try:
            return self._stream(
                verb,
                *args,
                watch=watch,
                deadline_seconds=deadline_seconds,
                changes=True,
                auto_approve=None if args else IsFlagged,
                lock_timeout=self._lock_timeout,
                **options,
            )
        finally:
            with contextlib.suppress(RigBusy):  # its lock may be our own, which destroy and unlock release
                self.rescue_state()

    def rescue_state(self) -> None:
        """Pushes the state that Terraform could not write where it belongs; what cannot be pushed stays where it is,
        and the next command of this root tries again. Raises RigBusy when somebody holds the lock."""
        errored = self.root / ERRORED_STATE
        if errored.exists():
            with contextlib.suppress(TerraformFailed):
                self.state_push(errored)
                errored.rename(errored.with_suffix(".pushed"))

    def _stream(
        self,
        verb: str,
        *args: str,
        watch: Watch = lambda _event: None,
        deadline_seconds: float | None = None,
        changes: bool = False,
        **options: Any,
    ) -> TerraformResult:
        """Runs a command with `-json`. A stop, whoever asks for it, is one SIGINT; then we wait for its end."""
        command = self._command(verb, *args, input=False, no_color=IsFlagged, json=IsFlagged, **options)
        log = self.root / LOG_FILE
        diagnostics: list[Diagnostic] = []
        outputs: Mapping[str, Any] = {}
        words: list[str] = []
        with contextlib.ExitStack() as stack:
            stop = _OneInterrupt(self.root, self._patience_seconds)
            stack.callback(stop.close)
            stack.enter_context(interrupt.shield(lambda: stop("interrupted")))
            child = proc.LoggedStream(command, log)
            stop.attach(child)
            if changes:
                leftover.remember(self.root, child.pid)
                # By then it has ended; what it may have left, having been killed, is a provider that goes on creating.
                stack.callback(leftover.settle, self.root, 0)
            if deadline_seconds is not None:
                timer = threading.Timer(deadline_seconds, stop, ["deadline"])
                timer.daemon = True
                timer.start()
                stack.callback(timer.cancel)
            for line in child.lines():
                event = terraform_events.parse(line)
                match event:
                    case None:
                        if not line.startswith("{"):
                            words.append(line)
                        continue
                    case Diagnostic():
                        event = _clean(event)
                        diagnostics.append(event)
                    case Outputs():
                        outputs = event.values
                    case _:
                        pass
                reason = watch(event)
                if reason:
                    stop(reason)
            code = child.wait()
            if code and not diagnostics and words:
                last = "\n".join(words[-proc.TAIL_LINES :])
                diagnostics.append(_clean(Diagnostic(severity="error", summary=last)))
            for found in diagnostics:
                _raise_if_locked(found.text)
        return TerraformResult(
            verb=verb, returncode=code, diagnostics=tuple(diagnostics), outputs=outputs, stopped=stop.reason, log=log
        )

    def _command(self, cmd: str, *args: str, **options: Any) -> Command:
        return Command(argv=self.argv(cmd, *args, **options), cwd=self.root, env=self._env, secrets=self._secrets)

    def _run(self, cmd: str, *args: str, check: bool = True, **options: Any) -> Outcome:
        outcome = proc.run(self._command(cmd, *args, **options), check=False)
        if check and not outcome.ok:
            if "Lock Info:" in outcome.stderr:  # an error of another kind at the lock is no holder
                _raise_if_locked(_BOX.sub("", outcome.stderr))
            tail = (outcome.stderr.strip() or outcome.stdout.strip()).splitlines()[-proc.TAIL_LINES :]
            raise TerraformFailed(masked("\n".join([f"terraform {cmd} failed", *tail]), guess=True))
        return outcome

    def _document(self, cmd: str, *args: str, check: bool = True, **options: Any) -> Mapping[str, Any]:
        document = json.loads(self._run(cmd, *args, check=check, **options).stdout or "{}")
        assert isinstance(document, dict)
        return document

    @contextlib.contextmanager
    def _cache_lock(self) -> Iterator[None]:
        """Terraform's plugin cache is not safe for two at once."""
        if self._plugin_cache is None:
            yield
            return
        self._plugin_cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self._plugin_cache / ".lock"):
            yield


def _clean(said: Diagnostic) -> Diagnostic:
    """A cloud may quote what it was asked with, and its words go into the journal and from there anywhere."""
    return replace(said, summary=masked(said.summary, guess=True), detail=masked(said.detail, guess=True))


def _raise_if_locked(text: str) -> None:
    lock = terraform_lock.parse(text)
    if lock:
        raise RigBusy(
            f"the state is locked by {lock}",
            hint="wait for its end; when its holder is dead: trainrig unlock",
            details={"lock": asdict(lock)},
        )


class _OneInterrupt:
    """Sends one SIGINT, however many reasons there are; the first reason is kept. Terraform needs minutes after it, to
    end what it is creating and to write its state; one that does not end at all is killed."""

    def __init__(self, root: Path, patience_seconds: float) -> None:
        self.reason: str | None = None
        self._patience_seconds = patience_seconds
        self._kill: threading.Timer | None = None
        self._root = root
        self._child: proc.LoggedStream | None = None

    def attach(self, child: proc.LoggedStream) -> None:
        self._child = child
        if self.reason:
            self._interrupt(child)

    def __call__(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
            if self._child:
                self._interrupt(self._child)

    def close(self) -> None:
        if self._kill:
            self._kill.cancel()

    def _interrupt(self, child: proc.LoggedStream) -> None:
        leftover.remember_interrupt(self._root)
        child.signal(signal.SIGINT)
        self._kill = threading.Timer(self._patience_seconds, proc.kill_group, [child.pid])
        self._kill.daemon = True
        self._kill.start()
