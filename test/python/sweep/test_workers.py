"""Tasks in processes: what they tell, and what becomes of those that go down or hang."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from sweep.tasks import Counting, work

from xir.workers import Ended, Told, run

ENDS = {
    "returns": ("", 0, None, 1),
    "killed": ("kill", 9, "the process was killed by SIGKILL", 2),
    "exit code": ("exit", 9, "the process ended with exit code 3", 2),
    "hangs": ("hang", 9, "it took longer than 3 s", 2),
    "killed once": ("kill", 1, None, 2),
}
"""What a task does, in how many processes, how it ends, and after how many attempts."""


def test_each_task_ends_and_none_costs_another(tmp_path: Path) -> None:
    tasks = [Counting(name, 2, then, bad, tmp_path) for name, (then, bad, *_) in ENDS.items()]
    events = [*run(deque(tasks), work, 2, seconds=lambda _: 3, attempts=2, preload=["sweep.tasks"])]
    ended = {event.task.name: (event.reason, event.attempts) for event in events if isinstance(event, Ended)}
    assert ended == {name: tuple(expected) for name, (_, _, *expected) in ENDS.items()}
    assert [event.task.name for event in events if isinstance(event, Ended) and event.is_late] == ["hangs"]
    for name, (_, attempts) in ended.items():
        told = [event.what for event in events if isinstance(event, Told) and event.task.name == name]
        assert told == [0, 1] * attempts


def test_tasks_are_added_meanwhile(tmp_path: Path) -> None:
    waiting = deque([Counting("first", 1, folder=tmp_path)])
    done: list[str] = []
    for event in run(waiting, work, 1, seconds=lambda _: 60):
        if isinstance(event, Ended):
            done.append(event.task.name)
            if event.task.name == "first":
                waiting.append(Counting("second", 1, folder=tmp_path))
    assert done == ["first", "second"]


def test_who_stops_waiting_ends_the_processes(tmp_path: Path) -> None:
    events = run(deque([Counting("long", 1, "hang", 9, tmp_path)]), work, 1, seconds=lambda _: 600)
    assert isinstance(next(events), Told)
    events.close()
    with pytest.raises(StopIteration):
        next(events)
