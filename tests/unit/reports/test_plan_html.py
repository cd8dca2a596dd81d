from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.plans import plan
from trainrig.model.plan import Finding
from trainrig.reports.plan_html import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def test_a_page_needs_nothing_but_itself_and_runs_nothing() -> None:
    html = page(plan(findings=(Finding(code="x", detail="<script>alert(1)</script>"),)))
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert not re.search(r"(src|href)=|url\(|@import", html)
    assert html.index("Rights") < html.index("Network") < html.index("Machines")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_phone_shows_it_without_scrolling_sideways(tmp_path: Path) -> None:
    probe = (
        "<script>document.title = document.documentElement.scrollWidth <= innerWidth ? 'fits' : 'wide'</script></body>"
    )
    (tmp_path / "plan.html").write_text(page(plan()).replace("</body>", probe))
    argv = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=500,900", "--dump-dom"]
    argv += [f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "plan.html").as_uri()]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "<title>fits</title>" in shown
