"""The bench keeps stock's programs, which take minutes to make, and takes none for another."""

from __future__ import annotations

import json
import re
import shlex
import sys
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram

from bench import by_hand, latency, lowering, quantization, stock
from bench.__main__ import main
from bench.lowering import Lowering
from bench.models import named_model
from xir.device.transports import own_runner
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


def linear(
    model: nn.Module, folder: Path, recipe: stock.Quantization | None = None, inputs: tuple[torch.Tensor, ...] = INPUTS
) -> stock.StockProgram:
    return stock.stock_program("linear", model, inputs, recipe, folder)


def test_a_program_is_made_once(made: list[Path], tmp_path: Path) -> None:
    """But once more where its making was interrupted."""
    model = nn.Linear(4, 2)
    first, second = (linear(model, tmp_path) for _ in range(2))
    assert made == [first.path]
    assert second.path == first.path
    assert second.lowering.seconds == 60.0
    assert "earlier" in second.lowering.compiler
    first.path.with_suffix(".json").unlink()
    linear(model, tmp_path)
    assert made == [first.path] * 2


def test_other_weights_inputs_and_forms_are_other_programs(
    made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nn.Linear(4, 2)
    wanted = [model(*INPUTS).detach()]
    exported = torch.export.export(model, INPUTS)
    monkeypatch.setattr(quantization, "quantize_stock", lambda *_: exported)
    linear(model, tmp_path)
    linear(model, tmp_path, inputs=(torch.zeros(1, 4),))
    for mode in ("static", "dynamic"):
        program = linear(model, tmp_path, stock.Quantization(mode, [INPUTS], wanted))
        assert program.graph_sqnr == float("inf")
    with torch.no_grad():
        model.weight += 1
    linear(model, tmp_path)
    assert len(set(made)) == 5


def test_networks_by_hand_are_graphs_that_xnnpack_runs() -> None:
    for name, quantized in product(by_hand.NETWORKS, (False, True)):
        graph = by_hand.Graph(quantized)
        run = graph.finish(by_hand.NETWORKS[name](graph))
        logits = graph.kept[-1]
        before = logits.copy()
        run()
        assert (logits[: by_hand.CLASSES] != before[: by_hand.CLASSES]).any(), (name, quantized)


FACTORIES = """
from torch import nn, ones

def net():
    return nn.Linear(4, 2), (ones(1, 4),)

def open_sizes():
    return nn.Linear(4, 2), (ones(2, 4),), ({0: "batch"},)
"""


@pytest.mark.parametrize(("device", "quantize"), [("local", []), ("command", ["--quantize"])], ids=["fp32", "int8"])
def test_both_files_are_measured_on_a_device(
    device: str,
    quantize: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On each number of threads, and what they compute there is compared."""
    for name in ("WARM_UP_SECONDS", "ROUND_SECONDS", "SECONDS"):
        monkeypatch.setattr(latency, name, 0.01)
    (tmp_path / "own.py").write_text(FACTORIES, encoding="utf-8")
    on = "local" if device == "local" else shlex.quote(str(own_runner()))
    json_file = tmp_path / "found.json"
    command = ["bench", "--model_name", f"{tmp_path}/own.py:net", "--on", on, "--json", str(json_file)]
    monkeypatch.setattr(sys, "argv", [*command, *quantize])
    main()
    said, found = capsys.readouterr().out, json.loads(json_file.read_text())
    assert "Both files run in xir's runtime on the device, where ExecuTorch's own is not." in said
    assert ", XNNPACK build " in found["processor"]
    names = ["xir", "ExecuTorch", *(["xir fp32"] if quantize else [])]
    rows = [(row["threads"], row["runtime"]) for row in found["latency_ms"]]
    assert rows == [(threads, name) for threads in (1, 2) for name in names]
    assert all(
        0 < row["minimum"] <= row["median"] and row["load"] > 0 and row["first"] > 0 for row in found["latency_ms"]
    )
    if quantize:
        assert found["sqnr_db"]["xir"] > 20
        assert found["sqnr_db"]["ExecuTorch"] > 20
    else:
        (largest,) = re.findall(r"Largest difference of the two outputs: (\S+) of", said)
        assert float(largest) < 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--on", "false"], "bench: error: --on: false: the connection ended while waiting for it to say what it is"),
        (["--program", "runner"], "bench: error: --program is a file for a device: give --on as well"),
    ],
)
def test_a_device_that_does_not_answer_ends_the_bench_before_it_begins(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert str(ended.value.code).startswith(message)


def test_models_of_the_zoo_and_of_files_are_measured(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FACTORIES, encoding="utf-8")
    name, model, inputs = named_model(f"{tmp_path}/own.py:net")
    assert (name, model.training, model(*inputs).shape) == ("own_net", False, (1, 2))
    assert named_model("linear")[0] == "linear"
    with pytest.raises(ModelError, match="open sizes, which are not measured"):
        named_model(f"{tmp_path}/own.py:open_sizes")
    with pytest.raises(ModelError, match="there is no model 'lnear'"):
        named_model("lnear")
