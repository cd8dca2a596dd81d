"""Renders the Terraform root of one rig: a request becomes `path -> text`, the same bytes for the same inputs.

main.tf comes from `templates/roots/<cloud>.tf.j2`, which sees these names and no text of a user:

    cloud              "aws"
    arguments          the module call's arguments, `name = var.name` for each variable of the module, aligned
    provider_version   the locked version of the cloud's Terraform provider, where the lock has one

variables.tf is the module's own, so that types, descriptions and validations are written once. Every value is in
terraform.tfvars.json; a remote backend's settings are in backend.tf.json, since Terraform takes no variables there.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, StrictUndefined

from trainrig.errors import EnvironmentInvalid, RigError
from trainrig.model.environment import StateBackend
from trainrig.render import lockfile
from trainrig.render.lockfile import ProviderPin

_VARIABLE = re.compile(r'^variable "([a-z0-9_]+)" \{', re.MULTILINE)
# A backend block may hold no expression. What follows this pattern can be none in Terraform's JSON either.
_SETTING = re.compile(r"[A-Za-z0-9._:/@=+,-]*")


def declared(text: str) -> tuple[str, ...]:
    """The variables that a Terraform file declares, in its order: a module's variables.tf, or a root template, which
    adds what only a provider block needs."""
    return tuple(_VARIABLE.findall(text))


def render_root(
    *,
    cloud: str,
    template: str,
    module_files: Mapping[str, str],
    tfvars: Mapping[str, Any],
    backend: StateBackend,
    state_key: str,
    provider: tuple[str, ProviderPin] | None = None,
    documents: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """The files of a root by relative path. `provider` is its address and pin, `documents` are JSON files to lie
    beside main.tf.

    Raises:
        EnvironmentInvalid: a setting of the state backend is not plain.
    """
    if "variables.tf" not in module_files:
        raise RigError(f"the {cloud} module has no variables.tf")
    context: dict[str, Any] = {"cloud": cloud, "arguments": _arguments(declared(module_files["variables.tf"]))}
    if provider is not None:
        context["provider_version"] = provider[1].version
    jinja = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 -- HCL, and no user text
    )
    files = {
        "main.tf": jinja.from_string(template).render(context),
        "variables.tf": module_files["variables.tf"],
        "terraform.tfvars.json": to_json(_composed(tfvars)),
        **{f"module/{path}": text for path, text in module_files.items()},
        **{path: to_json(value) for path, value in (documents or {}).items()},
    }
    if provider is not None and provider[1].hashes:
        files[".terraform.lock.hcl"] = lockfile.hcl(*provider)
    if backend.kind != "local":
        files["backend.tf.json"] = to_json(_backend(backend, state_key))
    return dict(sorted(files.items()))


def to_json(value: Any) -> str:
    """Readable and stable: keys keep the order that we gave them, unicode stays itself."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _composed(value: Any) -> Any:
    """Terraform composes every string (NFC); doing so first means that what is written is what comes back."""
    match value:
        case str():
            return unicodedata.normalize("NFC", value)
        case Mapping():
            return {_composed(key): _composed(one) for key, one in value.items()}
        case list() | tuple():
            return [_composed(one) for one in value]
        case _:
            return value


def _arguments(names: tuple[str, ...]) -> str:
    width = max(map(len, names))
    return "\n".join(f"  {name:<{width}} = var.{name}" for name in names)


def _backend(backend: StateBackend, state_key: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in sorted(backend.settings.items()):
        if not _SETTING.fullmatch(value):
            raise EnvironmentInvalid(
                f"state.{name}: {value!r} has characters that a Terraform backend cannot take as they are",
                hint="letters, digits and . _ : / @ = + , - are fine",
            )
        settings[name] = value
    match backend.kind:
        case "s3":
            settings |= {"key": f"{settings.pop('prefix', 'rigs')}/{state_key}.tfstate"}
            settings |= {"use_lockfile": True, "encrypt": True}
        case "gcs":
            settings |= {"prefix": f"{settings.get('prefix', 'rigs')}/{state_key}"}
        case "azurerm":
            settings = {"use_azuread_auth": True, **settings}
            settings |= {"key": f"{settings.pop('prefix', 'rigs')}/{state_key}.tfstate"}
        case "local":
            pass
    return {"terraform": {"backend": {backend.kind: settings}}}
