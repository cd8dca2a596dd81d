#!/usr/bin/python3
"""probe: one JSON document of what this node is. It judges nothing.

Every part is measured on its own, and one that cannot be is null with the reason under "errors".
"""

import glob
import json
import os
import re
import subprocess
import sys
import time

DATA = "/srv/trainrig"
MANIFESTS = "/var/lib/trainrig/manifests"
AGENT = "trainrig-agent.service"
HEARTBEAT = "/run/trainrig-agent/heartbeat.json"
LEASE = "trainrig-lease.timer"  # laid down with the machine, by no role
GPU_FIELDS = ("index", "name", "driver_version", "memory.total", "ecc.errors.uncorrected.volatile.total")


def out(*command, seconds=120):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"`{' '.join(command)}` does not answer within {seconds} s") from None
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(words[-1] if words else f"{command[0]} exited with {done.returncode}")
    return done.stdout


def gpus():
    rows = out("nvidia-smi", "--query-gpu=" + ",".join(GPU_FIELDS), "--format=csv,noheader,nounits").splitlines()
    return [dict(zip(GPU_FIELDS, (cell.strip() for cell in row.split(",")), strict=True)) for row in rows]


def cuda():
    """The newest CUDA that the driver can run."""
    found = re.search(r"CUDA Version: *([0-9.]+)", out("nvidia-smi"))
    if not found:
        raise RuntimeError("nvidia-smi does not say")
    return found.group(1)


def xid():
    """Kernel messages about GPU errors since boot."""
    return [line for line in out("journalctl", "--dmesg", "--quiet", "--no-pager").splitlines() if "NVRM: Xid" in line]


def disk():
    """Free space where the job writes, and how fast it takes 64 MiB down to the device."""
    memory = os.statvfs("/run")  # takes secrets and scripts of the job
    run = memory.f_bavail * memory.f_frsize
    status = os.statvfs(DATA)
    free = status.f_bavail * status.f_frsize
    inodes = status.f_favail if status.f_files else None  # some file systems have no such number
    if free < 1 << 29 or inodes == 0:
        return {"free_bytes": free, "free_inodes": inodes, "run_free_bytes": run, "write_bytes_per_second": None}
    path = os.path.join(DATA, ".probe")
    block = os.urandom(1 << 20)
    began = time.monotonic()
    try:
        with open(path, "wb") as f:
            f.writelines(block for _ in range(64))
            f.flush()
            os.fsync(f.fileno())
        seconds = time.monotonic() - began
    finally:
        os.path.exists(path) and os.unlink(path)
    return {
        "free_bytes": free,
        "free_inodes": inodes,
        "run_free_bytes": run,
        "write_bytes_per_second": round(64 * (1 << 20) / max(seconds, 1e-6)),
    }


def disks_left():
    """The machine's own disks that are not used, since they carry something."""
    return out("/usr/local/lib/trainrig/local-disks", "--left").splitlines()


def docker():
    version = out("docker", "version", "--format", "{{.Server.Version}}", seconds=30).strip()
    status = os.statvfs("/var/lib/docker")
    return {"version": version, "free_bytes": status.f_bavail * status.f_frsize}


def units():
    listed = out("systemctl", "list-units", "--failed", "--plain", "--no-legend", "--full").splitlines()
    return [line.split()[0] for line in listed if line.strip()]


def idle_units():
    """Units that should run and do not, with their state: those that the roles answer for, and the end of the lease."""
    wanted = {LEASE}
    for name in glob.glob(MANIFESTS + "/*.json"):
        try:
            with open(name) as f:
                wanted |= set(json.load(f)["units"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a torn one is the roles' to mend
    states = {unit: state_of(unit) for unit in sorted(wanted)}
    if set(states.values()) - {"active"}:
        time.sleep(1)  # one that was started just now
        states = {unit: state if state == "active" else state_of(unit) for unit, state in states.items()}
    return [f"{unit} ({state})" for unit, state in states.items() if state not in ("active", "reloading")]


def state_of(unit, what="ActiveState"):
    return out("systemctl", "show", f"--property={what}", "--value", unit).strip()


def stopped_units():
    """Services that a signal has stopped: systemd takes them for running."""
    return out("/usr/local/lib/trainrig/wake", "--check").splitlines()


def heartbeat_seconds():
    """How old the agent's last heartbeat is; where it has started since, how long it has had for the first."""
    try:
        return round(abs(time.time() - os.stat(HEARTBEAT).st_mtime))
    except FileNotFoundError:
        if state_of(AGENT) != "active":
            raise RuntimeError(f"{AGENT} does not run") from None
        began = int(state_of(AGENT, "ActiveEnterTimestampMonotonic")) / 1e6
        return round(time.monotonic() - began)


def mounts():
    """What is wrong with each bucket that the job works on, by its URL."""
    tool = "/usr/local/lib/trainrig/data"
    return json.loads(out(tool, "mounts")) if os.path.exists(tool) else {}


def kernel():
    return os.uname().release


PARTS = {
    "gpus": gpus,
    "cuda": cuda,
    "xid": xid,
    "disk": disk,
    "disks_left": disks_left,
    "docker": docker,
    "failed_units": units,
    "idle_units": idle_units,
    "stopped_units": stopped_units,
    "heartbeat_seconds": heartbeat_seconds,
    "mounts": mounts,
    "kernel": kernel,
}
ONLY_WITH_GPU = {"gpus", "cuda", "xid"}


def main(words):
    facts, errors = {}, {}
    for name, part in PARTS.items():
        if name in ONLY_WITH_GPU and "--gpus" not in words:
            continue
        try:
            facts[name] = part()
        except (OSError, RuntimeError, ValueError) as error:
            facts[name], errors[name] = None, str(error)
    print(json.dumps({**facts, "errors": errors}))


if __name__ == "__main__":
    main(sys.argv[1:])
