"""Shell helpers of the roles, run by a real shell with stand-ins for what they ask."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.role_scripts import render

# As lsblk tells of them, and what blkid finds there.
OWN = (
    "Amazon EC2 NVMe Instance Storage",
    "nvme_card",
    "nvme_card1",
    "Microsoft NVMe Direct Disk",
    "Microsoft NVMe Direct Disk v2",
)
DISKS = {
    "/dev/nvme0n1": ("Amazon Elastic Block Store", ""),
    "/dev/nvme1n1": ("Amazon EC2 NVMe Instance Storage", ""),
    "/dev/nvme2n1": ("Amazon EC2 NVMe Instance Storage", ""),
    "/dev/nvme3n1": ("Amazon EC2 NVMe Instance Storage", "TYPE=ext4"),
    "/dev/nvme4n1": ("Amazon EC2 NVMe Instance Storage", "PTTYPE=gpt"),
    "/dev/nvme5n1": ("nvme_card", ""),
    "/dev/nvme6n1": ("nvme_card1", ""),
    "/dev/nvme7n1": ("nvme_card-pd", ""),
    "/dev/nvme8n1": ("Microsoft NVMe Direct Disk v2", ""),
    "/dev/nvme9n1": ("MSFT NVMe Accelerator v1.0", ""),
    "/dev/sda": ("Virtual Disk", ""),
    "/dev/sdb": ("", ""),
}


def run(tmp_path: Path, text: str, stubs: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    for name, body in stubs.items():
        stub = tmp_path / name
        stub.write_text(f"#!/bin/sh\n{body}\n")
        stub.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run(["sh", "-c", text, "sh", *words], env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def disks() -> dict[str, str]:
    names = "\n".join(f"echo '{name} {model}'" for name, (model, _) in DISKS.items())
    kinds = "\n".join(f"{name}) echo '{kind}'; exit {0 if kind else 2} ;;" for name, (_, kind) in DISKS.items())
    last = 'for last; do :; done; case "$last" in'
    return {
        "mountpoint": "exit 1",
        "lsblk": f'case "$*" in *NAME,MODEL*) {names} ;; *MOUNTPOINT*) ;; *) echo one line ;; esac',
        "blkid": f"{last}\n{kinds}\nesac\nexit 2",
    }


def test_only_the_machines_own_empty_disks_are_taken(tmp_path: Path, disks: dict[str, str]) -> None:
    done = run(tmp_path, render("base", "local-disks"), disks, "--check")
    own = [name for name, (model, carries) in DISKS.items() if model in OWN and not carries]
    assert done.stdout == f"local disks at /srv/trainrig: {' '.join(own)}\n"


def test_disks_that_carry_something_are_named(tmp_path: Path, disks: dict[str, str]) -> None:
    assert (
        run(tmp_path, render("base", "local-disks"), disks, "--left").stdout
        == "/dev/nvme3n1 (ext4)\n/dev/nvme4n1 (gpt)\n"
    )


def test_disks_that_are_mounted_already_are_left_alone(tmp_path: Path, disks: dict[str, str]) -> None:
    done = run(tmp_path, render("base", "local-disks"), {**disks, "mountpoint": "exit 0"})
    assert (done.returncode, done.stdout) == (0, "")


def test_disks_that_an_image_has_put_together_are_used_as_they_are(tmp_path: Path, disks: dict[str, str]) -> None:
    mounted = {"mountpoint": 'for last; do :; done; [ "$last" = /opt/dlami/nvme ]'}
    done = run(tmp_path, render("base", "local-disks"), {**disks, **mounted}, "--check")
    assert done.stdout == "local disks at /srv/trainrig: /opt/dlami/nvme/trainrig\n"


def test_missing_packages_are_those_not_there_or_in_another_version(tmp_path: Path) -> None:
    known = "a) echo installed 1.0 ;; b) echo config-files 2.0 ;; *) exit 1 ;;"
    query = f'for last; do :; done; case "$last" in {known} esac'
    words = ["a", "a=1.0", "a=1.1", "b", "c"]
    done = run(tmp_path, render("base", "missing-packages"), {"dpkg-query": query}, *words)
    assert done.stdout.split() == ["a=1.1", "b", "c"]


@pytest.mark.parametrize(("action", "changed", "told"), [("--hold", True, "linux-b"), ("--check", False, "linux-b")])
def test_only_installed_packages_that_are_not_held_are_held(
    tmp_path: Path, action: str, changed: bool, told: str
) -> None:
    rows = ["hold installed linux-a", "install installed linux-b", "deinstall config-files linux-c"]
    stubs = {
        "dpkg-query": "\n".join(f"echo '{row}'" for row in rows),
        "dpkg": f"cat >> {tmp_path}/selections",
    }
    stubs["after-lock"] = '"$@"'
    done = run(tmp_path, render("base", "hold-packages", base_lib=tmp_path), stubs, action, "linux-")
    assert done.stdout.split() == [told]
    assert (tmp_path / "selections").exists() is changed


def test_a_lock_of_dpkg_that_another_program_holds_is_waited_for(tmp_path: Path) -> None:
    lock = "echo 'dpkg: error: dpkg frontend lock was locked by another process with pid 77' >&2; exit 2"
    stubs = {"dpkg": f"if [ -e {tmp_path}/tried ]; then exit 0; fi; touch {tmp_path}/tried; {lock}", "sleep": ":"}
    assert run(tmp_path, render("base", "after-lock"), stubs, "dpkg", "--configure", "-a").returncode == 0
    done = run(tmp_path, render("base", "after-lock"), {**stubs, "dpkg": lock}, "dpkg", "--configure", "-a")
    assert (done.returncode, "pid 77" in done.stderr) == (1, True)
    done = run(tmp_path, render("base", "after-lock"), {**stubs, "dpkg": "echo other >&2; exit 2"}, "dpkg")
    assert (done.returncode, done.stderr) == (1, "other\n")


@pytest.mark.parametrize(
    ("status", "words", "did"),
    [
        ("ii ", "", ""),  # also where dpkg --audit has something to say of it
        ("rc ", "", ""),
        ("iF ", "half-configured packages: a\n", "dpkg --configure -a --force-confold\n"),
        (
            "iHR",
            "half-configured packages: a\n",
            "dpkg --configure -a --force-confold\napt-get install --reinstall a\n",
        ),
    ],
)
def test_packages_are_finished_or_brought_anew(tmp_path: Path, status: str, words: str, did: str) -> None:
    (tmp_path / "status").write_text(f"{status}|a\nhi |b\n")
    last = 'for last; do :; done; echo "apt-get $1 $2 $last"'
    stubs = {
        "dpkg-query": f"cat {tmp_path}/status",
        "find": ":",  # no journal of dpkg's
        "after-lock": f"echo \"$*\" >> {tmp_path}/did; sed -i 's/^iF/ii/' {tmp_path}/status",
        "read-lists": ":",
        "apt-get": f"{last} >> {tmp_path}/did",
    }
    (tmp_path / "did").touch()
    script = render("base", "finish-dpkg", base_lib=tmp_path)
    done = run(tmp_path, script, stubs, "--check")
    assert (done.returncode, done.stdout, (tmp_path / "did").read_text()) == (0, words, "")
    done = run(tmp_path, script, stubs)
    assert (done.returncode, done.stdout, (tmp_path / "did").read_text()) == (0, words, did)


def test_a_name_that_is_not_resolved_though_the_hosts_have_it_is_told_of(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.touch()
    script = render("base", "own-name").replace("/etc/hosts", str(hosts))
    done = run(tmp_path, script, {"getent": f'grep -q -w -F "$2" {hosts}', "hostname": "echo 192.0.2.7"})
    assert (done.returncode, hosts.read_text().splitlines()[0]) == (0, "127.0.0.1 localhost")
    written = hosts.read_text()
    done = run(tmp_path, script, {"getent": "exit 2", "hostname": "echo 192.0.2.7"})
    assert (done.returncode, "nsswitch.conf" in done.stderr, hosts.read_text()) == (1, True, written)


def test_a_job_that_died_of_memory_is_recorded_with_its_own_code(tmp_path: Path) -> None:
    text = render("job", "job-end").replace("/var/lib/trainrig/job", str(tmp_path))
    stubs = {
        "docker": 'case "$1" in inspect) echo "137 true 2026-01-01T00:00:00Z 2026-01-01T01:00:00Z" ;; esac',
        "journalctl": "exit 0",
    }
    run(tmp_path, "SERVICE_RESULT=exit-code\n" + text, stubs)
    assert yaml.safe_load((tmp_path / "exit.json").read_text()) == {
        "exit_code": 137,
        "oom_killed": True,
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T01:00:00Z",
        "service_result": "exit-code",
        "stopped": False,
    }


@pytest.mark.parametrize("runs", [True, False])
def test_a_job_that_its_node_stops_is_recorded_as_stopped(tmp_path: Path, runs: bool) -> None:
    stop, end = (render("job", s).replace("/var/lib/trainrig/job", str(tmp_path)) for s in ("job-stop", "job-end"))
    state = f'*Running*) echo {"true" if runs else "false"} ;; *ExitCode*) echo "143 false 2026-01-01T00:00:00Z x" ;;'
    stubs = {"docker": f'case "$*" in {state} esac', "journalctl": "exit 0"}
    run(tmp_path, stop, stubs)
    run(tmp_path, "SERVICE_RESULT=success\n" + end, stubs)
    assert yaml.safe_load((tmp_path / "exit.json").read_text())["stopped"] is runs


def test_a_container_that_never_started_is_recorded_with_dockers_code(tmp_path: Path) -> None:
    text = render("job", "job-end").replace("/var/lib/trainrig/job", str(tmp_path))
    docker = {"docker": '[ "$1" = version ]', "journalctl": "exit 0"}
    run(tmp_path, "EXIT_STATUS=125 SERVICE_RESULT=exit-code\n" + text, docker)
    record = yaml.safe_load((tmp_path / "exit.json").read_text())
    assert (record["exit_code"], record["oom_killed"], record["started_at"]) == (125, False, "")
    assert not record["stopped"]


@pytest.mark.parametrize("docker", ['[ "$1" = inspect ] && echo 143 false 2026-01-01T00:00:00Z x', "exit 1"])
def test_a_job_whose_docker_has_died_is_recorded_as_stopped(tmp_path: Path, docker: str) -> None:
    text = render("job", "job-end").replace("/var/lib/trainrig/job", str(tmp_path))
    run(tmp_path, "EXIT_STATUS=125 SERVICE_RESULT=exit-code\n" + text, {"docker": docker, "journalctl": "exit 0"})
    assert yaml.safe_load((tmp_path / "exit.json").read_text())["stopped"]


def poll(tmp_path: Path) -> str:
    """job-poll, with all that it reads below `tmp_path`."""
    text = render("job", "job-poll").replace("/var/lib/trainrig/job", str(tmp_path))
    return text.replace("/run/trainrig-agent", str(tmp_path)).replace("/srv/trainrig", str(tmp_path))


def told(tmp_path: Path, text: str, systemctl: str = "echo active") -> dict[str, Any]:
    """What it says of a job that has no checkpoints, without their mark."""
    document: dict[str, Any] = yaml.safe_load(run(tmp_path, text, {"systemctl": systemctl}).stdout)
    assert document.pop("checkpoints")
    return document


def test_a_job_that_ends_while_it_is_asked_about_has_a_known_end(tmp_path: Path) -> None:
    """The record appears just before the unit is inactive; a poll in between must not take that for a lost job."""
    text = poll(tmp_path)
    ends = f"printf '{{\"exit_code\":0}}' > {tmp_path}/exit.json; echo inactive"
    assert told(tmp_path, text, systemctl=ends) == {"exit_code": 0, "notice": None, "heartbeat": None}


def test_an_end_is_told_with_the_notice_that_may_have_caused_it(tmp_path: Path) -> None:
    text = poll(tmp_path)
    (tmp_path / "notice.json").write_text('{"kind": "preemption"}')
    (tmp_path / "exit.json").write_text('{"exit_code":143}\n')
    assert told(tmp_path, text, systemctl="echo failed") == {
        "exit_code": 143,
        "notice": {"kind": "preemption"},
        "heartbeat": None,
    }


def test_a_heartbeat_is_told_while_it_is_fresh(tmp_path: Path) -> None:
    text = poll(tmp_path)
    beat = tmp_path / "heartbeat.json"
    beat.write_text('{"idle_minutes": 3.5}')
    assert told(tmp_path, text) == {"active": "active", "notice": None, "heartbeat": {"idle_minutes": 3.5}}
    old = beat.stat().st_mtime - 120
    os.utime(beat, (old, old))
    assert told(tmp_path, text)["heartbeat"] is None


def test_the_mark_of_the_checkpoints_changes_with_what_is_written_and_not_with_a_copy(tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()

    def mark() -> str:
        return str(yaml.safe_load(run(tmp_path, poll(tmp_path), {"systemctl": "echo active"}).stdout)["checkpoints"])

    marks = [mark()]
    file = checkpoints / "step-1"
    for text in ("one", "two"):  # of the same length
        file.write_text(text)
        marks.append(mark())
    assert len({*marks}) == 3
    (tmp_path / "copy").hardlink_to(file)
    assert mark() == marks[-1]
    before = file.stat()
    (checkpoints / "new").write_text("six")
    os.utime(checkpoints / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (checkpoints / "new").replace(file)
    assert mark() != marks[-1]


def clock(tmp_path: Path, *words: str, **stubs: str) -> list[str]:
    """What the script says on a machine, not a container, whose programs answer as `stubs`."""
    machine = {
        "systemd-detect-virt": "exit 1",
        "read-lists": f"echo read-lists $* >> {tmp_path}/did",
        "apt-get": f"echo apt-get $* >> {tmp_path}/did",
    }
    chronyc = (
        f'case "$*" in *tracking) echo "A,b,3,1.0,$(cat {tmp_path}/offset),0" ;; *) echo "$*" >> {tmp_path}/did ;; esac'
    )
    for name in ("offset", "did"):
        (tmp_path / name).touch()
    script = render("base", "clock", base_lib=tmp_path)
    return run(tmp_path, script, {**machine, "chronyc": chronyc, **stubs}, *words).stdout.splitlines()


CHRONY = """case "$1 $*" in
  *is-active*) exit @ACTIVE@ ;;
  "cat "*chrony.service) ;;
  "cat "*) exit 1 ;;
  *) echo "$*" >> @DID@ ;;
esac"""


def test_a_time_service_that_runs_and_is_right_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "offset").write_text("-0.000012")
    assert clock(tmp_path, systemctl=CHRONY.replace("@ACTIVE@", "0")) == []


def test_a_clock_that_is_off_is_stepped(tmp_path: Path) -> None:
    (tmp_path / "offset").write_text("-612.5")
    assert clock(tmp_path, "--check", systemctl=CHRONY.replace("@ACTIVE@", "0")) == ["step the clock by -612.5 s"]
    assert (tmp_path / "did").read_text() == ""
    clock(tmp_path, systemctl=CHRONY.replace("@ACTIVE@", "0"))
    assert (tmp_path / "did").read_text() == "makestep\n"


def test_a_time_service_that_was_stopped_is_started(tmp_path: Path) -> None:
    systemctl = CHRONY.replace("@ACTIVE@", "3").replace("@DID@", f"{tmp_path}/did")
    assert clock(tmp_path, systemctl=systemctl) == ["start chrony"]
    assert (tmp_path / "did").read_text() == "enable --now --quiet chrony.service\n"


def test_a_machine_without_a_time_service_gets_one(tmp_path: Path) -> None:
    assert clock(tmp_path, "--check", systemctl="exit 1") == ["install chrony"]
    assert (tmp_path / "did").read_text() == ""
    assert clock(tmp_path, systemctl="exit 1")[:1] == ["install chrony"]
    assert "install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 chrony" in (tmp_path / "did").read_text()


def test_a_container_has_its_hosts_clock(tmp_path: Path) -> None:
    assert clock(tmp_path, systemctl="exit 1", **{"systemd-detect-virt": "exit 0"}) == []


def test_docker_that_will_not_start_says_why_in_its_own_words(tmp_path: Path) -> None:
    entries = [
        '{"SYSLOG_IDENTIFIER": "dockerd", "MESSAGE": "no space left"}',
        '{"SYSLOG_IDENTIFIER": "systemd", "MESSAGE": "x"}',
    ]
    stubs = {
        "systemctl": f'echo "$*" >> {tmp_path}/did; case "$1" in is-active|start) exit 1 ;; esac',
        "mkdir": ":",
        "journalctl": "\n".join(f"echo '{entry}'" for entry in entries),
    }
    done = run(tmp_path, render("base", "docker-up"), stubs)
    assert (done.returncode, done.stderr) == (1, "Docker Engine does not start:\nno space left\n")
    assert "unmask --quiet docker.service docker.socket" in (tmp_path / "did").read_text()
    (tmp_path / "root/tmp").mkdir(parents=True)
    stubs = {**stubs, "systemctl": f'echo "$*" >> {tmp_path}/did', "docker": f"echo {tmp_path}/root"}
    done = run(tmp_path, render("base", "docker-up"), stubs)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("docker", ["exit 1", "echo", "echo /nowhere"])
def test_docker_that_runs_and_is_of_no_use_is_started_anew(tmp_path: Path, docker: str) -> None:
    stubs = {"systemctl": f'echo "$*" >> {tmp_path}/did', "docker": docker, "mkdir": ":"}
    assert run(tmp_path, render("base", "docker-up"), stubs, "--check").stdout == "restart Docker Engine\n"
    assert run(tmp_path, render("base", "docker-up"), stubs).returncode == 0
    assert (tmp_path / "did").read_text().endswith("stop docker.socket\nrestart docker.service\n")


def test_a_source_that_fails_is_no_trouble_while_others_have_what_is_wanted(tmp_path: Path) -> None:
    update = "echo 'E: Failed to fetch http://mirror/InRelease  Connection refused'; exit 100"
    stubs = {"apt-get": f'case "$1" in update) {update} ;; install) exit @CODE@ ;; esac'}
    there = {"apt-get": stubs["apt-get"].replace("@CODE@", "0")}
    assert run(tmp_path, render("base", "read-lists"), there, "rsync").returncode == 0
    missing = {"apt-get": stubs["apt-get"].replace("@CODE@", "100")}
    done = run(tmp_path, render("base", "read-lists"), missing, "rsync", "gpg")
    assert (done.returncode, done.stderr) == (
        1,
        "no source has rsync gpg:\nE: Failed to fetch http://mirror/InRelease  Connection refused\n",
    )


def test_lists_that_another_program_reads_are_waited_for(tmp_path: Path) -> None:
    lock = "echo 'E: lock /var/lib/apt/lists/lock'; exit 100"
    busy = f"if [ -e {tmp_path}/tried ]; then exit 0; fi; touch {tmp_path}/tried; {lock}"
    stubs = {"apt-get": f'case "$1" in update) {busy} ;; *) exit 100 ;; esac', "sleep": ":"}
    assert run(tmp_path, render("base", "read-lists"), stubs, "rsync").returncode == 0
    done = run(tmp_path, render("base", "read-lists"), {**stubs, "apt-get": lock}, "rsync")
    assert (done.returncode, "lists/lock" in done.stderr) == (1, True)


def test_what_a_signal_has_stopped_goes_on_where_it_is_a_service_of_ours(tmp_path: Path) -> None:
    rows = ["Ss 1 trainrig-agent.service", "Tl 2 docker.service", "T 3 trainrig-mount@1.service", "T 4 session-1.scope"]
    stubs = {"ps": "\n".join(f"echo '{row}'" for row in rows)}
    script = f'kill() {{ echo "$*" >> {tmp_path}/did; }}\n{render("base", "wake")}'
    assert run(tmp_path, script, stubs, "--check").stdout == "docker.service\ntrainrig-mount@1.service\n"
    assert not (tmp_path / "did").exists()
    assert run(tmp_path, script, stubs).stdout == "docker.service\ntrainrig-mount@1.service\n"
    assert (tmp_path / "did").read_text() == "-CONT 2 3\n"


def test_an_agent_that_runs_and_does_not_beat_is_started_anew(tmp_path: Path) -> None:
    beat = tmp_path / "heartbeat.json"
    script = render("agent", "agent-up").replace("/run/trainrig-agent", str(tmp_path))
    stubs = {"systemctl": f'echo "$*" >> {tmp_path}/did'}
    assert run(tmp_path, script, stubs).stdout == ""  # it has started just now
    beat.touch()
    assert run(tmp_path, script, stubs).stdout == ""
    os.utime(beat, (beat.stat().st_mtime - 120,) * 2)
    assert run(tmp_path, script, stubs, "--check").stdout == "restart the agent\n"
    assert "restart trainrig" not in (tmp_path / "did").read_text()
    assert run(tmp_path, script, stubs).stdout == "restart the agent\n"
    assert (tmp_path / "did").read_text().endswith("restart trainrig-agent.service\n")
    beat.touch()
    stubs = {"systemctl": '[ "$1" != is-active ]'}
    assert run(tmp_path, script, stubs).stdout == "start the agent\n"
