"""Every command of the pages, of the pipelines and of the help itself is one that the program takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from trainrig import app, assets

ROOT = assets.path("examples").parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
PIPELINES = sorted(
    [ROOT / "action.yml", *(ROOT / ".github/workflows").glob("*.yml"), *(ROOT / "examples/ci").glob("*")]
)
HELP = sorted((ROOT / "cli/trainrig/commands").glob("*.py"))
STOPS = {"|", "||", "&&", ">", ">>", "<", ";", "do", "then", "fi"}  # from here on it is the shell's


def commands(path: Path) -> Iterator[str]:
    """What stands in code spans and blocks, and in a pipeline's or the help's lines, and begins with the program."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    if path.suffix == ".md":
        yield from (span for span in re.findall(r"`(trainrig [^`]+)`", text))
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        yield from (m[1] for block in blocks for m in re.finditer(r"^(?:\$ )?(trainrig .*)$", block, re.MULTILINE))
    elif path.suffix == ".py":
        for example in re.findall(r"Examples?:(.*?)\"\"\"", text, re.DOTALL):
            yield from (one.strip() for one in re.split(r";|\n\n", example) if one.strip().startswith("trainrig "))
    else:
        yield from (m[1] for m in re.finditer(r"(?:^|run: |[-&|(] )\s*(trainrig .*)$", text, re.MULTILINE))


def words_of(command: str) -> list[str]:
    """Its words as far as they are the program's, without what stands for anything (`...`, `[OPTIONS]`)."""
    plain = re.sub(r"\[[^\]]*\]|\(.*|\.\.\.|#.*", " ", " ".join(command.split()))
    try:
        words = shlex.split(plain)
    except ValueError:  # the end of a quotation is in the next line
        words = plain.split()
    for n, word in enumerate(words):
        if word.rstrip(";") in STOPS or re.match(r"\d?[<>]", word):
            return words[:n]
        if word.endswith((";", "|", ",")):
            return [*words[:n], word[:-1]]
    return words


FOUND = [
    pytest.param(words, id=f"{path.name}: {' '.join(words)}")
    for path in [*PAGES, *PIPELINES, *HELP]
    for words in {tuple(words_of(c)): None for c in commands(path)}
    if len(words) > 1 and not words[1].startswith(("-", "$"))
]


@pytest.mark.parametrize("words", FOUND)
def test_a_command_has_only_verbs_and_options_that_there_are(words: tuple[str, ...]) -> None:
    _, verb, *rest = words
    assert verb in app.verbs()
    command: Any = app.load(verb)
    subcommands = getattr(command, "commands", {})
    if rest and rest[0] in subcommands:
        command = subcommands[rest.pop(0)]
    known = {"--help", *(option for p in command.params for option in (*p.opts, *p.secondary_opts))}
    rest = rest[: rest.index("--")] if "--" in rest else rest
    options = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    assert [option for option in options if option not in known] == []


def test_there_is_something_to_look_at() -> None:
    assert len(FOUND) > 100


def test_the_workflows_of_the_pages_are_valid(tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(on: .*?)^```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for n, block in enumerate(blocks):
        path = tmp_path / f"{n}.yml"
        path.write_text(block)
        ran = CliRunner().invoke(check_jsonschema, ["--builtin-schema", "vendor.github-workflows", str(path)])
        assert ran.exit_code == 0, ran.output
        (job,) = yaml.safe_load(block)["jobs"].values()
        called = yaml.safe_load((ROOT / job["uses"].partition("@")[0].removeprefix("trainrig/trainrig/")).read_text())
        inputs = called[True]["workflow_call"]["inputs"]  # YAML 1.1 reads `on` as true
        assert set(job["with"]) <= set(inputs)
        assert {name for name, value in inputs.items() if value.get("required")} <= set(job["with"])
        for right, level in called["permissions"].items():
            assert job["permissions"].get(right) == level, "a workflow that is called has no more than its caller"
