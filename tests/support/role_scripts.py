"""The shell programs of the roles, rendered as Ansible renders them."""

from __future__ import annotations

from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from support.role_docs import ROLES, defaults


def render(role: str, script: str, **variables: Any) -> str:
    jinja = Environment(undefined=StrictUndefined, trim_blocks=True, autoescape=False)
    template = jinja.from_string((ROLES / role / "templates" / f"{script}.j2").read_text())
    base = yaml.safe_load((ROLES / "base/vars/main.yml").read_text())
    own = {"ansible_managed": "a test", "base_lib": base["base_lib"]}
    return template.render({**defaults("base"), **defaults(role), **own, **variables})
