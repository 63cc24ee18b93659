"""Sweeps from end to end: what they find, that they go on where they ended, and what they call worse."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from xir.tools.sweep import task
from xir.tools.sweep.plan import LOCAL, Task
from xir.tools.sweep.results import Result, Run
from xir.tools.sweep.task import Job
from xir.tools.xir_sweep import PRELOAD, main
from xir.workers import Ended, Told

NETS = """
import os
import signal
from pathlib import Path

import torch
from torch import nn


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (torch.randn(2, 8),)


def broken():
    return nn.Linear(8, 4), (torch.randn(2, 7),)


def dies_once():
    if not (mark := Path("died")).exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return net()


def grows():
    width = 64 if Path("wide").exists() else 16
    return nn.Linear(8, width), (torch.randn(2, 8),)
"""
PLAN = """
models = ["nets.py:net", "nets.py:grows"]
forms = ["fp32", "dynamic"]
cpus = ["any", "generic"]
seconds = 0.02
"""


def test_a_task_computes_on_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that tasks beside each other do not wait for each other, and files are the same however many there are."""
    found: list[int] = []

    def done(job: Job) -> list[Result]:
        found.append(torch.get_num_threads())
        return job.results()

    monkeypatch.setattr(task, "_done", done)
    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        told: list[list[Result]] = []
        one = Job(Task("net", "fp32", ("any",), (LOCAL,), ()), tmp_path, tmp_path, 1.0)
        task.do(one, told.append)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert (found, told) == ([1], [one.results()])


def test_what_tasks_share_exists() -> None:
    """Processes begin without what cannot be imported, and say nothing."""
    assert [name for name in PRELOAD if importlib.util.find_spec(name) is None] == []


@pytest.fixture
def sweep(tmp_path: Path) -> Callable[..., int]:
    """Runs the command on the plan above."""
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "plan.toml").write_text(PLAN)
    return lambda *flags: main([str(tmp_path / "plan.toml"), "-o", str(tmp_path / "out"), *flags])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Has tasks done in this process, and lists their models."""
    done: list[str] = []
    monkeypatch.chdir(tmp_path)

    def run(jobs: Sequence[Job], work: Callable[..., None], *_: Any, **__: Any) -> Iterator[Told[Job] | Ended[Job]]:
        for job in jobs:
            done.append(f"{job.task.model} {job.task.form}")
            told: list[Any] = []
            work(job, told.append)
            yield Told(job, told[0])
            yield Ended(job, None, is_late=False, attempts=1)

    monkeypatch.setattr("xir.tools.xir_sweep.run", run)
    return done


def table(folder: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The programs of table.json."""
    programs = json.loads((folder / "table.json").read_text())["programs"]
    return {(each["model"], each["form"], each["cpu"]): each for each in programs}


def test_one_table_of_all(sweep: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["net", "broken", "dies_once"]
    (tmp_path / "plan.toml").write_text(PLAN.replace("grows", 'broken", "nets.py:dies_once'))
    assert sweep("--jobs", "2") == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"12 programs, 4 failed, 0 worse than in the last sweep: {tmp_path / 'out' / 'table.md'}"
    assert "broken, fp32, any: 'broken' does not export: " in said[0]
    found = table(tmp_path / "out")
    assert [*found] == [(n, form, cpu) for n in names for form in ("fp32", "dynamic") for cpu in ("any", "generic")]
    for (name, form, _), program in found.items():
        assert (program["error"] is None) == (name != "broken")
        if name == "broken":
            continue
        assert (program["delegates"], program["outside"], program["since"]) == (1, 0, None)
        assert float(program["sqnr"]) > (100 if form == "fp32" else 20)
        assert program["milliseconds"] > 0
    markdown = (tmp_path / "out/table.md").read_text()
    assert markdown.count("\n| ") == 12
    assert "- broken, dynamic, generic: 'broken' does not export: " in markdown
    assert (tmp_path / "out/table.html").read_text().count("<tr>") == 13


def test_an_interrupted_sweep_goes_on(sweep: Callable[..., int], here: list[str], tmp_path: Path) -> None:
    sweep()
    lines = tmp_path / "out/results.jsonl"
    text = lines.read_text()
    whole = text.splitlines(keepends=True)
    lines.write_text("".join(whole[:-3]) + whole[-3][:20])
    here.clear()
    sweep()
    assert here == ["grows fp32", "grows dynamic"]
    assert table(tmp_path / "out").keys() == {(each.model, each.form, each.cpu) for each in map(Result.of_line, whole)}
    assert not (tmp_path / "out/before").exists()


def test_what_is_worse_than_in_the_last_sweep(
    sweep: Callable[..., int], here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep()
    capsys.readouterr()
    (tmp_path / "wide").touch()
    assert sweep() == 1
    assert len(here) == 8
    worse = [line for line in capsys.readouterr().out.splitlines() if line.startswith("grows, fp32, any: ")]
    assert len(worse) == 1
    assert "times the bytes" in worse[0]
    found = table(tmp_path / "out")
    assert found["net", "fp32", "any"]["since"] == 1  # the same bytes are not measured twice
    assert found["grows", "fp32", "any"]["since"] not in (None, 1)
    assert Run(tmp_path / "out").before().keys() == Run(tmp_path / "out").results().keys()


def test_plugins_of_a_plan_take_part(
    sweep: Callable[..., int], here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "added.py").write_text("raise RuntimeError('it was imported')\n")
    (tmp_path / "plan.toml").write_text('models = ["nets.py:net"]\noptions = ["--load-plugin=added.py"]\n')
    assert sweep() == 1
    assert "cannot load the plugin 'added.py': RuntimeError: it was imported" in capsys.readouterr().out


GOOD = Result("k", "net", "int8", "any", "pi", None, 1.0, 1000, 1, 0, 40.0, 2.0, 1.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"error": "no room"}, ["fails: no room"]),
        ({"since": 1.06}, ["takes 1.06 times as long"]),
        ({"since": 1.04}, []),
        ({"sqnr": 38.9}, ["38.9 dB instead of 40.0"]),
        ({"sqnr": 39.1}, []),
        ({"file_bytes": 1020}, ["1.02 times the bytes"]),
        ({"file_bytes": 1009}, []),
        ({"delegates": 3}, ["3 delegates instead of 1"]),
        ({"outside": 2}, ["2 kernels outside instead of 0"]),
        ({"delegates": 0, "sqnr": float("inf"), "since": 0.5}, []),
    ],
)
def test_what_counts_as_worse(change: dict[str, Any], said: list[str]) -> None:
    now = replace(GOOD, **change)
    assert now.worse(GOOD) == said
    assert Result.of_line(now.line()) == now


def test_a_scheduler_that_does_not_answer(
    sweep: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xir.tools.sweep.dask_workers.PATIENCE", 0.5)
    assert sweep("--scheduler", "tcp://127.0.0.1:9") == 1
    assert capsys.readouterr().err.startswith("xir-sweep: error: --scheduler")


def test_workers_of_dask(sweep: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One worker here; tasks are processes of theirs, which take seconds to start, and one that dies is tried again."""
    from distributed import LocalCluster

    def cluster() -> Any:  # whose types say that all it has is awaited
        return LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")

    plan = tmp_path / "plan.toml"
    assert sweep  # has written the files
    plan.write_text('models = ["nets.py:dies_once"]\nseconds = 0.02\n')
    with cluster() as workers:
        assert sweep("--scheduler", workers.scheduler_address) == 0
    assert capsys.readouterr().out.startswith("1 programs, 0 failed, 0 worse")
    assert table(tmp_path / "out")["dies_once", "fp32", "generic"]["delegates"] == 1
