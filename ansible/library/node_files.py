#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lays down all files of a role in one call, and remembers what the role owns on the node."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import stat

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: node_files
short_description: All files, directories and links of a role in one call
description:
  - A module call costs half a second on a node, so a role lays its files down with one.
  - What the role owns (files, packages, units) is kept in a manifest. The manifest is what C(node-state) looks at, and
    files that an older version of the role owned are removed by it.
options:
  role: {description: Name of the manifest., type: str, required: true}
  files:
    description: What to lay down. C(content) makes a file, C(link) a symbolic link, neither a directory.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {description: Absolute path., type: path, required: true}
      content: {description: The whole text., type: str}
      link: {description: Target of a symbolic link., type: str}
      mode: {description: Octal, type: str}
  packages: {description: Packages the role answers for., type: list, elements: str, default: []}
  units: {description: Units that must be active., type: list, elements: str, default: []}
  manifests: {description: Directory of the manifests., type: path, default: /var/lib/trainrig/manifests}
author: trainrig
"""

EXAMPLES = r"""
- name: Lay down the files of the role
  node_files:
    role: example
    files:
      - {path: /etc/example.conf, content: "a = 1\n"}
      - {path: /etc/systemd/system/apt-daily.timer, link: /dev/null}
      - {path: /srv/example, mode: "0777"}
"""

RETURN = r"""
paths: {description: What changed., type: list, returned: always}
"""


def lay(entry, check):
    """`laid`, and a complaint that always names the path."""
    try:
        return laid(entry, check)
    except OSError as error:
        raise OSError(error.errno, error.strerror, entry["path"]) from error


def laid(entry, check):
    """Brings one path into its state; returns whether that changed (or, with check, would change) anything."""
    path, content, link = entry["path"], entry.get("content"), entry.get("link")
    mode = int(entry.get("mode") or ("0755" if content is None else "0644"), 8)
    if link is not None:
        right = os.path.islink(path) and os.readlink(path) == link
        if not right and not check:
            prepare(path)
            temporary = path + ".trainrig-new"
            if os.path.lexists(temporary):
                os.unlink(temporary)
            os.symlink(link, temporary)
            os.replace(temporary, path)
        return not right
    if content is None:
        right = os.path.isdir(path) and not os.path.islink(path) and mode_of(path) == mode
        if not right and not check:
            if os.path.islink(path):
                move_aside(path)
            folder(path)
            os.chmod(path, mode)
        return not right
    data = content.encode()
    right = os.path.isfile(path) and not os.path.islink(path) and is_ours(path) and mode_of(path) == mode
    right = right and read(path) == data
    if not right and not check:
        prepare(path)
        temporary = path + ".trainrig-new"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as f:
            f.write(data)
            os.fchmod(f.fileno(), mode)
        os.replace(temporary, path)
    return not right


def prepare(path):
    """Makes way for a file or a link."""
    folder(os.path.dirname(path))
    if os.path.isdir(path) and not os.path.islink(path):
        move_aside(path)


def folder(path):
    """Makes the directory and those above it; what is in the place of one and is none makes way."""
    if os.path.isdir(path):
        return
    folder(os.path.dirname(path))
    if os.path.lexists(path):
        move_aside(path)
    os.mkdir(path)


def move_aside(path):
    aside = path + ".trainrig-aside"
    if os.path.isdir(aside) and not os.path.islink(aside):
        shutil.rmtree(aside)
    elif os.path.lexists(aside):
        os.unlink(aside)
    os.rename(path, aside)


def is_ours(path):
    """Whether nobody else may write it because it belongs to them."""
    return os.stat(path).st_uid == os.geteuid()


def dropped_in(path):
    """What somebody has laid beside a unit of ours, which would be another one with it."""
    ours = path.endswith(".service") and os.path.basename(path).startswith("trainrig-")
    return sorted(glob.glob(glob.escape(path) + ".d/*.conf")) if ours else []


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def owned(manifest):
    """Files that the last run laid down; none when there was no run, or its record is torn."""
    try:
        return json.loads(read(manifest))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def main():
    suboptions = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str"},
        "link": {"type": "str"},
        "mode": {"type": "str"},
    }
    module = AnsibleModule(
        argument_spec={
            "role": {"type": "str", "required": True},
            "files": {"type": "list", "elements": "dict", "default": [], "options": suboptions},
            "packages": {"type": "list", "elements": "str", "default": []},
            "units": {"type": "list", "elements": "str", "default": []},
            "manifests": {"type": "path", "default": "/var/lib/trainrig/manifests"},
        },
        supports_check_mode=True,
    )
    os.umask(0o022)  # that of a login may keep the directories from everybody else
    wanted, check = module.params, module.check_mode
    manifest = os.path.join(wanted["manifests"], wanted["role"] + ".json")
    try:
        changed = [entry["path"] for entry in wanted["files"] if lay(entry, check)]
        paths = {entry["path"] for entry in wanted["files"]}
        stale = [p for p in sorted(owned(manifest)) if p not in paths and os.path.lexists(p) and not os.path.isdir(p)]
        stale += [p for path in sorted(paths) for p in dropped_in(path)]
        for path in stale if not check else []:
            os.unlink(path)
        record = {
            "files": {
                e["path"]: "" if e.get("content") is None else hashlib.sha256(e["content"].encode()).hexdigest()
                for e in wanted["files"]
            },
            "packages": sorted(wanted["packages"]),
            "units": sorted(wanted["units"]),
        }
        text = json.dumps(record, indent=1, sort_keys=True) + "\n"
        if lay({"path": manifest, "content": text}, check):
            changed.append(manifest)
    except OSError as error:
        module.fail_json(msg="{}: {}".format(error.filename or wanted["role"], error.strerror or error))
    changed += stale
    module.exit_json(changed=bool(changed), paths=changed, diff={"prepared": "".join(p + "\n" for p in changed)})


if __name__ == "__main__":
    main()
