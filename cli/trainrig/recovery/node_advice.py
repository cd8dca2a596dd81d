"""What to do about a node that could not be configured, by what it said. Pure."""

from __future__ import annotations

import re

_ANOTHER = "trainrig destroy and run give another node"
_KEY = "the node does not take the rig's key: its authorized_keys, or the key file in the rig's folder, was changed"
_HOST_KEY = "the node shows another host key than the one it was made with, and is not spoken to"
_ROOT = "the node's user may not become root without a password: mend /etc/sudoers.d"
_ROOM = "look with `df -h` and `df -i` on the node, and make room"
_DISK = "the node's disk has failed, or was mounted read-only: see `dmesg` on the node"
_PYTHON = "the node's Python does not work: `apt-get install --reinstall python3-minimal` on the node"
_LOCK = "another program has held apt's lock all the time: `fuser -v /var/lib/dpkg/lock-frontend` on the node names it"
_CLOCK = "the node's clock is off: `date` on the node; its time service must reach a server"
_MIRROR = "a mirror or the node's network does not answer: see /etc/apt/sources.list.d and /etc/resolv.conf on the node"
_SILENT = "the node does not answer SSH: trainrig describe says whether its cloud still has it, its console why"
_LOGIN = "the node lets its user in no more: see `getent passwd`, `chage -l` and /etc/nologin on its console"
_SUDO = "sudo is missing on the node or no longer root's: `apt-get install --reinstall sudo` on the node"
_SOURCE = "a file of apt's settings on the node is written wrongly: mend the one that is named"
_STALE = "the mirror's lists are too old, or the node's clock is ahead: `date` on the node, and another mirror"
_PROXY = "something answers in the mirror's place, such as a proxy that wants a login: `apt-config dump` on the node"
_SIGNER = "a signing key of apt's sources is missing or has expired: see /etc/apt/sources.list.d on the node"
_CHANGING = "the mirror is being changed just now: run trainrig configure again in some minutes"
_NO_RELEASE = "the mirror does not have the node's release: see /etc/apt/sources.list.d on the node"
_NOEXEC = "programs of trainrig may not be started there: see `findmnt -T /usr/local/lib/trainrig` for noexec"
_FIXED = "the file is immutable (`lsattr`) or something is mounted over it (`findmnt`): undo that on the node"
_STORE = "is that bucket or address right, and do the job's secrets, or else the node's own identity, open it?"
_DOCKER = "`journalctl -u docker` on the node says more"
_LEASE = "the node does not end itself with its lease: trainrig extend lays the timer anew"
_UNIT = "`systemctl status UNIT` and `journalctl -u UNIT` on the node say more"
# Causes before their consequences: the first pattern that is found gives the advice.
_ADVICE = (
    (r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED", f"{_HOST_KEY}; {_ANOTHER}"),
    (r"Permission denied \(publickey", f"{_KEY}; {_ANOTHER}"),
    (r"sudo: (a (password|terminal) is required|sorry|.*sudoers)", f"{_ROOT}, or {_ANOTHER}"),
    (
        r"account is currently not available|[Aa]ccount (has )?expired|nologin|System is going down|ssh exited with",
        f"{_LOGIN}; {_ANOTHER}",
    ),
    (r"connect to host|via ssh|over ssh|kex_exchange|Connection (reset|closed)|is gone", f"{_SILENT}; {_ANOTHER}"),
    (
        r"sudo(: command)?: (not found|No such file)|must be owned by uid 0|effective uid is not 0",
        f"{_SUDO}, or {_ANOTHER}",
    ),
    (r"No space left on device|not enough space available|Disk quota exceeded|out of disk|(GB|MB|inodes) free", _ROOM),
    (r"Read-only file system|Input/output error", f"{_DISK}; {_ANOTHER}"),
    (
        r"python3?['\"]? was not found|python3: not found|deserialization failed|ModuleNotFound|No module named",
        f"{_PYTHON}, or {_ANOTHER}",
    ),
    (r"(?m)^(s3|gs|az|hf|https)://\S+: (?!this node has no)", _STORE),
    (r"Could not get lock|lists/lock|lock-frontend|is another process using it", _LOCK),
    (r"lib/trainrig/\S+: Permission denied|Permission denied: .?/usr/local/lib/trainrig", f"{_NOEXEC}; {_ANOTHER}"),
    (r"Operation not permitted|Device or resource busy", f"{_FIXED}; {_ANOTHER}"),
    (r"Malformed|sources could not be read|is not known on line|Syntax error /etc/apt|Invalid record", _SOURCE),
    (r"is expired \(invalid since", _STALE),
    (r"Clearsigned file isn't valid|require authentication|NOSPLIT", _PROXY),
    (r"NO_PUBKEY|EXPKEYSIG|KEYEXPIRED|is not signed|couldn't be verified", _SIGNER),
    (r"Hash Sum mismatch|unexpected size|Mirror sync", _CHANGING),
    (r"does not have a Release file|no longer has a Release file", _NO_RELEASE),
    (r"`docker .* does not answer", _DOCKER),
    (r"not valid yet|not yet valid|certificate (has|is) expired|clock: [+-]", _CLOCK),
    (r"no source has|Failed to fetch|Unable to fetch|Could not resolve|Temporary failure|Connection refused", _MIRROR),
    (r"Name or service not known|Network is unreachable|timed out|Request failed", _MIRROR),
    (r"dpkg was interrupted|parsing file|unmet dependencies", "`apt-get --fix-broken install` on the node"),
    (r"did not come back from its reboot", f"see the machine's console; {_ANOTHER}"),
    (r"Docker Engine does not|Docker daemon", _DOCKER),
    (r"not running: .*trainrig-lease", _LEASE),
    (r"units: (failed|not running|stopped)", _UNIT),
    (r" mounts: ", "`journalctl -u 'trainrig-mount@*'` on the node says more"),
    (r"heartbeat: ", "`journalctl -u trainrig-agent` on the node says more"),
)
_DEFAULT = f"mend the node by hand and run trainrig configure, or {_ANOTHER}"


def advice(said: str) -> str:
    """One line; never empty."""
    return next((words for pattern, words in _ADVICE if re.search(pattern, said)), _DEFAULT)
