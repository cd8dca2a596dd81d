from __future__ import annotations

from trainrig.tools import terraform_lock

TEXT = """Error acquiring the state lock
operation error S3: PutObject, PreconditionFailed
Lock Info:
  ID:        e76a7a0f-1a8c-a6a5-5a7d-6a1ce8e6b0a5
  Path:      team-state/rigs/tr-a/1-1.tfstate
  Operation: OperationTypeApply
  Who:       ada@workstation
  Version:   1.11.4
  Created:   2026-01-31 12:00:00.123456789 +0000 UTC
  Info:

Terraform acquires a state lock to protect the state from being written"""


def test_the_holder_is_read_from_what_terraform_says() -> None:
    lock = terraform_lock.parse(TEXT)
    assert lock is not None
    assert (lock.id, lock.host, lock.operation) == ("e76a7a0f-1a8c-a6a5-5a7d-6a1ce8e6b0a5", "workstation", "Apply")
    assert str(lock) == "ada@workstation, Apply since 2026-01-31 12:00:00.123456789 +0000 UTC"


def test_a_lease_without_a_lock_in_it_is_a_lock_of_somebody() -> None:
    lock = terraform_lock.parse("Error acquiring the state lock\nstate blob is already locked")
    assert lock is not None
    assert (lock.id, lock.host) == ("", "")
    assert str(lock).startswith("somebody")


def test_other_errors_tell_of_no_lock() -> None:
    assert terraform_lock.parse("Error: InsufficientInstanceCapacity") is None
