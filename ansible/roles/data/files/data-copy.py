#!/usr/bin/python3
"""data-copy INDEX: copies a mount's source to its place, once. Prints what it copied; nothing when all was there.

data-copy --remote INDEX   prints the source as rclone names it
data-copy --cache INDEX    prints how rclone should cache writes
"""

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request

SETTINGS = "/etc/trainrig/data.json"
MOUNTS = "/srv/trainrig/mounts"
RCLONE = ["/usr/local/bin/rclone", "--config=/etc/trainrig/rclone.conf"]
HUB = os.environ.get("HF_ENDPOINT", "https://huggingface.co")


def remote(source):
    """s3://bucket/prefix -> s3:bucket/prefix; Azure's https form -> az:container/prefix."""
    parts = urllib.parse.urlsplit(source)
    if parts.scheme == "https" and parts.netloc.endswith(".blob.core.windows.net"):
        return ":azureblob,use_msi=true,account={}:{}".format(parts.netloc.split(".")[0], parts.path.strip("/"))
    return f"{parts.scheme}:{parts.netloc}{parts.path}".rstrip("/")


def by_rclone(source, target):
    here = remote(source)
    # A prefix is a directory; a single object is copied onto the path itself.
    names = subprocess.run([*RCLONE, "lsf", "--max-depth=1", here], capture_output=True, text=True, check=False)
    single = names.returncode == 0 and names.stdout.strip() == os.path.basename(here)
    verb = "copyto" if single else "copy"
    command = [*RCLONE, verb, "--checksum", "--transfers=16", "--fast-list", "--stats-one-line", "-v", here, target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{source}: {done.stderr.strip().splitlines()[-1]}")
    return sum(": Copied" in line for line in done.stderr.splitlines())


def download(url, path):
    """A file over HTTPS, whole or not at all; False when it is there in that size."""
    token = os.environ.get("HF_TOKEN")
    request = urllib.request.Request(url)
    if token and url.startswith(HUB):
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=60) as answer:
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
    path = source.removeprefix("hf://").strip("/")
    kind = "models"
    if path.split("/")[0] in ("datasets", "models"):
        kind, _, path = path.partition("/")
    name, _, revision = path.partition("@")
    prefix = "datasets/" if kind == "datasets" else ""
    listing = f"{HUB}/api/{kind}/{name}/tree/{revision or 'main'}?recursive=true"
    with urllib.request.urlopen(listing, timeout=60) as answer:
        files = [entry["path"] for entry in json.load(answer) if entry["type"] == "file"]
    base = f"{HUB}/{prefix}{name}/resolve/{revision or 'main'}/"
    return sum(download(base + urllib.parse.quote(f), os.path.join(target, f)) for f in files)


def main(words):
    with open(SETTINGS) as f:
        mount = next(m for m in json.load(f) if m["index"] == int(words[-1]))
    source, target = mount["source"], os.path.join(MOUNTS, words[-1])
    if "--remote" in words:
        print(remote(source))
    elif "--cache" in words:
        print("full" if mount["mode"] == "MOUNT_CACHED" else "writes")
    else:
        if source.startswith("hf://"):
            count = by_hub(source, target)
        elif source.startswith("https://") and ".blob.core.windows.net/" not in source:
            count = int(download(source, target))
        else:
            count = by_rclone(source, target)
        if count:
            print(f"{count} files of {source}")


if __name__ == "__main__":
    main(sys.argv[1:])
