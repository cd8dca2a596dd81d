"""What every use case of a rig works with."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainrig import settings
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.errors import PreflightFailed
from trainrig.model.clock import Clock, utc_now
from trainrig.model.environment import Environment
from trainrig.model.events import Observer, silent
from trainrig.model.rig import RigIdentity
from trainrig.store import db
from trainrig.store.journal import Journal
from trainrig.store.workdir import RigDir
from trainrig.tools.terraform import Terraform

_STORAGE = {errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES}


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    home: Path
    cache: Path
    journal: Journal
    environment: Environment
    observe: Observer = silent
    now: Clock = utc_now

    def rig_dir(self, identity: RigIdentity) -> RigDir:
        return RigDir.of(self.home, identity)

    def account(self, cloud: str, regions: Sequence[str] = (), name: str = "") -> Account:
        """The environment's account of a cloud, by name where it has several; all regions that it allows when none is
        named.

        Raises:
            PreflightFailed: the environment has no account of that name (any more).
        """
        policy = self.environment.policy(cloud, name)
        if name and policy is None:
            raise PreflightFailed(
                f"the environment {self.environment.name} has no account {name} of {cloud}",
                hint=f"clouds: {{{cloud}: {{accounts: {{{name}: ...}}}}}}",
            )
        return Account(
            cloud=cloud,
            name=name,
            regions=tuple(regions) or (policy.regions if policy else ()),
            settings=policy.account if policy else {},
        )

    @contextlib.contextmanager
    def terraform(self, root: Path, cloud: str, *, lock_timeout_seconds: int = 30) -> Iterator[Terraform]:
        """Terraform in a root of that cloud, with the provider served where it is ours."""
        with contextlib.ExitStack() as stack:
            env = stack.enter_context(registry.provider(cloud).serve()) if registry.has(cloud, "provider") else {}
            yield Terraform(
                root,
                env=env,
                plugin_cache=self.cache / "terraform-plugins",
                lock_timeout_seconds=lock_timeout_seconds,
            )


@contextlib.contextmanager
def opened(environment: Environment, *, observe: Observer = silent) -> Iterator[Context]:
    """A context on TRAINRIG_HOME. Storage that fails under it is an error of the machine, not of trainrig.

    Raises:
        PreflightFailed: the disk is full or read-only, or the journal is damaged.
    """
    home = settings.home()
    try:
        with contextlib.closing(Journal(home)) as journal:
            yield Context(home=home, cache=settings.cache(), journal=journal, environment=environment, observe=observe)
    except (OSError, sqlite3.OperationalError) as error:
        if isinstance(error, OSError) and error.errno not in _STORAGE:
            raise
        raise PreflightFailed(
            f"cannot write below {home}: {error}",
            hint="make room or make it writable; then trainrig status shows what is left, trainrig destroy removes it",
        ) from error
    except sqlite3.DatabaseError as error:
        if not db.is_damage(error):
            raise
        raise db.damaged(home, error) from error
