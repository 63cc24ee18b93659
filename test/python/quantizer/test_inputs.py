"""Models whose inputs are more than a tuple of tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import sqnr
from reference.modules import Calling
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.utils._pytree import tree_leaves

import xir
from xir.ir.diagnostics import DiagnosticError
from xir.quantizer import QuantConfig, quantize_and_measure
from xir.runtime import Runtime

r = torch.randn


def gated(
    m: Any, x: Tensor, gain: int = 1, *, mask: Tensor | None = None, offset: Tensor, cache: list[dict[str, Any]]
) -> Tensor:
    """A number and None that choose what is computed, a tensor in a dict in a list, and keyword arguments."""
    y = torch.relu(m.linear(x)) * gain + cache[0]["last"]
    return y + offset if mask is None else y * mask


def arguments(rows: int = 3) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (r(rows, 8), 2), {"cache": [{"first": None, "last": r(rows, 8)}], "offset": r(rows, 8)}


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(2)
    return Calling(gated, linear=nn.Linear(8, 8)).eval()


@pytest.fixture(scope="module")
def program(model: nn.Module) -> ExportedProgram:
    """Exported with keyword arguments in another order than that of its parameters, and an open number of rows."""
    args, kwargs = arguments()
    rows = Dim("rows", min=1, max=10)
    shapes = {"x": {0: rows}, "gain": None, "cache": [{"first": None, "last": {0: rows}}], "offset": {0: rows}}
    return torch.export.export(model, args, kwargs, dynamic_shapes=shapes)


def check(model: nn.Module, program: ExportedProgram, rows: int, least: float) -> None:
    """The program and its file agree with the model."""
    args, kwargs = arguments(rows)
    expected = model(*args, **kwargs).detach()
    own = program.module()(*args, **kwargs).detach()
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner())
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method()
    flat = [*args, *pytree_leaves(program, kwargs)]
    for actual in (own, torch.as_tensor(method.execute(flat)[0])):
        assert expected.shape == actual.shape
        assert sqnr(expected, actual) > least


def pytree_leaves(program: ExportedProgram, kwargs: dict[str, Any]) -> list[Any]:
    """The values of keyword arguments in the program's order."""
    spec = program.call_spec.in_spec
    assert spec is not None
    return [leaf for name in spec.children()[1].context for leaf in tree_leaves(kwargs[name])]


@pytest.mark.parametrize("config", [QuantConfig(), QuantConfig("dynamic")], ids=lambda config: config.mode)
def test_keyword_arguments_dicts_numbers_and_none(model: nn.Module, config: QuantConfig) -> None:
    args, kwargs = arguments()
    quantized = xir.quantize(model, args, [arguments() for _ in range(8)], config, kwargs=kwargs)
    check(model, quantized, 3, 25)


def test_a_program_exported_with_keyword_arguments_keeps_its_open_sizes(
    model: nn.Module, program: ExportedProgram
) -> None:
    args, kwargs = arguments(5)
    calibration = [arguments(rows) for rows in (4, 10, 7, 10)]
    quantized, report = quantize_and_measure(program, args, calibration, kwargs=kwargs)
    assert report.inputs == 4
    assert {int(bounds.upper) for bounds in quantized.range_constraints.values()} == {10}
    check(model, quantized, 9, 20)


def test_calibration_by_keyword() -> None:
    """What tokenizers and data loaders of dicts give."""

    batches = [{"b": r(2, 4), "a": r(2, 4)} for _ in range(3)]
    sample = {"a": r(2, 4), "b": r(2, 4)}
    for model, args, kwargs in (
        (Calling(lambda m, a, b: m.linear(a + b), linear=nn.Linear(4, 4)), (), sample),
        (Calling(lambda m, batch: m.linear(batch["a"] + batch["b"]), linear=nn.Linear(4, 4)), (sample,), None),
    ):
        _, report = quantize_and_measure(model.eval(), args, batches, kwargs=kwargs)
        assert report.inputs == 3
        with torch.no_grad():
            largest = max(float(model.linear(each["a"] + each["b"]).max()) for each in batches)
        assert max(layer.high for layer in report.layers) >= largest - 1e-5


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (lambda a: a, None, r"sample inputs.*it lacks the keyword argument 'cache'; the model takes \(Tensor, int, "),
        (lambda a: a[:1], "as it is", "it has 1 tensor; the model takes 2 inputs"),
        (lambda a: (a[0], 3), "as it is", "input 1 is 3; the model was exported for 2 alone"),
        (lambda a: (a[0], a[0]), "as it is", "input 1 is a tensor; the model was exported for 2 alone"),
        (
            lambda a: a,
            {"cache": []},
            r"cache=\[\], offset=Tensor\); the model takes .*cache=\[\{'first': None, 'last': Tensor\}\]",
        ),
        (lambda a: a, {"cache": [{"first": r(1), "last": r(3, 8)}]}, r"input 'cache'\[0\]\['first'\] is a tensor"),
        (lambda a: a, {"offset": r(3, 9)}, r"tensor 'offset' has shape \[3, 9\]; the model takes \[any, 8\]"),
    ],
)
def test_inputs_that_do_not_fit(program: ExportedProgram, args: Any, kwargs: Any, message: str) -> None:
    positional, named = arguments()
    given = {**named, **kwargs} if isinstance(kwargs, dict) else kwargs and named
    with pytest.raises(DiagnosticError, match=message):
        xir.quantize(program, args(positional), kwargs=given)


def choice(m: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, and the large numbers of the best ones."""
    scores = m.head(torch.relu(m.hidden(x)))
    return scores, (scores.argmax(-1) + 1) * 1000, torch.sin(x) * 1000


def test_each_output_is_bounded_for_itself() -> None:
    """Large outputs without noise do not hide that of small ones."""
    torch.manual_seed(0)
    inputs = [r(64, 16) for _ in range(2)]
    model = Calling(choice, hidden=nn.Linear(16, 32), head=nn.Linear(32, 8)).eval()
    _, report = quantize_and_measure(model, (inputs[0],), inputs)
    scores, choices, exact = report.outputs
    assert report.output == scores.sqnr < 45 < exact.sqnr
    assert [each.is_float for each in report.outputs] == [True, False, True]
    assert 0.5 < choices.equal < 1
    assert "of its elements are equal" in report.text()
    program, better = quantize_and_measure(model, (inputs[0],), inputs, QuantConfig(min_sqnr=scores.sqnr + 1))
    assert better.kept
    with torch.no_grad():
        wanted, given = (torch.cat([each(x)[0] for x in inputs]) for each in (model, program.module()))
    assert sqnr(wanted, given) >= scores.sqnr + 1


@pytest.mark.parametrize(
    ("model", "shape", "mode", "message"),
    [
        (nn.LSTM(4, 4), (2, 1, 4), "static", "aten.lstm: recurrent layers compute in float"),
        (nn.GRU(4, 4), (2, 1, 4), "dynamic", "aten.gru: recurrent layers compute in float"),
        (nn.Linear(4, 4).double(), (2, 4), "static", "it computes in float64, and quantisation takes float32 models"),
        (nn.Conv1d(4, 4, 1), (1, 4, 4), "dynamic", "aten.conv1d: mode 'dynamic' covers linear layers and dense"),
        (nn.Softmax(-1), (2, 4), "dynamic", "no layer of it multiplies by weights"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_why_there_is_nothing_to_quantize(model: nn.Module, shape: tuple[int, ...], mode: Any, message: str) -> None:
    x = r(*shape).to(next((each.dtype for each in model.parameters()), torch.float32))
    with pytest.raises(DiagnosticError, match=f"the model has nothing to quantise: .*{message}"):
        xir.quantize(model.eval(), (x,), config=QuantConfig(mode))
