"""Ranges by what the outputs feel."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import quality
from reference.modules import Calling
from torch import Tensor, nn

import xir
from xir.quantizer import QuantConfig, WrongQuantizationError, sensitivity

pytestmark = pytest.mark.filterwarnings("ignore")


def outliers(weight: float) -> Any:
    """A value with one channel of rare large numbers, which the output has `weight` of."""
    torch.manual_seed(0)
    mix, head = nn.Linear(16, 16), nn.Linear(16, 8)
    mix.weight.data = torch.eye(16)
    head.weight.data[:, 0] = weight
    return nn.Sequential(mix, head)


def _inputs() -> list[tuple[Tensor]]:
    generator = torch.Generator().manual_seed(1)
    found = torch.randn(16, 64, 16, generator=generator)
    found[:, ::32, 0] *= 40
    return [(each,) for each in found]


INPUTS = _inputs()


def reach(model: nn.Module, observer: str) -> float:
    """The largest number that the first layer's integers stand for."""
    config: Any = QuantConfig(observer=observer, equalization=False)  # pyright: ignore[reportArgumentType]
    graph = xir.quantize(model, INPUTS[0], INPUTS, config).graph_module.graph
    conversions = [node for node in graph.nodes if "quantize_per_tensor.default" in str(node.target)]
    between = [node for node in conversions if "dequantize" not in str(node.target)][1]
    scale, zero_point = between.args[1:3]
    return (127 - zero_point) * scale


def test_outliers_that_the_outputs_feel_are_kept() -> None:
    """Those that nothing feels are cut off."""
    largest = max(float(each.abs().max()) for (each,) in INPUTS)
    assert reach(outliers(3.0), "outputs") > 0.85 * largest
    assert reach(outliers(0.0), "outputs") < 0.35 * largest


@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_outputs_are_as_good_as_with_the_best_other_range(weight: float) -> None:
    model = outliers(weight)

    def worth(observer: str) -> float:
        config = QuantConfig(observer=observer, equalization=False)  # pyright: ignore[reportArgumentType]
        return quality(model, xir.quantize(model, INPUTS[0], INPUTS, config), INPUTS)

    assert worth("outputs") > max(worth("histogram"), worth("minmax")) - 0.3


def test_both_are_verified_and_less_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    config = QuantConfig(equalization=False)
    for weight in (0.0, 3.0):
        assert xir.quantize(outliers(weight), INPUTS[0], INPUTS, config, verify=True)
    monkeypatch.setattr(sensitivity, "FACTORS", (0.1,))
    with pytest.raises(WrongQuantizationError, match="cuts off too much"):
        xir.quantize(outliers(0.0), INPUTS[0], INPUTS, config, verify=True)


def test_without_outputs_of_numbers_the_range_is_the_histogram_s() -> None:
    model = Calling(lambda m, x: m.inner(x).argmax(-1), inner=outliers(1.0))
    assert reach(model, "outputs") == reach(model, "histogram")


def test_it_is_the_same_each_time_and_leaves_buffers_alone() -> None:
    def counting(m: Any, x: Tensor) -> Tensor:
        m.count.add_(x.mean(0))
        return m.inner(x + m.count)

    model = Calling(counting, inner=outliers(1.0), count=torch.zeros(16))
    assert reach(model, "outputs") == reach(model, "outputs")
    assert not bool(model.count.any())


def test_one_end_alone_is_narrowed_where_the_outputs_feel_the_other() -> None:
    """Channel 0 has rare large numbers that nothing reads, channel 1 rare small ones that count."""
    inputs = [(each.clone(),) for (each,) in INPUTS]
    for (each,) in inputs:
        each[:, 1] = each[:, 1].roll(1)
        each[::32, 0], each[1::32, 1] = each[::32, 0].abs(), -each[::32, 0].abs()
    model = outliers(0.0)
    model[1].weight.data[:, 1] = 3.0
    found = xir.quantize(model, inputs[0], inputs, QuantConfig(equalization=False))
    nodes = [node for node in found.graph_module.graph.nodes if ".quantize_per_tensor.default" in str(node.target)]
    scale, zero_point = nodes[1].args[1:3]
    smallest, largest = (-128 - zero_point) * scale, (127 - zero_point) * scale
    reached = max(float(each.abs().max()) for (each,) in inputs)
    assert smallest < -0.85 * reached
    assert largest < 0.5 * reached


@pytest.mark.parametrize(
    ("costs", "cutting", "best"),
    [
        ([[4, 3, 1, 2], [4, 3, 2, 2]], (1, 1), 2),
        ([[4, 3, 0, 2], [4, 3, 2.9, 2]], (1, 1), 3),  # better in the first half of the inputs alone
        ([[4, 3, 1, 2], [4, 3, 2, 2]], (1, 0), 1),  # there was nothing to cut off in the second half
        ([[2, 3, 3, 3], [2, 3, 3, 3]], (1, 1), 0),
        ([[4, 3, 1, 1], [0, 0, 0, 0]], (1, 0), 1),  # one input
        ([[0, 0, 0, 0], [0, 0, 0, 0]], (1, 1), None),
        ([[4, torch.inf, 1, 1], [4, 3, 1, 1]], (1, 1), None),
    ],
)
def test_a_range_narrowed_at_one_end_is_better_and_cuts_off_in_both_halves(
    costs: list[list[float]], cutting: tuple[int, int], best: int | None
) -> None:
    known = [(torch.tensor(float(each)), torch.tensor(0)) for each in range(4)]
    found = sensitivity.Candidates(known[:2], known[2:]).best(
        torch.tensor(costs), torch.tensor(cutting, dtype=torch.bool)[:, None].expand(2, 4)
    )
    assert found is (None if best is None else known[best])


def test_inputs_without_elements_cost_nothing() -> None:
    """A batch of none among the calibration inputs, at a size that is open, and an output that has elements."""
    rows = torch.export.Dim("rows", min=0, max=64)
    model = Calling(lambda m, x: m.inner(x).sum(0) + 1, inner=outliers(1.0))
    config = QuantConfig(equalization=False)
    given = [INPUTS[0], (torch.zeros(0, 16),), INPUTS[1]]
    some, all_of_them = (
        xir.quantize(model, INPUTS[0], each, config, dynamic_shapes=({0: rows},)) for each in (given[::2], given)
    )
    for one, other in zip(some.state_dict.values(), all_of_them.state_dict.values(), strict=True):
        assert torch.equal(one, other)
