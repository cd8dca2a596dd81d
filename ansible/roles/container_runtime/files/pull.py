#!/usr/bin/python3
"""pull IMAGE: has Docker pull an image, logged in to its registry for as long as that takes.

A login of the job comes as JSON on stdin: {"server", "user", "password"}. Without one, the node's own identity gets a
short-lived one from the registries of its cloud: ECR, Artifact Registry, Azure's container registry. Neither is on a
command line or on a disk.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

RUN = "/run/trainrig"
METADATA = "http://169.254.169.254"
GOOGLE = "http://metadata.google.internal"
HUB = "https://index.docker.io/v1/"
ECR = re.compile(r"[0-9]{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
REFUSED = re.compile(r"denied|unauthorized|forbidden|no basic auth|\b40[13]\b", re.IGNORECASE)
YOUNG_SECONDS = 300  # since the node booted
AZURE_USER = "00000000-0000-0000-0000-000000000000"  # what a refresh token of the registry logs in as


def ask(url, headers=None, data=None, method=None, seconds=3):
    """The answer's text. Raises OSError."""
    request = urllib.request.Request(url, data=data, headers=headers or {}, method=method)
    # A proxy that a user set for downloads knows nothing of this node.
    direct = [urllib.request.ProxyHandler({})] if url.startswith((METADATA, GOOGLE)) else []
    with urllib.request.build_opener(*direct).open(request, timeout=seconds) as answer:
        return answer.read().decode()


def ecr(server, region, endpoint=None, metadata=METADATA):
    """AWS: the instance's role asks ECR for a password of twelve hours."""
    token = ask(metadata + "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, method="PUT")
    held = {"X-aws-ec2-metadata-token": token}
    roles = metadata + "/latest/meta-data/iam/security-credentials/"
    keys = json.loads(ask(roles + ask(roles, held).split()[0], held))
    host = f"api.ecr.{region}.amazonaws.com" + (".cn" if server.endswith(".cn") else "")
    headers = signed(host, region, keys, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    answer = json.loads(ask(endpoint or f"https://{host}/", headers, data=b"{}", seconds=30))
    login = base64.b64decode(answer["authorizationData"][0]["authorizationToken"]).decode()
    user, _, password = login.partition(":")
    return user, password


def signed(host, region, keys, stamp):
    """Headers of a call of GetAuthorizationToken at `stamp`, signed as AWS asks for (Signature Version 4)."""
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": host,
        "x-amz-date": stamp,
        "x-amz-security-token": keys["Token"],
        "x-amz-target": "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
    }
    names = ";".join(sorted(headers))
    listed = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = "\n".join(["POST", "/", "", listed, names, hashlib.sha256(b"{}").hexdigest()])
    scope = f"{stamp[:8]}/{region}/ecr/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + keys["SecretAccessKey"]).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"AWS4-HMAC-SHA256 Credential={keys['AccessKeyId']}/{scope}"
    return {**headers, "authorization": f"{credential}, SignedHeaders={names}, Signature={signature}"}


def artifact_registry(metadata=GOOGLE):
    """Google: the service account's token is the password."""
    url = metadata + "/computeMetadata/v1/instance/service-accounts/default/token"
    return "oauth2accesstoken", json.loads(ask(url, {"Metadata-Flavor": "Google"}))["access_token"]


def azure(server, metadata=METADATA, endpoint=None):
    """Azure: the managed identity's token is changed into one of the registry."""
    resource = urllib.parse.urlencode({"api-version": "2018-02-01", "resource": "https://management.azure.com/"})
    url = f"{metadata}/metadata/identity/oauth2/token?{resource}"
    token = json.loads(ask(url, {"Metadata": "true"}))["access_token"]
    form = urllib.parse.urlencode({"grant_type": "access_token", "service": server, "access_token": token})
    exchange = (endpoint or f"https://{server}") + "/oauth2/exchange"
    return AZURE_USER, json.loads(ask(exchange, data=form.encode(), seconds=30))["refresh_token"]


def registry_of(image):
    """docker.io for a name without a server, as Docker reads it."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"


def own_login(server):
    """The login that the node's identity gives; None where the registry belongs to no cloud."""
    if found := ECR.fullmatch(server):
        return ecr(server, found[1])
    if is_google(server):
        return artifact_registry()
    if is_azure(server):
        return azure(server)
    return None


def is_google(server):
    return server == "gcr.io" or server.endswith(("-docker.pkg.dev", ".gcr.io"))


def is_azure(server):
    return server.endswith(".azurecr.io")


def is_clouds(server):
    return bool(ECR.fullmatch(server)) or is_google(server) or is_azure(server)


def login_of(image, given):
    """(server, user, password) or None; and why the node's identity gave none."""
    if given:
        return (given["server"], given["user"], given["password"]), ""
    server = registry_of(image)
    try:
        own = own_login(server)
    except (OSError, ValueError, LookupError) as error:
        # It may be open to all, or the node may have no identity: Docker's answer decides.
        return None, f"; the node's own identity gives no login there: {error}"
    return own and (server, *own), ""


def main(image):
    text = "" if sys.stdin.isatty() else sys.stdin.read()
    given = json.loads(text) if text.strip() else None
    while complaint := pull(image, given):
        # The node's identity was made with it, and a cloud takes minutes to tell all of its own servers of a right.
        if given or not REFUSED.search(complaint) or not is_clouds(registry_of(image)) or uptime() >= YOUNG_SECONDS:
            raise SystemExit(complaint)
        time.sleep(10)


def uptime():
    with open("/proc/uptime") as f:
        return float(f.read().split()[0])


def pull(image, given):
    """What went wrong, in words; empty: the node has the image."""
    login, why = login_of(image, given)
    os.makedirs(RUN, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="docker-", dir=RUN)  # tmpfs, and root's alone
    try:
        if login:
            server, user, password = login
            auth = base64.b64encode(f"{user}:{password}".encode()).decode()
            with open(os.path.join(folder, "config.json"), "w") as f:
                json.dump({"auths": {HUB if server == "docker.io" else server: {"auth": auth}}}, f)
        command = ["docker", "--config", folder, "pull", "--quiet", image]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        shutil.rmtree(folder)
    return (done.stderr.strip() or f"docker pull exited with {done.returncode}") + why if done.returncode else ""


if __name__ == "__main__":
    main(sys.argv[1])
