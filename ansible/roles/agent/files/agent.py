#!/usr/bin/python3
"""agent SETTINGS: asks the cloud whether it takes this node back, and keeps a heartbeat in /run/trainrig-agent.

notice.json    {"kind", "at", "detail"}: written once, when the cloud announces a preemption; the job is told to save
heartbeat.json {"at", "notice", "expires_at", "gpu_busy_percent", "idle_minutes", "idle", "disk_percent"}: every round

The end of the lease itself is a systemd timer of the node's first boot: it needs no program of ours to be alive.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

RUN = "/run/trainrig-agent"
RIG = "/etc/trainrig/rig.json"
CONTAINER = "trainrig-job"
HEARTBEAT_SECONDS = 5
IDLE_PERCENT = 5
AWS = "http://169.254.169.254"
GCP = "http://metadata.google.internal/computeMetadata/v1/instance"
DISKS = ("/", "/var/lib/docker", "/srv/trainrig")
LOCAL = "/run/trainrig-notice.json"
AZURE = "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"


def ask(url, headers=None, method="GET"):
    """The answer's text; None for "there is nothing" (404). Other troubles raise OSError."""
    request = urllib.request.Request(url, headers=headers or {}, method=method)
    try:
        # A proxy that a user set for downloads knows nothing of this node.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=3) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


class Aws:
    """IMDSv2 with a session token that is renewed before it ends."""

    def __init__(self, base=AWS):
        self.base = base
        self.token, self.until = None, 0.0

    def notice(self):
        if time.monotonic() > self.until:
            self.token = ask(self.base + "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "600"}, "PUT")
            self.until = time.monotonic() + 300
        text = ask(self.base + "/latest/meta-data/spot/instance-action", {"X-aws-ec2-metadata-token": self.token})
        return None if text is None else json.loads(text)


class Gcp:
    def __init__(self, base=GCP):
        self.base = base

    def notice(self):
        text = ask(self.base + "/preempted", {"Metadata-Flavor": "Google"})
        if (text or "").strip().upper() == "TRUE":
            return {"action": "preempted"}
        event = (ask(self.base + "/maintenance-event", {"Metadata-Flavor": "Google"}) or "").strip()
        return {"action": event} if event.startswith("TERMINATE") else None


class Azure:
    def __init__(self, url=AZURE):
        self.url = url

    def notice(self):
        events = json.loads(ask(self.url, {"Metadata": "true"}) or "{}").get("Events", [])
        return next((e for e in events if e.get("EventType") in ("Preempt", "Terminate")), None)


class Local:
    """A file stands for the metadata service of a machine that is no cloud; `trainrig drill` writes it."""

    def __init__(self, path=LOCAL):
        self.path = path

    def notice(self):
        try:
            with open(self.path) as f:
                return json.load(f)
        except FileNotFoundError:
            return None


CLOUDS = {"aws": Aws, "gcp": Gcp, "azure": Azure, "local": Local}


def write(name, value):
    path = os.path.join(RUN, name)
    with open(path + ".new", "w") as f:
        json.dump(value, f)
    os.replace(path + ".new", path)


def read(path, key):
    try:
        with open(path) as f:
            return json.load(f).get(key)
    except (OSError, ValueError):
        return None


def run(*command):
    """Output of a program; None when it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def gpu_busy_percent():
    """Of the busiest GPU; None where there is none."""
    text = run("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
    values = [int(line) for line in (text or "").split() if line.isdigit()]
    return max(values) if values else None


def disk_percent(paths=DISKS):
    """Of the fullest file system that a job writes to, as df counts: without what is kept for root."""
    percent = 0
    for path in paths:
        try:
            found = os.statvfs(path)
        except OSError:
            continue
        used = found.f_blocks - found.f_bfree
        percent = max(percent, -(-100 * used // max(used + found.f_bavail, 1)))
    return percent


class Agent:
    """`now` is what the clock says, which may be stepped; spans of time are measured with `ticks`."""

    def __init__(self, settings, source, now=time.time, ticks=time.monotonic):
        self.settings, self.source, self.now, self.ticks = settings, source, now, ticks
        self.noticed = None
        self.busy_at = ticks()
        self.beat_at = None

    def round(self):
        if self.noticed is None and self.source is not None:
            try:
                found = self.source.notice()
            except (OSError, ValueError) as error:
                print(f"the cloud does not answer: {error}", file=sys.stderr)
                found = None
            if found is not None:
                self.announce(found)
        if self.beat_at is None or self.ticks() - self.beat_at >= HEARTBEAT_SECONDS:
            self.beat_at = self.ticks()
            self.beat()

    def announce(self, found):
        self.noticed = {"kind": "preemption", "at": int(self.now()), "detail": found}
        write("notice.json", self.noticed)
        print(f"preemption: {json.dumps(found)}", flush=True)
        if self.settings["save_signal"]:
            run("docker", "kill", "--signal=" + self.settings["save_signal"], CONTAINER)

    def beat(self):
        busy = gpu_busy_percent()
        job_runs = run("docker", "inspect", "--format={{.State.Running}}", CONTAINER) == "true\n"
        if busy is None or busy > IDLE_PERCENT or not job_runs:
            self.busy_at = self.ticks()
        idle = (self.ticks() - self.busy_at) / 60
        limit = self.settings["idle_minutes"]
        write(
            "heartbeat.json",
            {
                "at": int(self.now()),
                "notice": self.noticed is not None,
                "expires_at": read(RIG, "expires_at"),
                "gpu_busy_percent": busy,
                "idle_minutes": round(idle, 1),
                "idle": bool(limit) and idle >= limit,
                "disk_percent": disk_percent(),
            },
        )


def main(words):
    with open(words[0]) as f:
        settings = json.load(f)
    source = CLOUDS.get(settings["cloud"])
    agent = Agent(settings, source() if source else None)
    while True:
        agent.round()
        time.sleep(settings["interval_seconds"])


if __name__ == "__main__":
    main(sys.argv[1:])
