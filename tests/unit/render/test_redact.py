from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainrig.render.redact import MASK, named_secrets, redactor

SECRET = 'p4ss"w/rd+1'


@pytest.mark.parametrize(
    "shown",
    [SECRET, quote(SECRET, safe=""), json.dumps(SECRET)[1:-1], base64.b64encode(SECRET.encode()).decode().rstrip("=")],
)
def test_a_known_value_is_gone_in_every_form(shown: str) -> None:
    assert redactor([SECRET]).text(f"before {shown} after", guess=False) == f"before {MASK} after"


@settings(derandomize=True)
@given(st.text(min_size=4, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_no_known_value_survives(value: str, before: str, after: str) -> None:
    text = redactor([value]).text(before + value + after, guess=False)
    assert value not in text.replace(MASK, "\0") or value in MASK


def test_of_two_values_the_longer_goes_first() -> None:
    assert redactor(["abcd", "abcdefgh"]).text("abcdefgh abcd", guess=False) == f"{MASK} {MASK}"


def test_values_that_would_take_words_out_of_every_text_stay() -> None:
    assert redactor(["a", ""]).text("a cat", guess=False) == "a cat"


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "a1B2" * 9,
        "hf_" + "x" * 34,
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\ncut off",
        "AccountKey=" + "Zm9vYmFy" * 10 + "==",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    ],
)
def test_well_known_shapes_go_without_being_known(text: str) -> None:
    assert redactor([]).text(f"see {text} here", guess=False).startswith(f"see {MASK}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ada:hunter22@example.com/x", f"https://ada:{MASK}@example.com/x"),
        ("Authorization: Bearer abcdef123456", f"Authorization: Bearer {MASK}"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENG", f"AWS_SECRET_ACCESS_KEY={MASK}"),
        ('{"api_key": "0123456789"}', f'{{"api_key": "{MASK}"}}'),
        ("x wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzKEY5p9q x", f"x {MASK} x"),
    ],
)
def test_what_looks_like_a_secret_goes_where_guessing_is_wanted(text: str, shown: str) -> None:
    assert redactor([]).text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + "0123456789abcdef" * 4,
        "ami-06517bc7fad3c6a48",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl trainrig",
        "/home/ada/TrainRig/rigs/finetune-abcd2345/1-1/terraform.tfvars.json",
        "projects/deeplearning-platform-release/global/images/common-cu129-ubuntu-2204-nvidia-580-v20260909",
        "max_tokens=4096 key_name: laptop",
        "module.rig.aws_launch_template.node: Creation complete after 2s",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redactor([]).text(text) == text


def test_in_a_document_the_key_decides_too() -> None:
    document = {"hf_token": "x1", "token_count": "7", "nested": [{"password": "p"}], "note": f"uses {SECRET}", "n": 3}
    assert redactor([SECRET]).document(document) == {
        "hf_token": MASK,
        "token_count": "7",
        "nested": [{"password": MASK}],
        "note": f"uses {MASK}",
        "n": 3,
    }


def test_where_a_secret_is_found_is_none() -> None:
    assert (
        redactor(()).text("write C_TOKEN: env:C_TOKEN, or file:~/c-token")
        == "write C_TOKEN: env:C_TOKEN, or file:~/c-token"
    )


def test_values_of_variables_that_are_named_like_secrets_and_not_every_word() -> None:
    variables = {"DB_PASSWORD": "hunter2-hunter2", "USE_TOKEN": "true", "SSH_PASSWORD": "/run/secrets/x", "LR": "0.1"}
    assert named_secrets(variables) == {"hunter2-hunter2"}
