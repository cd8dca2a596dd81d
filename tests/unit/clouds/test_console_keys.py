from __future__ import annotations

import pytest

from trainrig.clouds.console_keys import host_key

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
BEGIN, END = "-----BEGIN SSH HOST KEY KEYS-----", "-----END SSH HOST KEY KEYS-----"


def test_the_key_is_found_among_others_and_in_console_noise() -> None:
    console = f"[   31.2] cloud-init[900]: {BEGIN}\r\nssh-rsa AAAAB3 root@ip\r\n{KEY} root@ip\r\n{END}\r\nlogin: "
    assert host_key(console) == KEY


def test_the_last_boot_counts() -> None:
    first = f"{BEGIN}\nssh-ed25519 AAAAold= root@ip\n{END}\n"
    assert host_key(f"{first}...\n{BEGIN}\n{KEY} root@ip\n{END}\n") == KEY


@pytest.mark.parametrize("console", ["", "Linux version 6.8", f"{KEY} root@ip", f"{BEGIN}\n{KEY} ro"])
def test_nothing_is_taken_from_outside_the_region_or_from_a_part_of_it(console: str) -> None:
    assert host_key(console) is None
