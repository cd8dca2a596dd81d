"""A stand-in for NVIDIA's apt repositories: tiny signed packages with real names and version numbers.

The driver package brings an `nvidia-smi` that says in its output that it is a stand-in. It answers for the version of
its own package, and for the GPUs that the file /etc/standin-gpus describes: "COUNT NAME [lost|mismatch|ecc]".
It proves what the roles do with apt. It proves nothing about a GPU.
"""

from __future__ import annotations

import hashlib
import http.server
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.web import serving

NVIDIA_SMI = r"""#!/bin/sh
# stand-in for nvidia-smi, from the dummy driver package @VERSION@
if ! [ -r /etc/standin-gpus ]; then
  echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." >&2
  exit 9
fi
read -r count name mode </etc/standin-gpus
case "$mode" in
  lost) echo "Unable to determine the device handle for GPU0000:00:1E.0: GPU is lost." >&2; exit 15 ;;
  mismatch) echo "Failed to initialize NVML: Driver/library version mismatch" >&2; exit 18 ;;
esac
answer() {
  i=0
  while [ "$i" -lt "$count" ]; do
    echo "$1" | sed "s/@I@/$i/g; s/@N@/$name/g"
    i=$((i + 1))
  done
}
case "$*" in
  *query-gpu=driver_version,name*) answer "@DRIVER@, @N@" ;;
  *query-gpu=driver_version*) answer "@DRIVER@" ;;
  *query-gpu=index,name*) answer "@I@, @N@, @DRIVER@, 81559, $([ "$mode" = ecc ] && echo 3 || echo 0)" ;;
  *query-gpu=*) echo "the stand-in does not know: $*" >&2; exit 2 ;;
  *) echo "NVIDIA-SMI (stand-in)   Driver Version: @DRIVER@   CUDA Version: 12.8" ;;
esac
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    name: str
    version: str
    depends: str = ""
    conflicts: str = ""
    files: tuple[tuple[str, str], ...] = ()  # path, text


def driver(version: str) -> list[Package]:
    """Both packages of one driver version, as Ubuntu and Debian name them."""
    branch, revision = version.split(".", maxsplit=1)[0], f"{version}-1"
    smi = NVIDIA_SMI.replace("@VERSION@", revision).replace("@DRIVER@", version)
    files = (("/usr/bin/nvidia-smi", smi),)
    return [
        Package(name="libcuda1", version=revision),
        Package(name="nvidia-kernel-open-dkms", version=revision),
        Package(name="nvidia-driver-cuda", version=revision, depends=f"libcuda1 (= {revision})", files=files),
        Package(name=f"nvidia-fabricmanager-{branch}", version=revision),
    ]


NVIDIA_CTK = """#!/bin/sh
case "$*" in
  "cdi generate --output="*)
    mkdir -p /etc/cdi
    echo "# libcuda.so.$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)" > "${3#--output=}" ;;
  *) echo "stand-in for NVIDIA Container Toolkit CLI version @VERSION@" ;;
esac
"""


def toolkit(version: str) -> list[Package]:
    ctk = NVIDIA_CTK.replace("@VERSION@", version)
    own = [("nvidia-container-toolkit", (("/usr/bin/nvidia-ctk", ctk),))]
    names = [
        *own,
        *((n, ()) for n in ("nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")),
    ]
    return [Package(name=name, version=version, files=files) for name, files in names]


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    root: Path
    fingerprint: str


def build(root: Path, packages: Sequence[Package]) -> Repository:
    """A flat repository under `root`, with `key.asc` and an InRelease signed by a key made for it."""
    root.mkdir(parents=True, exist_ok=True)
    index = "\n".join(_deb(root, package) for package in packages)
    (root / "Packages").write_text(index)
    digest = hashlib.sha256(index.encode()).hexdigest()
    (root / "Release").write_text(
        f"Origin: trainrig tests\nSuite: ./\nSHA256:\n {digest} {len(index.encode())} Packages\n"
    )
    home = root.parent / f"{root.name}-gnupg"
    home.mkdir(mode=0o700, exist_ok=True)
    env = {**os.environ, "GNUPGHOME": str(home)}

    def gpg(*words: str) -> str:
        command = ["gpg", "--batch", "--yes", "--quiet", "--passphrase", "", *words]
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout

    try:
        gpg("--quick-gen-key", f"trainrig tests {root.name}", "ed25519", "sign", "1y")
        gpg("--armor", "--output", str(root / "key.asc"), "--export")
        gpg("--clearsign", "--output", str(root / "InRelease"), str(root / "Release"))
        listing = gpg("--list-keys", "--with-colons")
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=env, check=False)
    fingerprint = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
    return Repository(root=root, fingerprint=fingerprint)


def _deb(root: Path, package: Package) -> str:
    tree = root.parent / "build" / f"{package.name}-{package.version}"
    control = {
        "Package": package.name,
        "Version": package.version,
        "Architecture": "all",
        "Maintainer": "trainrig tests <tests@example.invalid>",
        "Depends": package.depends,
        "Conflicts": package.conflicts,
        "Description": "dummy package for tests",
    }
    text = "".join(f"{k}: {v}\n" for k, v in control.items() if v)
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(text)
    for path, content in package.files:
        file = tree / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o755)
    deb = root / f"{package.name}_{package.version}_all.deb"
    subprocess.run(
        ["dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, deb], check=True, stdout=subprocess.DEVNULL
    )
    data = deb.read_bytes()
    return f"{text}Filename: ./{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"


@contextmanager
def served(root: Path, address: str) -> Iterator[str]:
    """The folder over HTTP at an address that nodes reach; yields its URL."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, directory=str(root), **kwargs)  # type: ignore[arg-type]

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Silent."""

    with serving(http.server.ThreadingHTTPServer((address, 0), Handler)) as url:
        yield url
