#!/usr/bin/python3
"""data VERB ...: brings the data of a job's mounts to the node.

data copy INDEX          copies a source to its place, once; prints what it copied, nothing when all was there
data up INDEX [--check]  has a bucket mounted; prints what it did (or would do), nothing when it was
data mount INDEX         serves a bucket as a directory, for trainrig-mount@INDEX.service
data mounts              one JSON document: what is wrong with each bucket that should be mounted, by its URL
data flush SECONDS       waits until what was written to mounts is in its bucket
data check URL           writes, reads and deletes a small object
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from buckets import AZURE, complaint, rclone, remote, run, settings, tidied

# The job's own variables that open its stores, on tmpfs and for root alone. Without them the node's identity does.
SECRETS = "/run/trainrig/data.json"
MOUNTS = "/srv/trainrig/mounts"
FUSE = "/dev/fuse"
CACHE = "/srv/trainrig/.rclone"
REFUSED = re.compile(r"denied|forbidden|\b403\b", re.IGNORECASE)
YOUNG_SECONDS = 300  # since the node booted
ANSWER_SECONDS = 10  # for what rclone answers by itself, without its store


def mount_of(index):
    return next(m for m in settings()["mounts"] if m["index"] == int(index))


def by_rclone(source, target):
    here = remote(source)
    # A prefix is a directory; a single object is copied onto the path itself.
    found = run("lsjson", "--stat", here)
    if found.returncode:
        raise SystemExit(f"{source}: {complaint(found)}")
    verb = "copy" if json.loads(found.stdout)["IsDir"] else "copyto"
    done = run(verb, "--checksum", "--transfers=16", "--fast-list", "--stats-one-line", "-v", here, target)
    if done.returncode:
        raise SystemExit(f"{source}: {complaint(done)}")
    return sum(": Copied" in line for line in done.stderr.splitlines())


def opened(url):
    """An answer over HTTP; the job's token goes to the hub alone."""
    request = urllib.request.Request(url)
    token = os.environ.get("HF_TOKEN")
    if token and url.startswith(hub() + "/"):
        # Unredirected: the hub sends downloads on to a store that is not its own.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        return urllib.request.urlopen(request, timeout=60)
    except urllib.error.URLError as error:
        raise SystemExit(f"{url}: {error.reason}") from None


def hub():
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def download(url, path):
    """A file, whole or not at all; False when it is there in that size."""
    with opened(url) as answer:
        size = answer.headers.get("Content-Length")
        if size and os.path.exists(path) and os.path.getsize(path) == int(size):
            return False
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".part", "wb") as f:
            while chunk := answer.read(1 << 20):
                f.write(chunk)
        if size and os.path.getsize(path + ".part") != int(size):
            raise SystemExit(f"{url}: the download ended early")
    os.replace(path + ".part", path)
    return True


def by_hub(source, target):
    """hf://[datasets/]OWNER/NAME[@REVISION]: every file of the repository."""
    path = source[len("hf://") :].strip("/")
    kind = "models"
    if path.split("/")[0] in ("datasets", "models"):
        kind, _, path = path.partition("/")
    name, _, revision = path.partition("@")
    prefix = "datasets/" if kind == "datasets" else ""
    page = f"{hub()}/api/{kind}/{name}/tree/{revision or 'main'}?recursive=true"
    files = []
    while page:
        with opened(page) as answer:
            files += [entry["path"] for entry in json.load(answer) if entry["type"] == "file"]
            page = following(answer.headers.get("Link"))
    base = f"{hub()}/{prefix}{name}/resolve/{revision or 'main'}/"
    return sum(download(base + urllib.parse.quote(f), os.path.join(target, f)) for f in files)


def following(link):
    """The next page of a listing, from its Link header: <URL>; rel="next"."""
    for part in (link or "").split(","):
        url, _, rest = part.partition(";")
        if 'rel="next"' in rest:
            return url.strip().strip("<>")
    return None


def copy(index):
    source, target = mount_of(index)["source"], os.path.join(MOUNTS, index)
    if source.startswith("hf://"):
        count = by_hub(source, target)
    elif source.startswith(("https://", "http://")) and not urllib.parse.urlsplit(source).netloc.endswith(AZURE):
        count = int(download(source, target))
    else:
        count = by_rclone(source, target)
    if count:
        print(f"{count} files of {source}")


def refusal(url):
    """Why the node may not write, read and delete there; empty when it may."""
    path = f"{remote(url)}/.trainrig-check-{uuid.uuid4()}"
    quick = ("--retries=1", "--low-level-retries=2")
    for words, stdin in ((("rcat", path), "trainrig"), (("cat", path), None), (("deletefile", path), None)):
        done = run(*quick, *words, input=stdin)
        if done.returncode:
            return f"{words[0]}: {complaint(done)}"
        if words[0] == "cat" and done.stdout != "trainrig":
            return "read back something else"
    return ""


def refusal_in_time(url):
    """As `refusal`, but a young node asks again: its identity was made with it, and a cloud takes minutes to tell all
    of its own servers of a right."""
    while (why := refusal(url)) and REFUSED.search(why) and uptime() < YOUNG_SECONDS:
        time.sleep(5)
    return why


def uptime():
    with open("/proc/uptime") as f:
        return float(f.read().split()[0])


def on(target):
    """What is mounted there: type and options, the visible one last."""
    with open("/proc/self/mountinfo") as f:
        rows = [line.split() for line in f]
    return [(row[row.index("-") + 1], row[5].split(",")) for row in rows if row[4] == target]


def clear(target):
    """Takes away what is mounted there: a rclone that was killed has left an end that nobody serves."""
    for _ in on(target):
        subprocess.run(["umount", "--lazy", target], capture_output=True, check=False)


def answers(target):
    """Whether the file system there says what it is. One that hangs keeps who asks, so that is another process."""
    asks = subprocess.Popen(["stat", "--file-system", target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return asks.wait(ANSWER_SECONDS) == 0
    except subprocess.TimeoutExpired:
        asks.kill()
        return False


def unit_of(index):
    return f"trainrig-mount@{index}.service"


def wrong(index):
    """Why the mount is of no use to a job; empty when nothing is wrong."""
    target = os.path.join(MOUNTS, index)
    if subprocess.run(["systemctl", "is-active", "--quiet", unit_of(index)], check=False).returncode:
        return f"{unit_of(index)} does not run"
    found = on(target)
    if not found or found[-1][0] != "fuse.rclone":
        return f"something else lies over {target}" if found else f"nothing is mounted at {target}"
    return "" if answers(target) else f"rclone does not answer at {target}"


def mounts():
    served = [m for m in settings()["mounts"] if m["mode"] != "COPY"]
    print(json.dumps({m["source"]: wrong(str(m["index"])) for m in served}))


def up(index, *words):
    unit = unit_of(index)
    source = mount_of(index)["source"]
    if not wrong(index):
        return
    print(f"mount {source}")
    if "--check" in words:
        return
    subprocess.run(["systemctl", "enable", "--quiet", unit], check=True)
    subprocess.run(["systemctl", "stop", unit], capture_output=True, check=False)
    if subprocess.run(["systemctl", "start", unit], capture_output=True, check=False).returncode:
        log = ["journalctl", f"--unit={unit}", "--lines=20", "--output=json", "--no-pager"]
        said = subprocess.run(log, capture_output=True, text=True, check=False).stdout.splitlines()
        own = [e["MESSAGE"] for e in map(json.loads, said) if e.get("SYSLOG_IDENTIFIER") != "systemd"]
        subprocess.run(["systemctl", "stop", unit], check=False)
        raise SystemExit(f"{source}: {own[-1] if own else 'it did not start'}")


def mount(index):
    if not os.access(FUSE, os.R_OK | os.W_OK):
        raise SystemExit(f"this node has no {FUSE}, and a mount needs it: write `mode: COPY`")
    here = mount_of(index)
    target = os.path.join(MOUNTS, index)
    found = run("lsf", "--max-depth=1", remote(here["source"]))
    if found.returncode:
        raise SystemExit(complaint(found))
    clear(target)
    if os.path.lexists(target) and not os.path.isdir(target):
        os.replace(target, target + ".trainrig-aside")
    os.makedirs(target, exist_ok=True)
    words = ["mount", remote(here["source"]), target, "--allow-other", "--umask=0", "--dir-cache-time=30s"]
    words.append(f"--vfs-cache-max-size={settings()['cache_max']}")
    # MOUNT_CACHED keeps what is read, too. What is written is sent some seconds after it was closed, see flush, and
    # never at once: a file that is renamed while rclone sends it can stay under its old name, and save-then-rename is
    # how checkpoints are written.
    words.append("--vfs-cache-mode=full" if here["mode"] == "MOUNT_CACHED" else "--vfs-cache-mode=writes")
    if here.get("read_only"):
        words.append("--read-only")
    # What is written is cached first: without this, a write that the store refuses would be lost without a word.
    elif why := refusal_in_time(here["source"]):
        print(f"read-only, this node may not write to {here['source']}: {why}", flush=True)
        words.append("--read-only")
    command = rclone(*words, f"--cache-dir={CACHE}")
    os.execv(command[0], command)


def waiting():
    """What was written to mounts and is in no bucket yet, from the records that rclone keeps of its cache."""
    found = []
    for folder, _, names in os.walk(os.path.join(CACHE, "vfsMeta")):
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path) as f:
                    dirty = json.load(f).get("Dirty")
            except (OSError, ValueError):
                continue  # written or removed at this moment: the next look will tell
            if dirty:
                store, _, rest = os.path.relpath(path, os.path.join(CACHE, "vfsMeta")).partition("/")
                found.append(f"{store}://{rest}")
    return sorted(found)


def flush(seconds):
    deadline = time.monotonic() + float(seconds)
    while left := waiting():
        if time.monotonic() > deadline:
            told = trouble(left)
            raise SystemExit(f"not in the bucket yet: {len(left)} files, {left[0]}{told and '; rclone: '}{told}")
        time.sleep(0.5)


def trouble(left):
    """What a mount complained of last of these files, or of its store; empty: nothing, in the last minutes."""
    log = ["journalctl", "--unit=trainrig-mount@*", "--since=-10min", "--output=cat", "--no-pager"]
    lines = subprocess.run(log, capture_output=True, text=True, errors="replace", check=False).stdout.splitlines()
    for words in (tidied(line.split("ERROR :", 1)[1]) for line in reversed(lines) if "ERROR :" in line):
        name = words.partition(":")[0].strip()
        if not name or any(path.endswith("/" + name) for path in left):
            return words
    return ""


def check(url):
    if why := refusal_in_time(url):
        raise SystemExit(why)


def main(words):
    if os.path.exists(SECRETS):
        with open(SECRETS) as f:
            os.environ.update(json.load(f))
    {"copy": copy, "up": up, "mount": mount, "mounts": mounts, "flush": flush, "check": check}[words[0]](*words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
