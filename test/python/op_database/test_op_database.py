"""The database's first samples end in a right result, a diagnostic, or torch's own error; and a run tells all ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils import _pytree as pytree

from op_database.outcome import FAULTS, Kind, Outcome, compare, is_edge, outcome_of
from op_database.page import page
from op_database.run import Records, path_of, read, run, write
from op_database.samples import Call, Sample, operators, samples


def sample_of(function: object, *inputs: torch.Tensor) -> Sample:
    leaves, spec = pytree.tree_flatten((inputs, {}))
    assert callable(function)
    return Sample(0, Call(function, leaves, spec), inputs)


@pytest.mark.slow
def test_first_samples(tmp_path: Path) -> None:
    # A command of its own: what multiprocessing starts imports the main module anew, which here would be pytest.
    command = [sys.executable, "-m", "op_database", "--first", "1", "--folder", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [outcome.kind for name in operators() for outcome in read(path_of(tmp_path, name)).outcomes.values()]
    assert len(found) == len(operators())
    assert not FAULTS & set(found)
    assert found.count(Kind.DELEGATE) > 150
    assert found.count(Kind.KERNELS) > 150


def test_samples_are_the_same_each_time() -> None:
    for first, second in zip(samples("nn.functional.linear"), samples("nn.functional.linear"), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(first.inputs, second.inputs, strict=True))


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x * 2, Kind.DELEGATE),
        (lambda x: x.cumsum(0) * 2, Kind.KERNELS),
        (torch.erfinv, Kind.TORCH),
        (torch.bernoulli, Kind.UNCOMPARED),
        (torch.empty_like, Kind.UNCOMPARED),
        (lambda x: x.nonzero(), Kind.REFUSED),
        (lambda x: x.view(-1, 3), Kind.NOT_EXPORTED),
    ],
)
def test_outcomes(function: object, kind: Kind) -> None:
    assert outcome_of("function", sample_of(function, torch.rand(5))).kind is kind


def test_edges_are_where_a_result_is_not_finite() -> None:
    x = torch.tensor([1.0, 2.0, float("inf")])
    assert is_edge([torch.tensor([1.0, 2.0, 3.0])], [x])
    assert not is_edge([torch.tensor([1.0, 3.0, float("inf")])], [x])
    assert not is_edge([x.double()], [x])


def test_wrong_results_are_told() -> None:
    x = torch.tensor([1.0, 2.0, float("inf")])
    assert compare([x * (1 + 1e-6)], [x], None) == ""
    assert "off by" in compare([x * (1 + 1e-4)], [x], None)
    assert "not finite in other places" in compare([torch.ones(3)], [x], None)
    assert "instead of" in compare([x.double()], [x], None)
    assert "instead of" in compare([x, x], [x], None)
    assert "1 of 3 integers" in compare([torch.tensor([1, 2, 4])], [torch.tensor([1, 2, 3])], None)


def test_a_run_goes_on_where_another_ended(tmp_path: Path) -> None:
    path = path_of(tmp_path, "cumsum")
    assert list(run(["cumsum"], tmp_path, 1, first=2)) == ["cumsum"]
    before = read(path)
    assert len(before.outcomes) == 2
    # A line that the end of the process cut off, and an outcome that no run would give.
    write(path, Records({0: Outcome(Kind.WRONG, "kept")}, before.total))
    path.write_text(path.read_text(encoding="utf-8") + '{"index": 1, "ki', encoding="utf-8")
    list(run(["cumsum"], tmp_path, 1, first=2))
    assert read(path).outcomes == {0: Outcome(Kind.WRONG, "kept"), 1: before.outcomes[1]}


def test_the_page_counts() -> None:
    found = {
        "add": Records({0: Outcome(Kind.DELEGATE), 1: Outcome(Kind.REFUSED, "'x' is a 3|4")}, 2),
        "abs": Records({0: Outcome(Kind.REFUSED, "'y' is a 5|6")}, 1),
    }
    text = page(found)
    assert "all 3 samples" in text
    assert "| '…' is a …\\|… | 2 | `abs`, `add` |" in text
    assert "| `add` | 2 | 1 | 1 |" in text
