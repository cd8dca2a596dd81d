from __future__ import annotations

from pathlib import Path

from trainrig.lifecycle import log_files
from trainrig.lifecycle.log_files import LogFiles
from trainrig.model.events import Event, LogLine, Progress


def test_lines_go_to_a_file_a_rank_and_every_event_goes_on(tmp_path: Path) -> None:
    heard: list[Event] = []
    log = LogFiles(tmp_path, heard.append, generation=1)
    events: list[Event] = [
        LogLine(rank=1, text="b", cursor="c1"),
        Progress(phase="run", message="m"),
        LogLine(rank=0, text="a", cursor="c0"),
    ]
    for event in events:
        log(event)
    log.close()
    assert heard == events
    assert list(log_files.ranks(tmp_path)) == [0, 1]
    assert log_files.tail(tmp_path, 1, 5) == ["b"]


def test_another_process_goes_on_at_the_cursor(tmp_path: Path) -> None:
    first = LogFiles(tmp_path, lambda _event: None, generation=1)
    first(LogLine(rank=0, text="one", cursor="c1"))
    first.close()
    second = LogFiles(tmp_path, lambda _event: None, generation=1)
    assert second.cursors == {0: "c1"}
    second(LogLine(rank=0, text="two", cursor="c2"))
    second.close()
    assert log_files.tail(tmp_path, 0, 9) == ["one", "two"]


def test_cursors_of_nodes_that_are_gone_are_not_used(tmp_path: Path) -> None:
    first = LogFiles(tmp_path, lambda _event: None, generation=1)
    first(LogLine(rank=0, text="one", cursor="c1"))
    first.close()
    assert LogFiles(tmp_path, lambda _event: None, generation=2).cursors == {}
    (tmp_path / log_files.CURSORS).write_text("{torn")
    assert LogFiles(tmp_path, lambda _event: None, generation=1).cursors == {}


def test_tail_of_a_job_that_wrote_nothing(tmp_path: Path) -> None:
    assert log_files.tail(tmp_path, 0, 5) == []
