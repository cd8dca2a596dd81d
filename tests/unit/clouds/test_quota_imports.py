"""Placement asks `needed` in milliseconds, so it must not pull in a cloud's SDK."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_needed_and_facts_load_no_sdk(cloud: str) -> None:
    code = (
        f"import sys, trainrig.clouds.{cloud}.quota, trainrig.clouds.{cloud}.facts;"
        "print([m for m in sys.modules if m.split('.')[0] in {'boto3', 'botocore', 'google', 'azure', 'requests'}])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
