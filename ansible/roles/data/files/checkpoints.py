#!/usr/bin/python3
"""checkpoints VERB ...: moves a job's checkpoints between this node and a bucket, where files lie under their sha256.

checkpoints list FOLDER       prints {path: entry} of what is in it
checkpoints send FOLDER URL   puts files at URL/SHA256
checkpoints fetch FOLDER URL  makes the folder hold the files and nothing else; prints the paths of which the bucket has
                              no content, or another

What to send or fetch is in stdin: {"files": {path: entry}, "env": {...}}. An entry is {"sha256", "size", "modified_ns"}
of a file or {"link"} of a symbolic link; `env` has the job's own keys, which are given anew each time, since those on
the node go with the job and its last checkpoint is sent after it. Exits with 3 when the bucket does not do its part.
Whether the job writes into a file meanwhile is for the caller to see.
"""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from buckets import complaint, remote, run

STORE_FAILED = 3
SUMS = "/run/trainrig/checkpoint-sums.json"
LOCK = "/run/trainrig/checkpoints.lock"
FLOCK = "hhqqi"  # C's `struct flock`; the last is the process that holds it
# A file that is younger may change again without another time: its sum is not kept.
SETTLED_NS = 2 * 10**9
# One that is smaller is copied for each snapshot, so its inode is another's next time; and it is read in no time.
KEPT_BYTES = 64 << 10
BLOCK = 1 << 20
# Whoever asked tries again, and may have less time than rclone's own patience.
QUICK = ("--retries=1", "--low-level-retries=3")
TRANSFERS = 8


def walk(folder, below=""):
    """(relative path, its lstat) of every file and symbolic link."""
    with os.scandir(folder) as found:
        for item in sorted(found, key=lambda i: i.name):
            path = below + item.name
            if item.is_symlink() or item.is_file(follow_symlinks=False):
                yield path, item.stat(follow_symlinks=False)
            elif item.is_dir(follow_symlinks=False):
                yield from walk(item.path, path + "/")


def entries(folder):
    """What is in a folder; files that have not changed since they were last read are not read again."""
    known = kept_sums()
    new = {}

    def entry(found):
        path, status = found
        full = os.path.join(folder, path)
        if os.path.islink(full):
            return path, {"link": os.readlink(full)}
        key = f"{status.st_dev}:{status.st_ino}"
        stamp = [status.st_size, status.st_mtime_ns]
        digest = known[key][2] if known.get(key, [])[:2] == stamp else digest_of(full)
        made = {"sha256": digest, "size": status.st_size, "modified_ns": status.st_mtime_ns}
        if status.st_size > KEPT_BYTES and time.time_ns() - status.st_mtime_ns > SETTLED_NS:
            new[key] = [*stamp, digest]
        return path, made

    with ThreadPoolExecutor(max_workers=TRANSFERS) as pool:
        found = dict(pool.map(entry, list(walk(folder))))
    keep_sums(new)
    return found


def kept_sums():
    try:
        with open(SUMS) as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def keep_sums(sums):
    os.makedirs(os.path.dirname(SUMS), exist_ok=True)
    new = f"{SUMS}.{os.getpid()}"
    with open(new, "w") as f:
        json.dump(sums, f)
    os.replace(new, SUMS)


def digest_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def list_files(folder):
    print(json.dumps(entries(folder)))


@contextmanager
def alone():
    """Ends the one before this, which goes on when its caller is killed, and would write into the same folders."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # rclone is to end with it
    os.makedirs(os.path.dirname(LOCK), exist_ok=True)
    with open(LOCK, "w") as lock:
        while not held(lock):
            end_holder(lock)
            time.sleep(0.05)
        yield


def held(lock):
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def end_holder(lock):
    wanted = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, *_, holder = struct.unpack(FLOCK, fcntl.fcntl(lock, fcntl.F_GETLK, wanted))
    if kind != fcntl.F_UNLCK:
        with suppress(ProcessLookupError):
            os.killpg(holder, signal.SIGKILL)


def asked():
    document = json.load(sys.stdin)
    os.environ.update(document["env"])
    return document["files"]


def send(folder, url):
    files = asked()
    named = f"{folder}.sent"
    shutil.rmtree(named, ignore_errors=True)
    os.mkdir(named)
    try:
        for digest, path in {entry["sha256"]: path for path, entry in files.items()}.items():
            os.link(os.path.join(folder, path), os.path.join(named, digest))
        # Nothing there is asked for first, which would take the right to list: what lies under a sum is that or torn.
        done = run("copy", *QUICK, "--no-check-dest", f"--transfers={TRANSFERS}", named, remote(url))
    finally:
        shutil.rmtree(named, ignore_errors=True)
    if done.returncode:
        give_up(complaint(done))


def fetch(folder, url):
    wanted = asked()
    files = {path: entry for path, entry in wanted.items() if "link" not in entry}
    os.umask(0)  # the image decides which user the job runs as
    there = keep_only(folder, files)
    missing = {}
    for path, entry in files.items():
        if path not in there:
            missing.setdefault(entry["sha256"], []).append(path)
    incoming = f"{folder}.incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    try:
        if missing:
            download(sorted(missing), url, incoming)
        wrong = [path for digest, paths in missing.items() for path in place(folder, incoming, digest, paths)]
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
    for path in files.keys() - wrong:
        full = os.path.join(folder, path)
        os.chmod(full, 0o666)
        if (modified := files[path].get("modified_ns")) is not None:
            os.utime(full, ns=(modified, modified))
    # After the files: nothing is ever written through a link.
    for path in wanted.keys() - files.keys():
        os.symlink(wanted[path]["link"], made_room(folder, path))
    print(json.dumps(sorted(wrong)))


def keep_only(folder, files):
    """The paths of the files that are there already, which is so where a job failed and its node did not; all else
    goes."""
    there = set()
    for path, entry in entries(folder).items():
        if path in files and entry.get("sha256") == files[path]["sha256"]:
            there.add(path)
        else:
            os.unlink(os.path.join(folder, path))
    for parent, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            if not os.listdir(full := os.path.join(parent, name)):
                os.rmdir(full)
    return there


def download(digests, url, incoming):
    done = run(
        "copy", *QUICK, "--files-from-raw=-", "--no-traverse", f"--transfers={TRANSFERS}", remote(url), incoming,
        input="\n".join(digests),
    )  # fmt: skip
    if done.returncode:
        give_up(complaint(done))


def place(folder, incoming, digest, paths):
    """Brings a file to all of its paths; returns these when it is missing or another."""
    source = os.path.join(incoming, digest)
    if not os.path.exists(source) or digest_of(source) != digest:
        return paths
    for path in paths[1:]:
        shutil.copyfile(source, made_room(folder, path))
    os.replace(source, made_room(folder, paths[0]))
    return []


def made_room(folder, path):
    full = os.path.join(folder, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    return full


def give_up(why):
    print(why, file=sys.stderr)
    sys.exit(STORE_FAILED)


if __name__ == "__main__":
    if sys.argv[1] == "list":
        list_files(*sys.argv[2:])
    else:
        with alone():
            {"send": send, "fetch": fetch}[sys.argv[1]](*sys.argv[2:])
