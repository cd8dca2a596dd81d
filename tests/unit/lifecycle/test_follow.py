"""Following a job on nodes that are played by a recorded answer a poll."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.jobs import a_node
from trainrig.lifecycle import job_control
from trainrig.lifecycle.job_control import BATCH_LINES, JobEnd, follow
from trainrig.model.events import Event, LogLine, Progress, silent
from trainrig.model.node import Node
from trainrig.model.process import Outcome
from trainrig.tools.ssh import UNREACHABLE, Ssh

RUNS = {"active": "active", "notice": None}
WELL = {"exit_code": 0, "oom_killed": False, "finished_at": "2026-01-01T00:00:00Z"}


def answer(state: dict[str, Any], *lines: str) -> Outcome:
    entries = [json.dumps({"__CURSOR": f"c-{line}", "MESSAGE": line}, ensure_ascii=False) for line in lines]
    return Outcome(returncode=0, stdout="\n".join([json.dumps(state), *entries]), stderr="", seconds=0)


SILENT = Outcome(returncode=UNREACHABLE, stdout="", stderr="Connection timed out", seconds=0)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., JobEnd]:
    """Follows one node that gives these answers in turn, and then the last one for ever."""

    def run(
        answers: Sequence[Outcome | Callable[[], Outcome]],
        observe: Callable[[Event], None] = silent,
        peer: Outcome | Callable[[], Outcome] | None = None,
        **options: Any,
    ) -> JobEnd:
        """`peer`: what a second node answers, always."""
        left = list(answers)
        asked: list[Sequence[str]] = []

        def polled(self: Ssh, node: Node, words: Sequence[str], **_: object) -> Outcome:
            if node.rank == 1:
                assert peer is not None
                return peer() if callable(peer) else peer
            asked.append(words[1:])
            found = left.pop(0) if len(left) > 1 else left[0]
            return found() if callable(found) else found

        monkeypatch.setattr(Ssh, "run", polled)
        monkeypatch.setattr("time.sleep", lambda _seconds: None)
        nodes = (a_node(),) if peer is None else (a_node(), a_node(1))
        end = follow(Ssh(rig=Path("/rig"), nodes=nodes), observe, **options)
        run.asked = asked  # type: ignore[attr-defined]
        return end

    return run


def test_every_line_is_told_once_and_the_next_poll_goes_on_after_the_last(followed: Callable[..., JobEnd]) -> None:
    seen: list[Event] = []
    end = followed([answer(RUNS, "one", "two"), SILENT, answer(RUNS), answer(WELL, "three")], seen.append)
    assert [e.text for e in seen if isinstance(e, LogLine)] == ["one", "two", "three"]
    assert followed.asked == [[], ["c-two"], ["c-two"], ["c-two"]]  # type: ignore[attr-defined]
    assert end.verdict == "succeeded"


def test_a_node_that_never_answers_is_lost(followed: Callable[..., JobEnd]) -> None:
    end = followed([SILENT], lost_seconds=0)
    assert (end.verdict, end.lost) == ("lost", (0,))


NOTICE = {"notice": {"kind": "preemption"}}


def test_a_notice_ends_the_following_and_names_the_node(followed: Callable[..., JobEnd]) -> None:
    seen: list[Event] = []
    end = followed([answer(RUNS), answer({**RUNS, **NOTICE}, "last"), answer(WELL)], seen.append)
    told = [e for e in seen if isinstance(e, Progress)]
    assert [(e.node, e.message) for e in told] == [("tr-hello-0", "the cloud is about to take this node back")]
    assert [e.text for e in seen if isinstance(e, LogLine)] == ["last"]
    assert (end.verdict, end.noticed) == ("noticed", (0,))


def test_a_job_that_the_save_signal_ended_did_not_fail(followed: Callable[..., JobEnd]) -> None:
    assert followed([answer(RUNS), answer({**WELL, "exit_code": 143, **NOTICE})]).verdict == "noticed"


def test_a_job_that_was_done_before_its_node_went_is_done(followed: Callable[..., JobEnd]) -> None:
    assert followed([answer(RUNS), answer({**WELL, **NOTICE})]).verdict == "succeeded"


def test_the_last_words_are_read_with_the_notice_known(followed: Callable[..., JobEnd]) -> None:
    end = followed([answer({**RUNS, **NOTICE}), answer({**WELL, "exit_code": 143, **NOTICE})], heed_notice=False)
    assert (end.verdict, end.exit_code) == ("failed", 143)


def test_a_rank_that_fails_while_its_peer_is_silent_is_not_to_blame(
    followed: Callable[..., JobEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainrig.lifecycle.job_control.SILENT_SECONDS", -1.0)
    end = followed([answer({**WELL, "exit_code": 1})], peer=SILENT, lost_seconds=0.05)
    assert (end.verdict, end.lost) == ("lost", (1,))


def test_a_rank_that_fails_while_its_peer_answers_has_failed(
    followed: Callable[..., JobEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_control, "PEERS_SECONDS", 0.1)
    end = followed([answer({**WELL, "exit_code": 3})], peer=answer(RUNS))
    assert (end.verdict, end.exit_code) == ("failed", 3)


STOPPED = {**WELL, "exit_code": 143, "stopped": True}


def test_a_job_that_its_node_has_stopped_did_not_fail(followed: Callable[..., JobEnd]) -> None:
    end = followed([answer(RUNS), answer(STOPPED)])
    assert (end.verdict, end.lost, end.exit_code) == ("lost", (0,), None)
    assert followed([answer(RUNS), answer({**STOPPED, **NOTICE})]).verdict == "noticed"
    assert followed([answer(RUNS), answer({**STOPPED, "exit_code": 0})]).verdict == "succeeded"
    assert followed([answer(WELL)], peer=answer(STOPPED)).verdict == "lost"


def test_a_rank_that_fails_before_it_is_seen_that_its_peer_was_stopped_is_not_to_blame(
    followed: Callable[..., JobEnd],
) -> None:
    seconds = iter([0, 1])
    peer = [answer(RUNS), answer(RUNS), answer(STOPPED)]
    end = followed([answer({**WELL, "exit_code": 1})], peer=lambda: peer[next(seconds, 2)])
    assert (end.verdict, end.lost) == ("lost", (1,))


def test_the_code_is_that_of_the_rank_that_failed_first(followed: Callable[..., JobEnd]) -> None:
    second = answer({**WELL, "exit_code": 1, "finished_at": "2026-01-01T00:00:02.5Z"})
    first = answer({**WELL, "exit_code": 137, "finished_at": "2026-01-01T00:00:02.25Z"})
    assert followed([second], peer=first).exit_code == followed([first], peer=second).exit_code == 137


def test_a_laptop_that_slept_gives_its_nodes_all_of_their_time_to_answer(
    followed: Callable[..., JobEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an hour's sleep the first looks find a dead connection, and nobody has been silent for an hour."""
    clock = [time.monotonic()]
    naps = iter([0.2, 3600])

    def sleep(seconds: float) -> None:
        clock[0] += next(naps, seconds)

    monkeypatch.setattr(job_control, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    assert followed([answer(RUNS)] * 2 + [SILENT] * 20 + [answer(WELL)]).verdict == "succeeded"


def test_a_look_that_was_slept_through_is_no_silence(
    followed: Callable[..., JobEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [time.monotonic()]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    def slept() -> Outcome:
        clock[0] += 3600
        return SILENT

    monkeypatch.setattr(job_control, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    assert followed([answer(RUNS), slept, *[SILENT] * 20, answer(WELL)]).verdict == "succeeded"


def test_a_node_that_stays_silent_after_the_sleep_is_lost(
    followed: Callable[..., JobEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [time.monotonic()]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(job_control, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    began = clock[0]
    assert followed([answer(RUNS), SILENT]).verdict == "lost"
    assert 60 < clock[0] - began < 65


def test_silence_is_told_for_as_long_as_it_lasts(
    followed: Callable[..., JobEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    heard: list[float] = []

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(job_control, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    followed([answer(RUNS), SILENT, SILENT, SILENT, answer(RUNS), SILENT, answer(WELL)], on_silence=heard.append)
    assert len(heard) == 4
    assert heard[0] == heard[3] == 0
    assert 0 < heard[1] < heard[2] < 3


def test_a_line_may_hold_what_python_takes_for_the_end_of_one(followed: Callable[..., JobEnd]) -> None:
    seen: list[Event] = []
    followed([answer(RUNS, "a\u2028b\x85c"), answer(WELL)], seen.append)
    assert [e.text for e in seen if isinstance(e, LogLine)] == ["a\u2028b\x85c"]


def test_following_stops_when_told_to(followed: Callable[..., JobEnd]) -> None:
    assert followed([answer(RUNS)], on_tick=lambda: False).verdict == "stopped"


def test_a_quiet_job_is_asked_less_often_until_it_says_something(
    followed: Callable[..., JobEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, pauses = [time.monotonic()], []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds

    answers = [answer(RUNS)] * 100 + [answer(RUNS, "a line")] + [answer(RUNS)] * 5 + [answer(WELL)]
    monkeypatch.setattr(job_control, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    followed(answers)
    assert pauses[10] == job_control.LAST_PAUSE_SECONDS
    assert pauses[99] == job_control.QUIET_PAUSE_SECONDS
    assert pauses[101] == job_control.LAST_PAUSE_SECONDS


def test_following_stops_although_the_job_writes_faster_than_it_is_read(followed: Callable[..., JobEnd]) -> None:
    flood = answer(RUNS, *["line"] * BATCH_LINES)
    asked = iter([True, True, False])  # a fourth question is an error
    assert followed([flood], on_tick=lambda: next(asked)).verdict == "stopped"


def test_a_job_that_ended_is_read_to_its_last_line_first(followed: Callable[..., JobEnd]) -> None:
    seen: list[Event] = []
    end = followed([answer(WELL, *["line"] * BATCH_LINES), answer(WELL, "last")], seen.append)
    assert end.verdict == "succeeded"
    assert [e.text for e in seen if isinstance(e, LogLine)][-1] == "last"
