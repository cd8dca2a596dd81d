from __future__ import annotations

import pytest

from trainrig.recovery.node_advice import advice


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Host key verification failed.", "another host key"),
        ("ubuntu@192.0.2.7: Permission denied (publickey).", "does not take the rig's key"),
        ("sudo: a password is required", "sudoers"),
        ("/var/lib/trainrig/manifests/base.json: No space left on device", "df -i"),
        ("disk: 0 inodes free", "df -i"),
        ("/etc/x: Read-only file system", "dmesg"),
        ("The module interpreter '/usr/bin/python3' was not found.", "reinstall python3"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77", "fuser"),
        ("Release file for http://x/InRelease is not valid yet", "clock is off"),
        ("tr-x-0: clock: +7200.00 s from this machine's clock", "clock is off"),
        ("no source has rsync:\nE: Failed to fetch http://x", "mirror"),
        ("it did not come back from its reboot in 905 s", "console"),
        ("Docker Engine does not start:\nfailed to mount", "journalctl -u docker"),
        ("anything else", "by hand"),
    ],
)
def test_advice_follows_from_what_was_said(said: str, words: str) -> None:
    assert words in advice(said)
