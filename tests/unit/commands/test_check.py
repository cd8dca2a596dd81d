from __future__ import annotations

import json

import pytest

from trainrig import app
from trainrig.lifecycle import check
from trainrig.model.readiness import Check, CloudChecks, Readiness

TERRAFORM = Check(name="terraform", status="pass", detail="terraform 1.11.4")
ENABLED = CloudChecks(
    cloud="gcp", title="Google Cloud", checks=(Check(name="identity", status="pass", detail="project p"),)
)
DISABLED = CloudChecks(
    cloud="aws",
    title="Amazon Web Services",
    checks=(Check(name="identity", status="fail", detail="no credentials", mend="aws configure"),),
)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, Readiness]:
    value = {"is": Readiness(tools=(TERRAFORM,), clouds=(DISABLED, ENABLED))}
    monkeypatch.setattr(check, "check", lambda *_: value["is"])
    return value


def test_text_says_what_is_disabled_and_what_mends_it(
    found: dict[str, Readiness], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["check"]) == 0
    assert capsys.readouterr().out == (
        "tools\n"
        "  ok    terraform: terraform 1.11.4\n"
        "\n"
        "Amazon Web Services (aws): disabled\n"
        "  FAIL  identity: no credentials\n"
        "        mend: aws configure\n"
        "\n"
        "Google Cloud (gcp): enabled\n"
        "  ok    identity: project p\n"
    )


def test_the_document(found: dict[str, Readiness], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["check", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["ready"]) == ("trainrig.check/1", True)
    aws = document["clouds"][0]
    assert (aws["enabled"], aws["reason"], aws["mend"]) == (False, "no credentials", "aws configure")


def test_a_cloud_that_is_named_must_be_enabled(found: dict[str, Readiness]) -> None:
    assert app.run(["check", "--cloud", "aws"]) == 4


def test_a_missing_tool_or_no_cloud_at_all_fails(found: dict[str, Readiness]) -> None:
    found["is"] = Readiness(tools=(TERRAFORM,), clouds=(DISABLED,))
    assert app.run(["check"]) == 4
    missing = Check(name="ssh", status="fail", detail="not on PATH")
    found["is"] = Readiness(tools=(TERRAFORM, missing), clouds=(ENABLED,))
    assert app.run(["check"]) == 4


def test_a_bucket_that_is_missing_fails(found: dict[str, Readiness], capsys: pytest.CaptureFixture[str]) -> None:
    bucket = Check(name="state: s3://b", status="fail", detail="there is no bucket b", mend="trainrig store apply")
    found["is"] = Readiness(tools=(TERRAFORM,), clouds=(ENABLED,), buckets=(bucket,))
    assert app.run(["check", "--format", "json"]) == 4
    assert json.loads(capsys.readouterr().out)["buckets"][0]["mend"] == "trainrig store apply"
    assert app.run(["check"]) == 4
    assert capsys.readouterr().out.endswith(
        "\nbuckets\n  FAIL  state: s3://b: there is no bucket b\n        mend: trainrig store apply\n"
    )
