"""The node's way to buckets: rclone, by the node's own identity or the job's variables."""

import json
import re
import subprocess
import urllib.parse

SETTINGS = "/etc/trainrig/data.json"
AZURE = ".blob.core.windows.net"


def settings():
    with open(SETTINGS) as f:
        return json.load(f)


def rclone(*words):
    return [settings()["rclone"], "--config=/etc/trainrig/rclone.conf", *words]


def run(*words, **options):
    return subprocess.run(rclone(*words), capture_output=True, text=True, check=False, **options)


def complaint(done):
    """The last of rclone's messages in one line; each begins with its time, and S3's have several lines."""
    last = re.split(r"^\d{4}/\d\d/\d\d [0-9:]+ ", done.stderr.strip(), flags=re.MULTILINE)[-1]
    return tidied(last) or f"rclone exited with {done.returncode}"


def tidied(words):
    return re.sub(r",? *request id: .*", "", " ".join(words.split()))


def remote(source):
    """s3://bucket/prefix -> s3:bucket/prefix; az://account/container/prefix, and Azure's https form of it."""
    parts = urllib.parse.urlsplit(source)
    if parts.netloc.endswith(AZURE) or parts.scheme == "az":
        return "az,account={}:{}".format(parts.netloc.partition(".")[0], parts.path.strip("/"))
    return f"{parts.scheme}:{parts.netloc}{parts.path}".rstrip("/")
