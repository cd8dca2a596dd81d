"""Every way trainrig can fail: one class each, with a stable code, an exit code and what to do next.

Exit codes are part of the command-line contract (docs/exit-codes.md is generated from this file); `code` is what
scripts match on, the exit code is its family. Library code raises these; only `app.main` exits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """A place in a user's file. `line` and `column` count from 1; `text` is that line as written."""

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The line with a caret under the column, or nothing when the line is not known."""
        if not self.text:
            return ""
        # Tabs stay tabs, so that the caret lands under the character whatever the terminal's tab width.
        lead = "".join(c if c == "\t" else " " for c in self.text[: self.column - 1])
        gutter = f"{self.line:>5} | "
        return f"{gutter}{self.text.rstrip()}\n{' ' * (len(gutter) - 2)}| {lead}^"


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing wrong in a user's file; a file's problems are reported together."""

    message: str
    where: Position | None = None
    hint: str = ""


class RigError(Exception):
    """Base of all expected failures. `details` goes into the JSON error document as it is."""

    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1
    family: ClassVar[str] = "internal error, send the log"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        where: Position | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where
        self.details: Mapping[str, object] = details or {}
        self.documented = False  # True: a document on stdout has said it already


class SpecInvalid(RigError):
    """`problems` are all that is wrong in one file, in the file's order."""

    code: ClassVar[str] = "spec_invalid"
    exit_code: ClassVar[int] = 3
    family: ClassVar[str] = "job file or environment invalid"

    def __init__(self, message: str, *, problems: Sequence[Problem] = (), hint: str = "") -> None:
        where = problems[0].where if problems else None
        super().__init__(message, hint=hint, where=where)
        self.problems = tuple(problems)


class EnvironmentInvalid(SpecInvalid):
    code: ClassVar[str] = "environment_invalid"


class PreflightFailed(RigError):
    code: ClassVar[str] = "preflight_failed"
    exit_code: ClassVar[int] = 4
    family: ClassVar[str] = "preflight failed: tool, credential, permission"


class MissingTool(PreflightFailed):
    code: ClassVar[str] = "missing_tool"


class CredentialsMissing(PreflightFailed):
    code: ClassVar[str] = "credentials_missing"


class StoreFailed(PreflightFailed):
    """A checkpoint store that does not answer, refuses, or cannot keep its promise. What was committed stands."""

    code: ClassVar[str] = "store_failed"


class NotBuilt(PreflightFailed):
    """A cloud or a capability of a cloud that this version does not have."""

    code: ClassVar[str] = "not_built"


class Unplaceable(RigError):
    code: ClassVar[str] = "unplaceable"
    exit_code: ClassVar[int] = 5
    family: ClassVar[str] = "unplaceable: no offer, quota, over budget"


class OverBudget(Unplaceable):
    code: ClassVar[str] = "over_budget"


class NoCapacity(RigError):
    code: ClassVar[str] = "no_capacity"
    exit_code: ClassVar[int] = 6
    family: ClassVar[str] = "no capacity: all candidates tried"


class TerraformFailed(RigError):
    code: ClassVar[str] = "terraform_failed"
    exit_code: ClassVar[int] = 7
    family: ClassVar[str] = "Terraform failed"


class UnsafePlan(TerraformFailed):
    """A plan that deletes or replaces what the verb did not ask for."""

    code: ClassVar[str] = "unsafe_plan"


class ConfigureFailed(RigError):
    code: ClassVar[str] = "configure_failed"
    exit_code: ClassVar[int] = 8
    family: ClassVar[str] = "configure failed"


class JobFailed(RigError):
    """The training command itself failed; `details["job_exit_code"]` is its own code."""

    code: ClassVar[str] = "job_failed"
    exit_code: ClassVar[int] = 9
    family: ClassVar[str] = "the job failed (its own code is in the JSON)"


class StoppedByPolicy(RigError):
    code: ClassVar[str] = "stopped_by_policy"
    exit_code: ClassVar[int] = 10
    family: ClassVar[str] = "stopped by policy: budget, lease, recoveries"


class RigBusy(RigError):
    code: ClassVar[str] = "rig_busy"
    exit_code: ClassVar[int] = 11
    family: ClassVar[str] = "rig busy, unknown, or state too new"


class RigUnknown(RigBusy):
    code: ClassVar[str] = "rig_unknown"


class StateTooNew(RigBusy):
    code: ClassVar[str] = "state_too_new"


class DestroyIncomplete(RigError):
    code: ClassVar[str] = "destroy_incomplete"
    exit_code: ClassVar[int] = 12
    family: ClassVar[str] = "destroy incomplete: something may still bill"


class PlanStale(RigError):
    code: ClassVar[str] = "plan_stale"
    exit_code: ClassVar[int] = 13
    family: ClassVar[str] = "plan stale or not the one reviewed"


class UsageError(RigError):
    code: ClassVar[str] = "usage"
    exit_code: ClassVar[int] = 64
    family: ClassVar[str] = "usage"


class Interrupted(RigError):
    code: ClassVar[str] = "interrupted"
    exit_code: ClassVar[int] = 130
    family: ClassVar[str] = "interrupted"


class CommandFailed(RigError):
    """A child process that failed and that nothing closer to it translated."""

    code: ClassVar[str] = "command_failed"


class TryLater(CommandFailed):
    """A receiver does not answer, or says that it cannot now."""

    code: ClassVar[str] = "try_later"


def document(error: RigError) -> dict[str, object]:
    """The `trainrig.error/1` document of an error."""
    out: dict[str, object] = {
        "schema": "trainrig.error/1",
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "position": _position(error.where),
        "details": dict(error.details),
    }
    if isinstance(error, SpecInvalid) and error.problems:
        out["details"] = {
            **error.details,
            "problems": [
                {"message": p.message, "hint": p.hint, "position": _position(p.where)} for p in error.problems
            ],
        }
    return out


def _position(where: Position | None) -> dict[str, object] | None:
    return None if where is None else {"file": where.file, "line": where.line, "column": where.column}


def render(error: RigError) -> str:
    """The error as people read it: message, place, line with caret, hint."""
    if isinstance(error, SpecInvalid) and error.problems:
        return "\n\n".join([error.message, *(_block(p.message, p.where, p.hint) for p in error.problems)])
    return _block(error.message, error.where, error.hint)


def _block(message: str, where: Position | None, hint: str) -> str:
    lines = [f"{where}: {message}" if where else message]
    if where and where.excerpt():
        lines.append(where.excerpt())
    if hint:
        lines.append(f"hint: {hint}")
    return "\n".join(lines)
