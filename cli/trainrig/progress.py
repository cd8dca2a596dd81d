"""Progress bars on stderr, one a phase; imported only when stderr is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console as RichConsole
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from trainrig.model.events import Event, LogLine, Observer
from trainrig.model.events import Progress as Step

if TYPE_CHECKING:
    from trainrig.console import Console


@contextmanager
def bars(console: Console) -> Iterator[Observer]:
    """Draws one bar a phase; job log lines scroll above them."""
    display = Progress(
        SpinnerColumn(),
        TextColumn("{task.fields[phase]:<10}"),
        BarColumn(bar_width=24),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=RichConsole(stderr=True),
        transient=False,
    )
    tasks = {}

    def observe(event: Event) -> None:
        match event:
            case LogLine():
                console.log_line(event)
            case Step():
                if event.phase not in tasks:
                    tasks[event.phase] = display.add_task("", phase=event.phase, total=None)
                label = f"{event.node}: {event.message}" if event.node else event.message
                display.update(
                    tasks[event.phase],
                    description=label,
                    completed=event.done,
                    total=event.total or None,
                )

    with display:
        yield observe
        for task in tasks.values():
            display.update(task, total=1, completed=1)
