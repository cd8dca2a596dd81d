from __future__ import annotations

from pathlib import Path

import pytest

from trainrig.spec.from_flags import JobFlags, job_and_flags, spec_from_flags


@pytest.mark.parametrize(
    ("words", "options", "path", "command"),
    [
        (["job.yaml"], {}, "job.yaml", ()),
        (["job.yaml"], {"gpu": "H100:8"}, "job.yaml", ()),
        (["job.yml", "python", "other.py"], {}, "job.yml", ("python", "other.py")),
        (["torchrun", "train.py"], {"gpu": "H100:8"}, None, ("torchrun", "train.py")),
        (["mistyped"], {}, "mistyped", ()),
        (None, {"image": "org/image"}, None, ()),
        ([], {}, None, ()),
    ],
)
def test_a_word_is_a_job_file_or_the_command_begins(
    words: list[str] | None, options: dict[str, str], path: str | None, command: tuple[str, ...]
) -> None:
    found, flags = job_and_flags(words, **options)
    assert found == (Path(path) if path else None)
    assert flags.command == command
    assert bool(flags) == bool(options or command)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("torchrun", "--nproc=8", "src/train_it.py"), "train-it"),
        (("nvidia-smi",), "nvidia-smi"),
        (("python train.py && echo done",), "train"),
        (("./...",), "job"),
        ((), "job"),
    ],
)
def test_a_job_is_named_after_what_it_starts(command: tuple[str, ...], name: str) -> None:
    assert spec_from_flags(JobFlags(command=command)).default_name == name


def test_one_word_is_a_script_and_several_are_quoted() -> None:
    assert JobFlags(command=("a && b",)).script() == "a && b"
    assert JobFlags(command=("echo", "a && b")).script() == "echo 'a && b'"
    assert JobFlags().script() is None
