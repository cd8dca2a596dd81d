from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from support.offers import offer
from trainrig.errors import SpecInvalid, UsageError, render
from trainrig.lifecycle.load_job import find_environment, load_job
from trainrig.lifecycle.place import open_index
from trainrig.model.offer import Market
from trainrig.spec.from_flags import JobFlags


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_job_file_and_the_default_environment() -> None:
    Path("hello.yaml").write_text("run: echo hi\nworkdir: src\nresources: {gpus: A100:8, use_spot: true}\n")
    (job,), environment = load_job(Path("hello.yaml"))
    assert environment.name == "local"
    assert (job.name, job.run, job.workdir) == ("hello", "echo hi", str(Path.cwd() / "src"))
    assert (job.options[0].gpus[0].name, job.options[0].gpus[0].count) == ("A100", 8)
    assert job.options[0].market is Market.SPOT


def test_a_job_without_a_file() -> None:
    flags = JobFlags(gpu="H100:8", max_cost="40", timeout="10h", command=("torchrun", "train.py", "--lr", "1e-4 2"))
    (job,), _ = load_job(None, flags=flags)
    assert job.name == "train"
    assert job.run == "torchrun train.py --lr '1e-4 2'"
    assert (job.budget_usd, job.timeout_seconds) == (Decimal(40), 36000)
    assert (job.options[0].gpus[0].name, job.options[0].gpus[0].count) == ("H100", 8)


def test_relative_paths_begin_where_trainrig_was_started_or_else_beside_the_job_file() -> None:
    Path("jobs/beside").mkdir(parents=True)
    Path("jobs/both").mkdir()
    Path("both").mkdir()
    text = "run: x\nworkdir: beside\nfile_mounts: {/a: both, /b: nowhere, /c: 's3://x/y', /d: ~/z}\n"
    Path("jobs/j.yaml").write_text(text)
    (job,), _ = load_job(Path("jobs/j.yaml"))
    assert job.workdir == str(Path.cwd() / "jobs/beside")
    sources = [m.source for m in job.mounts]
    assert sources == [str(Path.cwd() / "both"), str(Path.cwd() / "nowhere"), "s3://x/y", str(Path.home() / "z")]


def test_neither_file_nor_flags_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no job"):
        load_job(None)


@pytest.mark.parametrize("flags", [JobFlags(gpu="H100:8"), JobFlags(timeout="1h")])
def test_flags_that_start_nothing_are_a_usage_error(flags: JobFlags) -> None:
    with pytest.raises(UsageError, match="nothing to run"):
        load_job(None, flags=flags)


def test_a_command_does_not_stand_for_several_jobs() -> None:
    Path("two.yaml").write_text("run: a\n---\nrun: b\n")
    assert [job.run for job in load_job(Path("two.yaml"))[0]] == ["a", "b"]
    with pytest.raises(UsageError, match="has 2 jobs"):
        load_job(Path("two.yaml"), flags=JobFlags(command=("c",)))


def test_set_wins_over_the_file_and_is_typed_as_yaml() -> None:
    Path("j.yaml").write_text("run: x\nnum_nodes: 1\nresources: {cloud: aws, region: us-east-1, cpus: 4}\n")
    (job,), _ = load_job(Path("j.yaml"), overrides=["num_nodes=2", "resources.infra=gcp", "resources.cpus=8+"])
    (option,) = job.options
    assert (job.nodes, option.cloud, option.region) == (2, "gcp", None)
    assert option.vcpus is not None
    assert option.vcpus.at_least


def test_a_wrong_override_is_shown_as_typed() -> None:
    Path("j.yaml").write_text("run: x\n")
    with pytest.raises(SpecInvalid) as caught:
        load_job(Path("j.yaml"), overrides=["resources.cpus=many"])
    assert "--set resources.cpus:1:1: a number such as 8 or 8+ is wanted here, not `many`" in render(caught.value)


def test_an_unknown_cloud_is_named_with_its_place() -> None:
    Path("j.yaml").write_text("run: x\nresources:\n  infra: asw/us-east-1\n")
    with pytest.raises(SpecInvalid) as caught:
        load_job(Path("j.yaml"))
    assert "j.yaml:3:10: unknown cloud `asw`" in render(caught.value)
    assert "did you mean `aws`?" in render(caught.value)


def test_an_environment_of_the_project_comes_before_a_shipped_one() -> None:
    Path("environments").mkdir()
    Path("environments/local.yaml").write_text("project: ours\nclouds: {local: {}}\n")
    assert find_environment(None).project == "ours"
    assert find_environment("ci").max_lease_seconds == 7200


def test_the_environment_variable_names_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINRIG_ENV", "ci")
    assert find_environment(None).name == "ci"


def test_an_unknown_environment_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        find_environment("prod")
    assert "local" in caught.value.hint


@pytest.mark.parametrize(("content", "said"), [(b"run: \xff\n", "line 1 is not UTF-8"), (b"a" * 4_000_001, "too big")])
def test_what_is_no_text_or_too_big_is_refused(content: bytes, said: str) -> None:
    Path("j.yaml").write_bytes(content)
    with pytest.raises(SpecInvalid, match=said):
        load_job(Path("j.yaml"))


def test_a_missing_file_and_a_folder_are_usage_errors(elsewhere: Path) -> None:
    with pytest.raises(UsageError, match="no job file"):
        load_job(Path("nothing.yaml"))
    with pytest.raises(UsageError, match="is a folder"):
        load_job(elsewhere)


def test_a_gpu_that_nobody_knows_is_shown_where_it_is_asked_for() -> None:
    text = "run: x\nresources:\n  any_of:\n    - {accelerators: {A10O: 8, h10: 8}}\n    - gpus: [RTX4O90]\n"
    Path("j.yaml").write_text(text)
    with pytest.raises(SpecInvalid) as caught:
        load_job(Path("j.yaml"))
    said = render(caught.value)
    assert "j.yaml:4:23: the GPU `A10O` is not supported: none is known by that name" in said
    assert "did you mean A100?" in said
    assert "j.yaml:4:32: the GPU `h10`" in said
    assert "did you mean H100" in said
    assert "j.yaml:5:14: the GPU `RTX4O90`" in said
    assert "did you mean RTX4090?" in said


def test_one_known_gpu_among_the_alternatives_is_enough() -> None:
    Path("j.yaml").write_text("run: x\nresources: {accelerators: {A10O: 8, H100: 8}}\n")
    (job,), _ = load_job(Path("j.yaml"))
    assert [gpu.name for gpu in job.options[0].gpus] == ["A10O", "H100"]


def test_a_gpu_of_an_imported_catalogue_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRAINRIG_HOME", str(tmp_path / "home"))
    Path("j.yaml").write_text("run: x\nresources: {accelerators: Quantum9000}\n")
    with pytest.raises(SpecInvalid, match="1 problem"):
        load_job(Path("j.yaml"))
    with open_index() as index:
        index.replace("aws", "a test", [offer("1", gpu="Quantum9000")])
    (job,), _ = load_job(Path("j.yaml"))
    assert job.options[0].gpus[0].name == "Quantum9000"


def test_a_dockerfile_is_found_beside_its_job_file(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "job.yaml").write_text("run: x\nimage: ./Dockerfile\n")
    ((job,), _) = load_job(tmp_path / "job.yaml")
    assert job.image == str(tmp_path / "Dockerfile")
    (tmp_path / "job.yaml").write_text("run: x\nimage: team/train:1\n")
    ((job,), _) = load_job(tmp_path / "job.yaml")
    assert job.image == "team/train:1"
