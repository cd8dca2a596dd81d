"""What to do about a node that could not be configured, by what it said. Pure."""

from __future__ import annotations

import re

_ANOTHER = "trainrig destroy and run give another node"
# The first pattern that is found gives the advice; causes before their consequences.
_KEY = "the node does not take the rig's key: its authorized_keys, or the key file in the rig's folder, was changed"
_HOST_KEY = "the node shows another host key than the one it was made with, and is not spoken to"
_ROOT = "the node's user may not become root without a password: mend /etc/sudoers.d"
_ROOM = "look with `df -h` and `df -i` on the node, and make room"
_DISK = "the node's disk has failed, or was mounted read-only: see `dmesg` on the node"
_PYTHON = "the node's Python does not work: `apt-get install --reinstall python3-minimal` on the node"
_LOCK = "another program has held apt's lock all the time: `fuser -v /var/lib/dpkg/lock-frontend` on the node names it"
_CLOCK = "the node's clock is off: `date` on the node; its time service must reach a server"
_MIRROR = "a mirror or the node's network does not answer: see /etc/apt/sources.list.d and /etc/resolv.conf on the node"
# Causes before their consequences: the first pattern that is found gives the advice.
_ADVICE = (
    (r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED", f"{_HOST_KEY}; {_ANOTHER}"),
    (r"Permission denied \(publickey", f"{_KEY}; {_ANOTHER}"),
    (r"sudo: (a (password|terminal) is required|sorry|.*sudoers)", f"{_ROOT}, or {_ANOTHER}"),
    (r"No space left on device|Disk quota exceeded|out of disk|(GB|inodes) free", _ROOM),
    (r"Read-only file system|Input/output error", f"{_DISK}; {_ANOTHER}"),
    (
        r"python3?['\"]? was not found|python3: not found|deserialization failed|ModuleNotFound|No module named",
        f"{_PYTHON}, or {_ANOTHER}",
    ),
    (r"Could not get lock|lists/lock|lock-frontend|is another process using it", _LOCK),
    (r"not valid yet|not yet valid|certificate (has|is) expired|clock: [+-]", _CLOCK),
    (r"no source has|Failed to fetch|Unable to fetch|Could not resolve|Temporary failure|Connection refused", _MIRROR),
    (r"Name or service not known|Network is unreachable|timed out|Request failed", _MIRROR),
    (r"dpkg was interrupted|parsing file|unmet dependencies", "`apt-get --fix-broken install` on the node"),
    (r"did not come back from its reboot", f"see the machine's console; {_ANOTHER}"),
    (r"Docker Engine does not|Docker daemon", "`journalctl -u docker` on the node says more"),
)
_DEFAULT = f"mend the node by hand and run trainrig configure, or {_ANOTHER}"


def advice(said: str) -> str:
    """One line; never empty."""
    return next((words for pattern, words in _ADVICE if re.search(pattern, said)), _DEFAULT)
