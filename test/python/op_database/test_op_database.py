"""The database's first samples end in a right result, a diagnostic, or torch's own error; and a run tells all ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch
from reference.modules import quiet
from torch.utils import _pytree as pytree

from op_database.exceptions import LISTED_HERE, Listed, unneeded
from op_database.inputs import WAYS, drawn
from op_database.outcome import FAULTS, Kind, Outcome, Together, outcome_of, outcomes_of
from op_database.page import page
from op_database.run import TOGETHER, Operator, Records, line_of, read, run
from op_database.samples import Call, Sample, dtype_of, operators, samples
from op_database.ways import Way, compare

PARTS = 8
"""Of the operators; `make test` runs one, in which each eighth of them is."""


def sample_of(function: object, *inputs: torch.Tensor) -> Sample:
    leaves, spec = pytree.tree_flatten((inputs, {}))
    assert callable(function)
    return Sample(0, Call(function, leaves, spec), inputs)


def first_outcomes(names: Iterable[str], dtype: str = "fp32") -> list[Outcome]:
    """What becomes of the first samples of those operators that take the type, a dozen in one program."""
    with quiet():
        firsts = [samples(name, dtype, 1)[0] for name in names if name in operators(dtype)]
    chunks = [firsts[start : start + TOGETHER] for start in range(0, len(firsts), TOGETHER)]
    found = [outcome for chunk in chunks for outcome in outcomes_of(chunk, dtype_of(dtype))]
    faults = {each.name: outcome for each, outcome in zip(firsts, found, strict=True) if outcome.kind in FAULTS}
    assert not faults
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.exhaustive) for part in range(1, PARTS))])
def test_first_samples(part: int) -> None:
    kinds = [each.kind for each in first_outcomes(list(operators())[part::PARTS])]
    assert kinds.count(Kind.DELEGATE) > 150 / PARTS
    assert kinds.count(Kind.KERNELS) > 150 / PARTS


FEW = ("add", "mul", "clamp", "div.floor_rounding", "mean", "nn.functional.linear", "where", "pow")


@pytest.mark.parametrize(("dtype", "kind"), [("fp16", "delegate"), ("bf16", "delegate"), ("int32", "kernels")])
def test_first_samples_in_other_types(dtype: str, kind: str) -> None:
    assert [each.kind for each in first_outcomes(FEW, dtype)].count(Kind(kind)) >= len(FEW) / 2
    if dtype == "int32":
        first_outcomes(FEW, "uint8")


def test_the_command(tmp_path: Path) -> None:
    """In a process of its own: what multiprocessing starts imports the main module anew, which here would be pytest."""
    command = [sys.executable, "-m", "op_database", "--most", "1", "--folder", str(tmp_path), "add", "where"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*command, "--types", "fp16,int32"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [(dtype, name) for dtype in ("fp16", "int32") for name in ("add", "where")]
    assert all(read(Operator(name, dtype).path(tmp_path)).outcomes.keys() == {0} for dtype, name in found)
    assert "fp16: 2 samples" in done.stdout


WRONG_ONCE = {
    "grid_sampler_2d": 0,
    "native_batch_norm": 0,
    "nn.functional.embedding_bag": 0,
    "nn.functional.alpha_dropout": 14,
}


@pytest.mark.parametrize("name", WRONG_ONCE)
def test_samples_that_were_wrong_in_bf16(name: str) -> None:
    """Points near the type's limit, the type of saved statistics, a result whose shape torch says wrong, and one whose
    type torch's own decomposition says wrong."""
    index = WRONG_ONCE[name]
    assert outcome_of(samples(name, "bf16", index + 1)[index], torch.bfloat16).kind not in FAULTS


def test_samples_are_the_same_each_time() -> None:
    for first, second in zip(samples("nn.functional.linear"), samples("nn.functional.linear"), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(first.inputs, second.inputs, strict=True))


FUNCTIONS: tuple[tuple[Kind, object], ...] = (
    (Kind.DELEGATE, lambda x: x * 2),
    (Kind.KERNELS, lambda x: x.cumsum(0)),
    (Kind.REFUSED, lambda x: x.nonzero()),
    (Kind.TORCH, torch.erfinv),
    (Kind.UNCOMPARED, torch.bernoulli),
    (Kind.NOT_EXPORTED, lambda x: x.view(-1, 3)),
    (Kind.UNCOMPARED, torch.empty_like),
)


def test_samples_run_together_or_apart() -> None:
    """Those that are right in one program, each by what computes it; and alone those that are refused, that eager
    refuses, or that draw numbers."""
    kinds, functions = zip(*FUNCTIONS, strict=True)
    drawn_samples = [sample_of(function, torch.rand(5)) for function in functions]
    found = outcomes_of(drawn_samples, torch.float32)
    assert tuple(each.kind for each in found) == kinds
    assert tuple(outcome_of(each, torch.float32).kind for each in drawn_samples) == kinds
    assert found[0].runs == found[1].runs == len(WAYS)
    assert sorted(Together(drawn_samples, torch.float32).outcomes()) == [0, 1, 3]


def test_inputs_have_sizes_and_special_values() -> None:
    sample = sample_of(torch.add, torch.rand(20, dtype=torch.float16), torch.arange(20))
    found = dict(drawn(sample, torch.float16))
    assert tuple(found) == WAYS
    assert [round(float(found[name][0].abs().max()), 4) for name in ("1e-3", "1", "30")] == [0.001, 1, 30]
    assert 50_000 < float(found["limit"][0].max()) < 65_504
    assert found["special"][0].isnan().any()
    assert all(torch.equal(inputs[1], torch.arange(20)) for inputs in found.values())


def way_of(x: torch.Tensor) -> Way:
    """What is known of a function that returns its input."""
    return Way("as drawn", (x,), [x], sample_of(torch.clone, x))


def test_wrong_results_are_told() -> None:
    x = torch.tensor([1.0, 2.0, float("inf")])
    assert compare([x * (1 + 1e-6)], way_of(x)) == ""
    assert "roundings off" in compare([x * (1 + 1e-5)], way_of(x))
    assert "is 1 instead of inf" in compare([torch.tensor([1.0, 2.0, 1.0])], way_of(x))
    assert compare([torch.tensor([1.0, 2.0, 1.0])], way_of(x), "both are finite") == ""
    assert compare([torch.tensor([1.0, 3.0, 1.0])], way_of(x), "both are finite") != ""
    assert "instead of" in compare([x.double()], way_of(x))
    assert "instead of" in compare([x, x], way_of(x))
    assert "is 4 instead of 3" in compare([torch.tensor([1, 2, 4])], way_of(torch.tensor([1, 2, 3])))


@pytest.mark.parametrize("entry", LISTED_HERE, ids=lambda entry: entry.name)
def test_listed_differences_are_needed(entry: Listed) -> None:
    name, dtype, index = entry.example
    outcome = outcome_of(samples(name, dtype, index + 1)[index], dtype_of(dtype))
    assert (outcome.kind, outcome.detail) == (Kind.LISTED, entry.name)


def test_listed_differences_have_bounds_and_are_told_when_no_sample_has_them() -> None:
    root = next(entry for entry in LISTED_HERE if entry.name == "roots beyond 2^126")
    x = torch.tensor([1.0, 2.0])
    assert root.allows([x * 1.5], way_of(x))
    assert not root.allows([x * 3], way_of(x))
    assert not root.allows([x.double()], way_of(x))
    needed = {(entry.name, operator) for entry in LISTED_HERE for operator in entry.operators}
    assert unneeded(needed) == []
    assert unneeded(needed - {(root.name, "sqrt")}) == [f"'{root.name}' is listed for sqrt, which is right"]


def test_a_run_goes_on_where_another_ended(tmp_path: Path) -> None:
    operator = Operator("cumsum")
    path = operator.path(tmp_path)
    assert list(run([operator], tmp_path, 1, 2)) == [operator]
    before = read(path)
    assert len(before.outcomes) == 2
    # A line that the end of the process cut off, and an outcome that no run would give.
    last = max(before.outcomes)
    kept = json.dumps(line_of(0, Outcome(Kind.WRONG, "kept")))
    path.write_text(f'{{"made": {before.made}}}\n{kept}\n{{"index": {last}, "ki', encoding="utf-8")
    list(run([operator], tmp_path, 1, 2))
    assert read(path).outcomes == {0: Outcome(Kind.WRONG, "kept"), last: before.outcomes[last]}
    assert read(path).complete(2)
    assert not read(path).complete(3)


def test_the_page_counts() -> None:
    found = {
        Operator("add"): Records({0: Outcome(Kind.DELEGATE, "", 6), 1: Outcome(Kind.REFUSED, "'x' is a 3|4")}, 2),
        Operator("abs"): Records({0: Outcome(Kind.REFUSED, "'y' is a 5|6")}, 9),
        Operator("abs", "bf16"): Records({0: Outcome(Kind.KERNELS, "", 4)}, 1),
        Operator("sqrt", "bf16"): Records({0: Outcome(Kind.LISTED, "roots beyond 2^126", 5)}, 3),
    }
    text = page(found)
    assert "5 of the 15 that torch" in text
    assert "of 3 operators" in text
    assert "15 comparisons" in text
    assert "| '…' is a …\\|… | 2 | `abs`, `add` |" in text
    assert "| roots beyond 2^126 | 1 |" in text
    assert "| `add` | 2 | 1 |  |  | 1 |" in text
    assert "| operator | bf16 |" in text
    assert "| `abs` | 1 |" in text
