#!/usr/bin/python3
"""node-state: what the roles own on this node, as it is now, as one digest.

node-state          prints the digest and, when it is the one recorded, the record's inputs
node-state INPUTS   records the digest as that of a node converged from INPUTS (roles and variables)
node-state --list   prints what the digest is made of
"""

import glob
import hashlib
import json
import os
import subprocess
import sys

MANIFESTS = "/var/lib/trainrig/manifests"
RECORD = "/var/lib/trainrig/converged.json"


def path_state(path):
    try:
        status = os.lstat(path)
        if os.path.islink(path):
            return "link " + os.readlink(path)
        if os.path.isdir(path):
            return oct(status.st_mode)
        dropped_in = glob.glob(glob.escape(path) + ".d/*.conf") if path.endswith(".service") else []
        with open(path, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        return " ".join([f"{status.st_mode:o}", str(status.st_uid), digest, *sorted(dropped_in)])
    except OSError as error:
        return error.strerror


def lines_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.splitlines()


def state():
    out, packages, units = [], set(), set()
    for name in sorted(glob.glob(MANIFESTS + "/*.json")):
        out.append(f"{name} {path_state(name)}")
        try:
            with open(name) as f:
                manifest = json.load(f)
            out += [f"{path} {path_state(path)}" for path in sorted(manifest["files"])]
            packages |= set(manifest["packages"])
            units |= set(manifest["units"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # torn, or not ours: a role that runs here writes its own anew
    # Want, status, version: a package that was upgraded, removed or released from its hold shows here.
    form = "-f=${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n"
    out += sorted(lines_of("dpkg-query", "-W", form, *sorted(packages), "linux-image-*"))
    if units:
        ordered = sorted(units)
        for question in ("is-active", "is-enabled"):
            out += [question, *ordered, *lines_of("systemctl", question, *ordered)]
    out.append(path_state("/proc/driver/nvidia/version"))
    return out


def main(words):
    found = state()
    digest = hashlib.sha256("\n".join(found).encode()).hexdigest()
    if words == ["--list"]:
        print("\n".join(found))
    elif words:
        with open(RECORD + ".new", "w") as f:
            json.dump({"state": digest, "inputs": words[0]}, f)
        os.replace(RECORD + ".new", RECORD)
    else:
        try:
            with open(RECORD) as f:
                record = json.load(f)
        except (OSError, ValueError):
            record = {}
        print(json.dumps({"state": digest, "inputs": record.get("inputs") if record.get("state") == digest else None}))


if __name__ == "__main__":
    main(sys.argv[1:])
