"""The bench keeps stock's programs, which take minutes to make, and takes none for another."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram

from bench import by_hand, lowering, quantization, stock
from bench.lowering import Lowering
from bench.models import named_model
from xir.models import ModelError

INPUTS = (torch.ones(1, 4),)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The programs that were lowered, in order."""
    paths: list[Path] = []

    def lower(exported: ExportedProgram, path: Path) -> Lowering:
        assert len(exported.graph_signature.user_inputs) == 1
        path.write_bytes(b"program")
        paths.append(path)
        return Lowering("ExecuTorch", 60.0, 7)

    monkeypatch.setattr(lowering, "lower_stock", lower)
    return paths


def test_a_program_is_made_once(made: list[Path], tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    first, second = (stock.stock_program("linear", model, INPUTS, None, tmp_path) for _ in range(2))
    assert made == [first.path]
    assert second.path == first.path
    assert second.lowering.seconds == 60.0
    assert "earlier" in second.lowering.compiler


def test_other_weights_inputs_and_forms_are_other_programs(
    made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nn.Linear(4, 2)
    wanted = [model(*INPUTS).detach()]
    exported = torch.export.export(model, INPUTS)
    monkeypatch.setattr(quantization, "quantize_stock", lambda *_: exported)
    stock.stock_program("linear", model, INPUTS, None, tmp_path)
    stock.stock_program("linear", model, (torch.zeros(1, 4),), None, tmp_path)
    for mode in ("static", "dynamic"):
        program = stock.stock_program("linear", model, INPUTS, stock.Quantization(mode, [INPUTS], wanted), tmp_path)
        assert program.graph_sqnr == float("inf")
    with torch.no_grad():
        model.weight += 1
    stock.stock_program("linear", model, INPUTS, None, tmp_path)
    assert len(set(made)) == 5


def test_a_program_whose_making_was_interrupted_is_made_again(made: list[Path], tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    path = stock.stock_program("linear", model, INPUTS, None, tmp_path).path
    path.with_suffix(".json").unlink()
    stock.stock_program("linear", model, INPUTS, None, tmp_path)
    assert made == [path, path]


@pytest.mark.parametrize("quantized", [False, True], ids=["fp32", "int8"])
@pytest.mark.parametrize("name", by_hand.NETWORKS)
def test_networks_by_hand_are_graphs_that_xnnpack_runs(name: str, quantized: bool) -> None:
    graph = by_hand.Graph(quantized)
    run = graph.finish(by_hand.NETWORKS[name](graph))
    logits = graph.kept[-1]
    before = logits.copy()
    run()
    assert (logits[: by_hand.CLASSES] != before[: by_hand.CLASSES]).any()


FACTORIES = """
from torch import nn, ones

def net():
    return nn.Linear(4, 2), (ones(1, 4),)

def open_sizes():
    return nn.Linear(4, 2), (ones(2, 4),), ({0: "batch"},)
"""


def test_models_of_the_zoo_and_of_files_are_measured(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FACTORIES, encoding="utf-8")
    name, model, inputs = named_model(f"{tmp_path}/own.py:net")
    assert (name, model.training, model(*inputs).shape) == ("own_net", False, (1, 2))
    assert named_model("linear")[0] == "linear"
    with pytest.raises(ModelError, match="open sizes, which are not measured"):
        named_model(f"{tmp_path}/own.py:open_sizes")
    with pytest.raises(ModelError, match="there is no model 'lnear'"):
        named_model("lnear")
