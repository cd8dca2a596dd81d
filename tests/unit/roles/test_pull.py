"""The node's program that pulls an image, against stand-ins for the metadata services and registries of the clouds."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from support.web import serving

FILE = Path(__file__).parents[3] / "ansible/roles/container_runtime/files/pull.py"
KEYS = {"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "wJalrXUtnFEMI/K7MDENG", "Token": "session"}


@pytest.fixture
def pull() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pull", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def answering(answers: dict[str, str], asked: list[tuple[str, dict[str, str], str]]) -> Iterator[str]:
    """A server that answers by method and path, and 404 otherwise."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            call = f"{self.command} {self.path}"
            asked.append((call, {k.lower(): v for k, v in self.headers.items()}, body))
            text = answers.get(call)
            self.send_response(404 if text is None else 200)
            self.end_headers()
            self.wfile.write((text or "").encode())

        do_GET = do_PUT = do_POST = _answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Silent."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


def test_the_signature_is_the_one_that_botocore_makes(pull: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    host = "api.ecr.eu-west-1.amazonaws.com"
    ours = pull.signed(host, "eu-west-1", KEYS, "20260102T030405Z")
    plain = {k: ours[k] for k in ("content-type", "x-amz-target")}
    request = botocore.awsrequest.AWSRequest(method="POST", url=f"https://{host}/", headers=plain, data=b"{}")
    keys = botocore.credentials.Credentials(KEYS["AccessKeyId"], KEYS["SecretAccessKey"], KEYS["Token"])
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: now.replace(tzinfo=None))
    botocore.auth.SigV4Auth(keys, "ecr", "eu-west-1").add_auth(request)
    assert ours["authorization"] == request.headers["Authorization"]


def test_the_role_of_an_instance_logs_in_to_ecr(pull: ModuleType) -> None:
    asked: list[tuple[str, dict[str, str], str]] = []
    token = base64.b64encode(b"AWS:pass:word").decode()
    roles = "/latest/meta-data/iam/security-credentials/"
    answers = {
        "PUT /latest/api/token": "imds",
        f"GET {roles}": "tr-role",
        f"GET {roles}tr-role": json.dumps(KEYS),
        "POST /": json.dumps({"authorizationData": [{"authorizationToken": token}]}),
    }
    with answering(answers, asked) as url:
        login = pull.ecr("123456789012.dkr.ecr.eu-west-1.amazonaws.com", "eu-west-1", endpoint=url, metadata=url)
    assert login == ("AWS", "pass:word")
    assert asked[1][1]["x-aws-ec2-metadata-token"] == "imds"


def test_a_service_account_logs_in_to_artifact_registry(pull: ModuleType) -> None:
    asked: list[tuple[str, dict[str, str], str]] = []
    path = "/computeMetadata/v1/instance/service-accounts/default/token"
    with answering({f"GET {path}": '{"access_token": "ya29"}'}, asked) as url:
        assert pull.artifact_registry(url) == ("oauth2accesstoken", "ya29")
    assert asked[0][1]["metadata-flavor"] == "Google"


def test_a_managed_identity_logs_in_to_a_registry_of_azure(pull: ModuleType) -> None:
    asked: list[tuple[str, dict[str, str], str]] = []
    query = "api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com%2F"
    answers = {
        f"GET /metadata/identity/oauth2/token?{query}": '{"access_token": "entra"}',
        "POST /oauth2/exchange": '{"refresh_token": "registry"}',
    }
    with answering(answers, asked) as url:
        assert pull.azure("team.azurecr.io", metadata=url, endpoint=url) == (pull.AZURE_USER, "registry")
    assert asked[1][2] == "grant_type=access_token&service=team.azurecr.io&access_token=entra"


@pytest.mark.parametrize(
    ("image", "server"),
    [
        ("python:3.12", "docker.io"),
        ("team/train@sha256:aa", "docker.io"),
        ("ghcr.io/team/train:1", "ghcr.io"),
        ("localhost/train", "localhost"),
        ("registry:5000/train", "registry:5000"),
    ],
)
def test_a_reference_names_its_registry_as_docker_reads_it(pull: ModuleType, image: str, server: str) -> None:
    assert pull.registry_of(image) == server


def test_only_the_registry_of_a_cloud_is_asked_with_the_nodes_identity(
    pull: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "ecr", lambda _server, region: ("AWS", region))
    monkeypatch.setattr(pull, "artifact_registry", lambda: ("google", "token"))
    monkeypatch.setattr(pull, "azure", lambda server: ("azure", server))
    assert pull.own_login("123456789012.dkr.ecr.us-gov-west-1.amazonaws.com") == ("AWS", "us-gov-west-1")
    assert pull.own_login("europe-west4-docker.pkg.dev") == ("google", "token")
    assert pull.own_login("eu.gcr.io") == ("google", "token")
    assert pull.own_login("team.azurecr.io") == ("azure", "team.azurecr.io")
    assert pull.own_login("evilgcr.io") is None
    assert pull.own_login("123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.example") is None
    assert pull.own_login("nvcr.io") is None


def pulled(tmp_path: Path, image: str, stdin: str, docker: str) -> subprocess.CompletedProcess[str]:
    """The program as it is, with a `docker` of ours, under a folder that stands for the node's tmpfs."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text(f"#!/bin/sh\n{docker}\n")
    (tmp_path / "bin" / "docker").chmod(0o755)
    program = tmp_path / "pull"
    program.write_text(FILE.read_text().replace('"/run/trainrig"', f'"{tmp_path}/run"'))
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, str(program), image], input=stdin, env=env, capture_output=True, text=True, check=False
    )


def test_a_login_lasts_for_the_pull_alone_and_is_on_no_command_line(tmp_path: Path) -> None:
    docker = f'echo "$*" > {tmp_path}/words; cp "$2/config.json" {tmp_path}/used; stat -c %a "$2" > {tmp_path}/mode'
    login = json.dumps({"server": "docker.io", "user": "ada", "password": "s3cret"})
    assert pulled(tmp_path, "team/train:1", login, docker).returncode == 0
    used = json.loads((tmp_path / "used").read_text())
    auth = base64.b64encode(b"ada:s3cret").decode()
    assert used == {"auths": {"https://index.docker.io/v1/": {"auth": auth}}}
    assert (tmp_path / "mode").read_text() == "700\n"
    assert "s3cret" not in (tmp_path / "words").read_text()
    assert list((tmp_path / "run").iterdir()) == []


def test_what_docker_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    done = pulled(tmp_path, "r.example/train:1", "", "echo 'dial tcp: connection refused' >&2; exit 1")
    assert (done.returncode, done.stderr) == (1, "dial tcp: connection refused\n")


def test_a_node_without_an_identity_tries_without_a_login_and_says_so(
    pull: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_server: str) -> tuple[str, str]:
        raise OSError("timed out")

    monkeypatch.setattr(pull, "azure", nobody)
    login, why = pull.login_of("team.azurecr.io/train:1", None)
    assert login is None
    assert why == "; the node's own identity gives no login there: timed out"


@pytest.mark.parametrize(
    ("image", "given", "complaint", "uptime", "asked"),
    [
        ("team.azurecr.io/train:1", "", "denied: requested access", 60, 2),
        ("team.azurecr.io/train:1", "", "denied: requested access", 300, 1),
        ("team.azurecr.io/train:1", "", "manifest unknown", 60, 1),
        ("123456789012.dkr.ecr.eu-west-1.amazonaws.com/a:1", "", "no basic auth credentials; HTTP Error 400", 60, 2),
        ("team.azurecr.io/train:1", '{"server": "x", "user": "u", "password": "p"}', "denied", 60, 1),
        ("ghcr.io/team/train:1", "", "denied", 60, 1),
    ],
)
def test_a_young_node_asks_the_registry_of_its_cloud_again(
    pull: ModuleType, monkeypatch: pytest.MonkeyPatch, image: str, given: str, complaint: str, uptime: float, asked: int
) -> None:
    """Its right was granted with it, and may not be known everywhere yet."""
    answers = iter([complaint, ""])
    monkeypatch.setattr(pull, "pull", lambda _image, _given: next(answers))
    monkeypatch.setattr(pull, "uptime", lambda: uptime)
    monkeypatch.setattr(pull.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(pull.sys, "stdin", io.StringIO(given))
    if asked == 1:
        with pytest.raises(SystemExit, match=complaint):
            pull.main(image)
    else:
        pull.main(image)
    assert len(list(answers)) == 2 - asked
