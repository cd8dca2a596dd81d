from __future__ import annotations

import json

import pytest
from jinja2 import UndefinedError

from trainrig.errors import EnvironmentInvalid
from trainrig.model.environment import StateBackend
from trainrig.render.lockfile import ProviderPin
from trainrig.render.root import render_root

VARIABLES = 'variable "rig" {\n  type = any\n}\n\nvariable "instance_type" {\n  type = string\n}\n'
TEMPLATE = 'module "rig" {\n  source = "./module"\n\n{{ arguments }}\n}\n'


def render(backend: StateBackend | None = None, template: str = TEMPLATE, **tfvars: object) -> dict[str, str]:
    return render_root(
        cloud="aws",
        template=template,
        module_files={"variables.tf": VARIABLES, "main.tf": "# nodes\n"},
        tfvars=tfvars,
        backend=backend or StateBackend(),
        state_key="tr-a-abcd2345/1-1",
        documents={"job.json": {"name": "a"}},
    )


def test_a_root_is_the_template_the_module_and_its_values() -> None:
    files = render(rig={"name": "x"})
    assert sorted(files) == [
        "job.json",
        "main.tf",
        "module/main.tf",
        "module/variables.tf",
        "terraform.tfvars.json",
        "variables.tf",
    ]
    assert files["main.tf"] == (
        'module "rig" {\n  source = "./module"\n\n  rig           = var.rig\n  instance_type = var.instance_type\n}\n'
    )
    assert files["variables.tf"] == VARIABLES


@pytest.mark.parametrize(
    "text", ['"', '${file("/etc/passwd")}', "%{ if true }", "a\nb", "\u2028 ünïcode 🚀", "x" * 10_000]
)
def test_text_of_users_lands_in_the_values_alone(text: str) -> None:
    files = render(name=text)
    assert json.loads(files["terraform.tfvars.json"])["name"] == text
    assert {p: t for p, t in files.items() if p != "terraform.tfvars.json"} == {
        p: t for p, t in render().items() if p != "terraform.tfvars.json"
    }


def test_a_template_that_asks_for_what_is_not_there_fails() -> None:
    with pytest.raises(UndefinedError):
        render(template='version = "{{ provider_version }}"')


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (
            "s3",
            {"bucket": "team-state", "region": "us-east-1"},
            {
                "bucket": "team-state",
                "region": "us-east-1",
                "key": "rigs/tr-a-abcd2345/1-1.tfstate",
                "use_lockfile": True,
                "encrypt": True,
            },
        ),
        ("gcs", {"bucket": "b", "prefix": "ml"}, {"bucket": "b", "prefix": "ml/tr-a-abcd2345/1-1"}),
        (
            "azurerm",
            {"container_name": "c", "storage_account_name": "s"},
            {
                "container_name": "c",
                "storage_account_name": "s",
                "key": "rigs/tr-a-abcd2345/1-1.tfstate",
                "use_azuread_auth": True,
            },
        ),
    ],
)
def test_every_attempt_has_a_state_of_its_own(kind: str, settings: dict[str, str], expected: dict[str, object]) -> None:
    files = render(StateBackend(kind=kind, settings=settings))  # type: ignore[arg-type]
    assert json.loads(files["backend.tf.json"]) == {"terraform": {"backend": {kind: expected}}}


def test_local_state_needs_no_backend() -> None:
    assert "backend.tf.json" not in render()


@pytest.mark.parametrize("value", ["${var.x}", "%{x}", 'a"b', "a\nb"])
def test_a_backend_setting_can_hold_no_expression(value: str) -> None:
    with pytest.raises(EnvironmentInvalid, match=r"state\.bucket"):
        render(StateBackend(kind="s3", settings={"bucket": value}))


def test_known_provider_hashes_become_terraforms_own_lock_file() -> None:
    def locked(*hashes: str) -> dict[str, str]:
        return render_root(
            cloud="aws",
            template='version = "{{ provider_version }}"\n',
            module_files={"variables.tf": VARIABLES},
            tfvars={},
            backend=StateBackend(),
            state_key="x",
            provider=("hashicorp/aws", ProviderPin(version="6.69.1", hashes=hashes)),
        )

    assert locked()["main.tf"] == 'version = "6.69.1"\n'
    assert ".terraform.lock.hcl" not in locked()
    assert locked("zh:b", "h1:a")[".terraform.lock.hcl"].endswith(
        'provider "registry.terraform.io/hashicorp/aws" {\n'
        '  version = "6.69.1"\n  hashes = [\n    "h1:a",\n    "zh:b",\n  ]\n}\n'
    )
