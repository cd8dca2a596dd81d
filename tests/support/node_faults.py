"""What can befall a node of the local cloud beside a preemption."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass

import docker

from trainrig.model.node import Node


def hang(client: docker.DockerClient, node: Node) -> None:
    """Every process of the node stands still; connections stay open and say nothing."""
    client.containers.get(node.instance_id).pause()


def wake(client: docker.DockerClient, node: Node) -> None:
    client.containers.get(node.instance_id).unpause()


def freeze(client: docker.DockerClient, node: Node) -> None:
    """The same, and nobody who asks about the node is told: each of its processes is stopped by a signal."""
    processes = client.containers.get(node.instance_id).top(ps_args="-eo pid")["Processes"]
    for (pid,) in processes:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGSTOP)


def cut(client: docker.DockerClient, node: Node) -> None:
    """Takes the node off its network; it runs on, and nobody reaches it."""
    container = client.containers.get(node.instance_id)
    for name in container.attrs["NetworkSettings"]["Networks"]:
        client.networks.get(name).disconnect(container, force=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoiled:
    """A way to spoil a node by hand. `spoil` and `mend` are shell lines, as root in the node."""

    spoil: str
    mend: str = "true"
    says: str = ""  # what configure must say, as a pattern; empty: it heals the node, or nothing is wrong
    advises: str = ""  # what it must say to do


# None of these moves a node away from what it is: no word may be lost on them.
HARMLESS = {
    "a login that prints": Spoiled(
        spoil="""echo 'Be good' > /etc/issue.net; echo 'Banner /etc/issue.net' > /etc/ssh/sshd_config.d/0banner.conf
        sed -i '1i echo Welcome; printf "no end of line"' /home/trainrig/.bashrc; echo 'echo rc' > /etc/ssh/sshrc
        echo 'echo profile' > /etc/profile.d/x.sh""",
        mend="""sed -i 1d /home/trainrig/.bashrc
        rm -f /etc/ssh/sshd_config.d/0banner.conf /etc/ssh/sshrc /etc/profile.d/x.sh""",
    ),
    "programs before the system's own": Spoiled(
        spoil="""for name in docker python3 nvidia-smi systemctl rsync; do
        printf '#!/bin/sh\\necho not the real one; exit 3\\n' > /usr/local/bin/$name; done
        chmod +x /usr/local/bin/*""",
        mend="rm /usr/local/bin/*",
    ),
    "another language, path and umask": Spoiled(
        spoil="sed -i '1i export LC_ALL=de_DE.UTF-8 PATH=/nowhere:/bin; umask 077' /home/trainrig/.bashrc",
        mend="sed -i 1d /home/trainrig/.bashrc",
    ),
    "a package without its checksums": Spoiled(
        spoil="mv /var/lib/dpkg/info/zstd.md5sums /root", mend="mv /root/zstd.md5sums /var/lib/dpkg/info"
    ),
    "another Docker that root's client asks": Spoiled(
        spoil="docker context create other --docker host=tcp://127.0.0.1:9; docker context use other",
        mend="rm -r /root/.docker",
    ),
    "one session a connection": Spoiled(
        spoil="echo 'MaxSessions 1' > /etc/ssh/sshd_config.d/0sessions.conf; systemctl restart ssh",
        mend="rm -f /etc/ssh/sshd_config.d/0sessions.conf; systemctl restart ssh",
    ),
}
# What configure heals.
HEALED = {
    "half-written files of every role": Spoiled(
        spoil="""for file in /etc/apt/apt.conf.d/99trainrig /etc/docker/daemon.json /etc/trainrig/agent.json \\
        /etc/systemd/system/trainrig-job.service /var/lib/trainrig/manifests/*.json /var/lib/trainrig/converged.json \\
        /usr/local/lib/trainrig/*; do head -c 20 "$file" > /tmp/half; cat /tmp/half > "$file"; done"""
    ),
    "units masked and stopped": Spoiled(
        spoil="""systemctl stop docker.service docker.socket containerd.service trainrig-agent.service
        systemctl mask docker.service docker.socket containerd.service
        ln -sf /dev/null /etc/systemd/system/trainrig-agent.service; systemctl daemon-reload"""
    ),
    "services that a signal has stopped": Spoiled(
        spoil="kill -STOP $(for u in trainrig-agent containerd; do systemctl show -p MainPID --value $u; done)"
    ),
    "files of others beside ours": Spoiled(
        spoil="""mkdir -p /etc/systemd/system/trainrig-agent.service.d
        printf '[Service]\nExecStart=\nExecStart=/bin/false\n' > /etc/systemd/system/trainrig-agent.service.d/x.conf
        systemctl daemon-reload; systemctl restart trainrig-agent.service
        head -c 99 /dev/urandom > /var/lib/trainrig/manifests/older.json
        chown trainrig /usr/local/lib/trainrig/job-begin"""
    ),
    "a library for every program that is gone": Spoiled(spoil="echo /usr/lib/gone.so > /etc/ld.so.preload"),
    "a Docker without its data and its socket": Spoiled(
        spoil="rm -rf /var/lib/docker/* 2>/dev/null || true; rm /run/docker.sock; mkdir /run/docker.sock"
    ),
    "a package that an interrupted dpkg has left": Spoiled(
        spoil="""status() { sed -i "/^Package: $1$/,/^Status/s/^Status:.*/Status: install $2/" /var/lib/dpkg/status; }
        rm /usr/bin/zstd; status zstd 'reinstreq half-installed'
        systemd-run -q python3 -c 'import fcntl, time
        f = open("/var/lib/dpkg/lock", "w"); fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(20)'"""
    ),
    "a name that nothing resolves": Spoiled(spoil="hostname somebody-else; : > /etc/hosts"),
    "folders that are files": Spoiled(
        spoil="""rm -rf /srv/trainrig/outputs /var/lib/trainrig/manifests
        touch /srv/trainrig/outputs /var/lib/trainrig/manifests"""
    ),
}
_FULL = "cat /dev/zero > {0}/fill 2>/dev/null || true"
# What nobody but a person can mend: named, with what to do.
TOLD = {
    "no room for the state": Spoiled(
        spoil=f"mount -t tmpfs -o size=4k x /var/lib/trainrig; {_FULL.format('/var/lib/trainrig')}",
        mend="umount /var/lib/trainrig",
        says=r"base : Lay down the files of the role: /var/lib/trainrig/\S+: No space left on device",
        advises="df -h",
    ),
    "no room for settings": Spoiled(
        spoil=f"mount -t tmpfs -o size=4k x /etc/trainrig; {_FULL.format('/etc/trainrig')}",
        mend="umount /etc/trainrig",
        says=r"agent : Lay down the files of the role: /etc/trainrig/agent\.json: No space left on device",
        advises="df -h",
    ),
    "no inode left": Spoiled(
        spoil="mount -t tmpfs -o nr_inodes=3 x /srv/trainrig; touch /srv/trainrig/a /srv/trainrig/b",
        mend="umount /srv/trainrig",
        says=r"job : Lay down the files of the role: /srv/trainrig/workdir: No space left on device",
        advises="df -i",
    ),
    "a disk that cannot be written": Spoiled(
        spoil="""rm /usr/local/lib/trainrig/probe; mount --bind /usr/local /usr/local
        mount -o remount,ro,bind /usr/local""",
        mend="umount /usr/local",
        says=r"/usr/local/lib/trainrig/probe: Read-only file system",
        advises="dmesg",
    ),
    "another key in authorized_keys": Spoiled(
        spoil="cd /home/trainrig/.ssh; cp authorized_keys /root/kept; : > authorized_keys",
        mend="cat /root/kept > /home/trainrig/.ssh/authorized_keys",
        says=r"no SSH to 1 of 1 nodes, within .*\n.*Permission denied \(publickey\)",
        advises="does not take the rig's key",
    ),
    "another host key": Spoiled(
        spoil="""cd /etc/ssh; cp ssh_host_ed25519_key /root/kept; rm ssh_host_ed25519_key
        ssh-keygen -q -t ed25519 -N '' -f ssh_host_ed25519_key; systemctl restart ssh""",
        mend="cp /root/kept /etc/ssh/ssh_host_ed25519_key; systemctl restart ssh",
        says=r"no SSH to 1 of 1 nodes\n.*Host key verification failed",
        advises="another host key",
    ),
    "no Python": Spoiled(
        spoil="mv /usr/bin/python3 /root/python3",
        mend="mv /root/python3 /usr/bin/python3",
        says=r"base : Gather facts: .*'/usr/bin/python3' was not found",
        advises="reinstall python3",
    ),
    "a Python that does not start": Spoiled(
        spoil="mv $(echo /usr/lib/python3.*/json) /root/json",
        mend="mv /root/json $(dirname /usr/lib/python3.*/site.py)",
        says=r"base : Gather facts: (.|\n)*No module named 'json",
        advises="Python does not work",
    ),
    "sudo that asks": Spoiled(
        spoil="mv /etc/sudoers.d/trainrig /root/sudoer",
        mend="mv /root/sudoer /etc/sudoers.d/trainrig",
        says=r"sudo: a password is required",
        advises="sudoers",
    ),
    "a mirror that is gone": Spoiled(
        spoil="""dpkg --remove --force-depends rsync >/dev/null; mkdir /root/apt; mv /etc/apt/sources.list* /root/apt
        rm -rf /var/lib/apt/lists /var/cache/apt
        echo 'deb http://127.0.0.1:9/debian x main' > /etc/apt/sources.list""",
        mend="rm -rf /etc/apt/sources.list*; mv /root/apt/* /etc/apt",
        says=r"no source has ca-certificates rsync:\n.*127\.0\.0\.1",
        advises="mirror",
    ),
    "a source that is written wrongly": Spoiled(
        spoil="""dpkg --remove --force-depends rsync >/dev/null; echo 'deb nothing' > /etc/apt/sources.list.d/x.list""",
        mend="rm /etc/apt/sources.list.d/x.list",
        says=r"no source has ca-certificates rsync:\n.*Malformed entry 1 in list file \S+/x\.list",
        advises="written wrongly",
    ),
    "names that are looked for elsewhere": Spoiled(
        spoil="""cp /etc/nsswitch.conf /etc/hosts /root; sed -i 's/^hosts:.*/hosts: dns/' /etc/nsswitch.conf
        hostname somebody-else""",
        mend="cp /root/nsswitch.conf /etc; cat /root/hosts > /etc/hosts; hostname $(cat /etc/hostname)",
        says=r"base : Let the node resolve its own name: (.|\n)*/etc/nsswitch\.conf",
        advises="by hand",
    ),
    "programs that may not be started": Spoiled(
        spoil="mount --bind /usr/local /usr/local; mount -o remount,noexec,bind /usr/local",
        mend="umount /usr/local",
        says=r"does not say what it is now(.|\n)*node-state': Permission denied",
        advises="noexec",
    ),
    "a lease without an end": Spoiled(
        spoil="systemctl stop trainrig-lease.timer; mv /etc/systemd/system/trainrig-lease.timer /root",
        mend="mv /root/trainrig-lease.timer /etc/systemd/system; systemctl start trainrig-lease.timer",
        says=r"units: not running: trainrig-lease\.timer",
        advises="trainrig extend",
    ),
    "apt that is broken": Spoiled(
        spoil="cp /var/lib/dpkg/status /root/status; echo garbage >> /var/lib/dpkg/status",
        mend="cp /root/status /var/lib/dpkg/status",
        says=r"parsing file '/var/lib/dpkg/status'",
        advises="fix-broken",
    ),
}
