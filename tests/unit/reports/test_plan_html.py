from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.plans import RESOURCES, plan, resource
from trainrig.model.plan import Finding
from trainrig.reports.plan_html import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def test_a_page_needs_nothing_but_itself_and_runs_nothing() -> None:
    html = page(plan(findings=(Finding(code="x", detail="<script>alert(1)</script>"),)))
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert not re.search(r"(src|href)=|url\(|@import", html)
    assert html.index("Rights") < html.index("Network") < html.index("Machines")


PROBE = """<!doctype html><iframe src="plan.html" style="width: 360px; border: 0" onload="
  const page = this.contentDocument, root = page.documentElement
  const fits = root.clientWidth <= 360 && root.scrollWidth <= root.clientWidth ? 'fits' : 'wide'
  document.title = [fits, getComputedStyle(page.body).color].join(' ')"></iframe>"""
LONG = "arn:aws:s3:::" + "runs" * 60
POLICY = json.dumps({"Statement": {"Action": "a", "Resource": LONG}})
WIDE = (
    resource("module.rig.aws_iam_role_policy.node[0]", policy=POLICY),
    resource(f"module.rig.aws_vpc_security_group_ingress_rule.ssh[{'9' * 80}]", cidr_ipv4="203.0.113.7/32"),
)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine; scripts/setup.sh test installs it on Debian")
@pytest.mark.parametrize(("scheme", "ink"), [(1, "rgb(0, 0, 0)"), (0, "rgb(255, 255, 255)")], ids=["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways_by_day_and_by_night(tmp_path: Path, scheme: int, ink: str) -> None:
    """In a frame as wide as a phone: Chromium's own windows are wider."""
    work = {"command": "python train.py --data " + "x" * 300 + "\n", "variable LONG": "y" * 300}
    (tmp_path / "plan.html").write_text(page(plan(resources=(*RESOURCES, *WIDE), work=work)))
    (tmp_path / "probe.html").write_text(PROBE)
    argv = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    argv += [f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=5000", "--dump-dom"]
    argv += [f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "probe.html").as_uri()]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout
    assert f"<title>fits {ink}</title>" in shown
