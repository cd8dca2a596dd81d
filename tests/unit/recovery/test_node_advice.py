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
        ("Reload daemon failed: Refusing to reload, not enough space available on /run/systemd.", "df -h"),
        ("/etc/x: Read-only file system", "dmesg"),
        ("The module interpreter '/usr/bin/python3' was not found.", "reinstall python3"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77", "fuser"),
        ("Release file for http://x/InRelease is not valid yet", "clock is off"),
        ("tr-x-0: clock: +7200.00 s from this machine's clock", "clock is off"),
        ("no source has rsync:\nE: Failed to fetch http://x", "mirror"),
        ("it did not come back from its reboot in 905 s", "console"),
        ("Docker Engine does not start:\nfailed to mount", "journalctl -u docker"),
        ("ssh: connect to host 192.0.2.7 port 22: Connection refused", "trainrig describe"),
        ("Failed to connect to the host via ssh: kex_exchange_identification: read: reset", "trainrig describe"),
        ("This account is currently not available.", "nologin"),
        ("sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set", "reinstall sudo"),
        ("zsh:1: /usr/bin/sudo: No such file or directory", "reinstall sudo"),
        ("sh: 1: /usr/local/lib/trainrig/node-state: Permission denied", "noexec"),
        ("/etc/trainrig/agent.json: Operation not permitted", "lsattr"),
        ("no source has rsync:\nE: Malformed entry 1 in list file /etc/apt/sources.list (Suite)", "written wrongly"),
        ("E: Release file for http://x/InRelease is expired (invalid since 2d 3h)", "too old"),
        ("E: Failed to fetch http://x/InRelease  Clearsigned file isn't valid, got 'NOSPLIT'", "proxy"),
        ("W: GPG error: http://x InRelease: NO_PUBKEY 6ED0E7B82643E131", "signing key"),
        ("E: Failed to fetch http://x/Packages.gz  Hash Sum mismatch", "in some minutes"),
        ("E: The repository 'http://x bullseye Release' does not have a Release file.", "node's release"),
        ("tr-x-0: units: not running: trainrig-lease.timer (inactive)", "trainrig extend"),
        ("tr-x-0: units: not running: trainrig-agent.service (activating)", "journalctl -u UNIT"),
        ("docker: `docker version --format {{.Server.Version}}` does not answer within 30 s", "journalctl -u docker"),
        ("mount s3://b\ns3://b: ERROR : : error listing: directory not found", "that bucket"),
        ("https://x/words.txt: Connection refused", "that bucket or address"),
        ("s3://b: this node has no /dev/fuse, and a mount needs it: write `mode: COPY`", "by hand"),
        ("tr-x-0: mounts: s3://b: rclone does not answer at /srv/trainrig/mounts/1", "trainrig-mount@*"),
        ("tr-x-0: heartbeat: the agent's last is 90 s old, 60 s are the most", "trainrig-agent"),
        ("tr-x-0: disk: 0.1 MB free at /run, 16.8 MB are the least", "df -h"),
        ("anything else", "by hand"),
    ],
)
def test_advice_follows_from_what_was_said(said: str, words: str) -> None:
    assert words in advice(said)
