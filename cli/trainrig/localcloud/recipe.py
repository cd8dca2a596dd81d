"""The two images of the local cloud, as recipes over the host's own distribution: a node that boots systemd, and a
small Python with numpy for jobs that name no container. An image's name is a hash of what it is made from."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from pathlib import Path

NODE_USER = "trainrig"
NODE_UID = 1000

# Documentation and translations are three quarters of the files of a Debian system; nobody reads them in a node.
SLIM = (
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/doc/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/lintian/*",
    "force-unsafe-io",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """`hooks` are shell lines that mmdebstrap runs with the new root as `$1`; nothing of a user's is in them."""

    repository: str
    variant: str
    packages: tuple[str, ...]
    hooks: tuple[str, ...]
    entry: tuple[str, ...]

    def reference(self, suite: str) -> str:
        """`trainrig-node:1f0c...`; another list, hook, distribution or processor is another name."""
        made_from = [suite, platform.machine(), self.variant, self.packages, self.hooks, self.entry, SLIM]
        return f"{self.repository}:{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:12]}"


# A nested container must stay inside the node's own cgroup, or the node's limits do not hold for it. To the byte what
# the role container_runtime writes, which then need not restart the daemon (tests/contract/test_node_image.py).
DAEMON_JSON = '{"exec-opts": ["native.cgroupdriver=systemd"]}'

# A reboot ends the container as a failure does, which Docker starts again (machine.py); a power-off ends it for good.
REBOOT = r"[Unit]\nSuccessAction=exit-force\nSuccessActionExitStatus=133\n"

NODE = Recipe(
    repository="trainrig-node",
    variant="minbase",
    packages=(
        "systemd",
        "systemd-sysv",
        "dbus",
        "openssh-server",
        "python3",
        "python3-apt",
        "apt",  # Ubuntu's smallest system lacks it
        "sudo",
        "docker.io",
        "iptables",
        "iproute2",
        "procps",
        "rsync",
        "zstd",
        "ca-certificates",
    ),
    hooks=(
        f'chroot "$1" useradd --uid {NODE_UID} --create-home --shell /bin/bash {NODE_USER}',
        f'echo "{NODE_USER} ALL=(ALL) NOPASSWD: ALL" > "$1/etc/sudoers.d/{NODE_USER}"',
        f'chmod 0440 "$1/etc/sudoers.d/{NODE_USER}"',
        # A newer Docker keeps its images with containerd: on the node's volume too, for overlayfs cannot lie on itself.
        'mkdir -p "$1/var/lib/docker/containerd" && rm -rf "$1/var/lib/containerd"',
        'ln -s /var/lib/docker/containerd "$1/var/lib/containerd"',
        'mkdir -p "$1/etc/docker"',
        f"""echo '{DAEMON_JSON}' > "$1/etc/docker/daemon.json" """,
        'printf "UseDNS no\\nPasswordAuthentication no\\n" > "$1/etc/ssh/sshd_config.d/trainrig.conf"',
        'mkdir -p "$1/etc/systemd/system/systemd-reboot.service.d"',
        f"""printf '{REBOOT}' > "$1/etc/systemd/system/systemd-reboot.service.d/container.conf" """,
        'chroot "$1" systemctl mask getty.target apt-daily.timer apt-daily-upgrade.timer systemd-udevd.service',
        # Identity is a node's own; the Terraform provider puts a fresh host key into each.
        'rm -f "$1"/etc/ssh/ssh_host_* "$1/var/lib/dbus/machine-id"',
        ': > "$1/etc/machine-id"',
    ),
    entry=("/sbin/init",),
)

PRUNE = (
    'rm -rf "$1"/usr/share/i18n "$1"/usr/share/perl* "$1"/usr/lib/*/perl "$1"/usr/lib/*/gconv "$1"/var/lib/apt/lists'
)

PYTHON = Recipe(
    repository="trainrig-python",
    variant="essential",
    packages=("python3", "python3-numpy", "ca-certificates"),
    # It is sent to every node. Nothing is installed into it later, so what only packages and their tests use can go.
    hooks=(PRUNE, 'find "$1/usr/lib/python3/dist-packages" -name tests -prune -exec rm -r {} +'),
    entry=("python3",),
)


def host_suite(os_release: Path = Path("/etc/os-release")) -> str:
    """The code name of the host's release, or "" where it is neither Debian nor Ubuntu."""
    values = (
        dict(line.partition("=")[::2] for line in os_release.read_text().splitlines()) if os_release.exists() else {}
    )
    known = {word.strip('"') for word in (values.get("ID", ""), *values.get("ID_LIKE", "").split())}
    return values.get("VERSION_CODENAME", "").strip('"') if known & {"debian", "ubuntu"} else ""
