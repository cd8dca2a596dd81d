"""The last save on a node that is played: a clock that moves with each command, and a job that saves as told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from support.jobs import a_node
from trainrig.errors import CommandFailed
from trainrig.lifecycle import last_save
from trainrig.lifecycle.last_save import Saved, save_and_stop
from trainrig.model.process import Outcome
from trainrig.tools.ssh import Ssh


class Sync:
    """What CheckpointSync shows: commits what the job has written since the last commit."""

    def __init__(self, job: Job) -> None:
        self.job, self.committed, self.stopped = job, 0, False

    def stop(self) -> None:
        self.stopped = True

    def commit_now(self) -> bool:
        if self.job.gone:
            raise CommandFailed("no answer")
        new = self.job.written > 0
        self.job.written = 0
        self.committed += new
        return new


class Job:
    """Saves so many seconds after the save signal (None: never), and at SIGTERM when `at_term`."""

    def __init__(self, *, saves_after: float | None, at_term: bool = False, gone: bool = False) -> None:
        self.saves_after, self.at_term, self.gone = saves_after, at_term, gone
        self.now, self.written, self.runs, self.patience = 0.0, 0, True, 0
        self.asked: list[str] = []
        self.saved = False

    def answer(self, rank: int, words: Sequence[str]) -> Outcome:
        self.now += 0.5
        text = " ".join(words)
        self.asked.append(text)
        if self.saves_after is not None and self.now >= self.saves_after and not self.saved:
            self.saved, self.written = True, 1
        out = ""
        if "docker stop" in text:
            self.runs, self.patience = False, int(text.partition("--time=")[2].split()[0])
            self.written += self.at_term
        elif "docker ps" in text:
            out = "abc\n" if self.runs else ""
        elif "find" in text:
            out = "yes\n./model 1 1\n" if self.saved else "./model 1 0\n"
        return Outcome(returncode=0, stdout=out, stderr="", seconds=0)


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Saved, Sync]]:
    def run(job: Job, signal: str | None = "SIGUSR1", noticed: tuple[int, ...] = (0,)) -> tuple[Saved, Sync]:
        def pass_time(seconds: float) -> None:
            job.now += seconds

        monkeypatch.setattr(Ssh, "run", lambda _ssh, node, words, **_: job.answer(node.rank, words))
        monkeypatch.setattr("time.sleep", pass_time)
        sync = Sync(job)
        nodes = Ssh(rig=Path("/rig"), nodes=(a_node(),))
        result = save_and_stop(
            nodes,
            sync,  # type: ignore[arg-type]
            notice_seconds=30,
            save_signal=signal,
            noticed=noticed,
            clock=lambda: job.now,
        )
        return result, sync

    return run


def test_what_the_signal_made_the_job_save_is_committed_and_the_job_is_not_waited_for(
    saved: Callable[..., tuple[Saved, Sync]],
) -> None:
    job = Job(saves_after=5)
    result, sync = saved(job)
    assert (result.something, sync.committed, sync.stopped, job.runs) == (True, 1, True, False)
    assert job.patience <= last_save.AFTER_SAVE_SECONDS
    assert result.seconds < 15
    assert not any("docker kill" in a for a in job.asked)  # the agent of that node has sent it


def test_what_was_written_to_mounts_is_sent_with_the_time_that_is_left(
    saved: Callable[..., tuple[Saved, Sync]],
) -> None:
    job = Job(saves_after=5)
    saved(job)
    seconds = int(job.asked[-1].rpartition("/data flush ")[2])
    assert 0 < seconds < 30 - job.now
    gone = Job(saves_after=None, gone=True)
    saved(gone)
    assert not [line for line in gone.asked if "flush" in line]


def test_ranks_without_a_notice_get_the_signal_from_us(saved: Callable[..., tuple[Saved, Sync]]) -> None:
    job = Job(saves_after=2)
    saved(job, noticed=(1,))
    assert sum("docker kill --signal=SIGUSR1" in a for a in job.asked) == 1


def test_a_job_that_never_saves_leaves_time_for_the_copy(saved: Callable[..., tuple[Saved, Sync]]) -> None:
    job = Job(saves_after=None)
    result, _ = saved(job)
    assert not result.something
    assert result.seconds <= 30 - last_save.HEARD_LATE_SECONDS


def test_without_a_signal_the_stop_is_what_makes_it_save(saved: Callable[..., tuple[Saved, Sync]]) -> None:
    job = Job(saves_after=None, at_term=True)
    result, _ = saved(job, signal=None)
    assert result.something
    assert 10 <= job.patience <= 20
    assert not any("docker kill" in a for a in job.asked)


def test_a_node_that_has_gone_already_is_given_up_when_the_time_is_over(
    saved: Callable[..., tuple[Saved, Sync]],
) -> None:
    result, _ = saved(Job(saves_after=None, gone=True), signal=None)
    assert not result.something
    assert result.seconds >= 30 - last_save.HEARD_LATE_SECONDS


def test_a_save_that_the_periodic_copy_was_quicker_with_counts_too(
    saved: Callable[..., tuple[Saved, Sync]],
) -> None:
    job = Job(saves_after=0)
    job.saved = True  # written, and committed by now
    result, sync = saved(job)
    assert (result.something, sync.committed) == (True, 0)
    assert job.patience <= last_save.AFTER_SAVE_SECONDS
