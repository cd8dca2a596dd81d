from __future__ import annotations

import pytest

from support import rigs
from trainrig.render.findings import findings


def codes(*cidrs: str, env: dict[str, str] | None = None, locked: bool = True) -> set[str]:
    request = rigs.request(ssh_ingress_cidrs=cidrs)
    return {f.code for f in findings(request, env or {}, locked=locked, notes=[])}


@pytest.mark.parametrize(
    ("cidrs", "code"),
    [
        (("0.0.0.0/0",), {"wide_ingress"}),
        (("::/0",), {"wide_ingress"}),
        (("203.0.0.0/12",), {"wide_ingress"}),
        (("10.0.0.0/8",), set()),
        (("203.0.113.7/32", "2001:db8::/48"), set()),
        ((), {"no_ingress"}),
    ],
)
def test_ways_in(cidrs: tuple[str, ...], code: set[str]) -> None:
    assert codes(*cidrs) == code


def test_what_is_not_pinned_and_what_is_no_variable() -> None:
    env = {"STEPS": "10", "DB_PASSWORD": "hunter2-hunter2", "TOKENIZERS_PARALLELISM": "true"}
    assert codes("203.0.113.7/32", env=env, locked=False) == {"no_lock", "secret_in_env"}
