"""Models of the zoo, quantised by xir and by others: one delegate, integer products, and both runtimes agree."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Literal

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from executorch.kernels import quantized  # noqa: F401  # pyright: ignore  # registers the kernels of quantisation
from reference.runtimes import load_stock
from torch import Tensor
from torch.export import ExportedProgram
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

import xir
from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.quantization import is_quantized
from xir.models import load_model
from xir.runtime import Runtime, portable_kernels

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]

TOKENS = {"edge.embedding": 1}
OUTSIDE: dict[str, dict[str, int]] = {"llama2": TOKENS, "mobilebert": TOKENS}
"""What XNNPACK has no node for; nothing for other models."""


def sqnr(actual: Tensor, exact: Tensor) -> float:
    noise = float((actual - exact).double().square().sum())
    return math.inf if noise == 0 else 10 * math.log10(float(exact.double().square().sum()) / noise)


def ours(file: bytes, inputs: tuple[Tensor, ...]) -> Tensor:
    return torch.as_tensor(Runtime.get().load_program(file).load_method("forward").execute(list(inputs))[0])


def stocks(file: bytes, inputs: tuple[Tensor, ...]) -> Tensor:
    return load_stock(file).forward(list(inputs))[0].clone()


def lowered(name: str, program: ExportedProgram, inputs: tuple[Tensor, ...]) -> tuple[xir.EdgeProgram, bytes, Tensor]:
    """The program in one delegate, its file, and what both runtimes compute."""
    delegated = xir.to_edge(program).to_backend(xir.XnnpackPartitioner())
    ops = list(delegated.module.walk())
    assert Counter(op.name for op in ops if isinstance(op, edge.EdgeOp)) == OUTSIDE.get(name, {})
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    file = delegated.to_executorch().buffer
    result = ours(file, inputs)
    assert torch.equal(result, stocks(file, inputs))
    return delegated, file, result


def float_products(program: xir.EdgeProgram) -> list[tuple[int, ...]]:
    """The shapes of the filters of fully connected nodes that compute in floating point; means have one row."""
    nodes = [op for op in program.module.walk() if isinstance(op, xnnpack.FullyConnectedOp)]
    filters = [op.filter for op in nodes if not is_quantized(element_type(op.filter))]
    return [tuple(shape_of(each)) for each in filters if shape_of(each)[0] > 1]


@pytest.mark.parametrize(
    ("mode", "group_size", "least"), [("dynamic", 32, 30), ("int4", 32, 12), ("int4", None, 12)], ids=str
)
@pytest.mark.parametrize("name", ["vit", "mobilebert", "llama2"])
def test_inputs_quantized_at_run_time(
    name: str, mode: Literal["dynamic", "int4"], group_size: int | None, least: float
) -> None:
    model, inputs = load_model(name)
    program = xir.quantize(model, inputs, config=xir.QuantConfig(mode, group_size=group_size))
    delegated, file, result = lowered(name, program, inputs)
    assert not float_products(delegated)
    with torch.no_grad():
        assert sqnr(result, model(*inputs)) > least
        assert sqnr(result, program.module()(*inputs)) > 30
    if mode == "int4":
        weights = sum(each.weight.numel() for each in model.modules() if isinstance(each, torch.nn.Linear))
        others = sum(each.numel() for each in model.state_dict().values()) - weights
        # Half a byte each, and two bytes for each group or four for each channel.
        assert len(file) < 0.6 * weights + 4 * others + 2e6


Recipe = Literal["static", "static by tensor", "dynamic", "qat"]


def by_stock(model: torch.nn.Module, inputs: tuple[Tensor, ...], recipe: Recipe) -> ExportedProgram:
    """The model quantised by ExecuTorch's quantizer."""
    config = get_symmetric_quantization_config(
        is_per_channel=recipe != "static by tensor", is_dynamic=recipe == "dynamic", is_qat=recipe == "qat"
    )
    quantizer = XNNPACKQuantizer().set_global(config)
    exported: Any = torch.export.export(model.train(recipe == "qat"), inputs).module()
    if recipe == "qat":
        observed = prepare_qat_pt2e(exported, quantizer)
        observed(*inputs)
        move_exported_model_to_eval(observed)
    else:
        observed = prepare_pt2e(exported, quantizer)
    with torch.no_grad():
        observed(*inputs)
        return torch.export.export(convert_pt2e(observed), inputs)


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        *((name, recipe) for name in ("mv2", "mv3", "resnet18") for recipe in ("static", "static by tensor", "qat")),
        *((name, recipe) for name in ("resnet18", "vit", "mobilebert", "llama2") for recipe in ("dynamic",)),
        *((name, "static") for name in ("vit", "mobilebert", "llama2")),
    ],
)
def test_graphs_of_stocks_quantizer(name: str, recipe: Recipe) -> None:
    model, inputs = load_model(name)
    program = by_stock(model, inputs, recipe)
    delegated, _, result = lowered(name, program, inputs)
    with torch.no_grad():
        exact, expected = load_model(name)[0](*inputs), program.module()(*inputs)
    assert not float_products(delegated)
    convolutions = [op for op in delegated.module.walk() if isinstance(op, xnnpack.ConvolutionOp)]
    products = [op for op in convolutions if is_quantized(element_type(op.filter))]
    # Of two convolutions in a row it leaves one out where inputs are quantised at run time.
    assert len(products) == len(convolutions) or recipe == "dynamic"
    # Training has moved the statistics of norms; otherwise as accurate as the graph says.
    if recipe != "qat":
        assert sqnr(result, exact) > sqnr(expected, exact) - 1


@pytest.mark.parametrize("name", ["mobilebert", "llama2"])
@pytest.mark.parametrize("by", ["XNNPACKQuantizer", "torchao"])
def test_files_of_stocks_lowering(name: str, by: str) -> None:
    model, inputs = load_model(name)
    if by == "torchao":
        int4: torch.dtype = getattr(torch, "int4")  # noqa: B009  # torch's stubs do not name it
        config = Int8DynamicActivationIntxWeightConfig(weight_dtype=int4, weight_granularity=PerGroup(32))
        quantize_(model, config)
        program = torch.export.export(model, inputs)
    else:
        program = by_stock(model, inputs, "dynamic")
    edge_program = to_edge_transform_and_lower(program, partitioner=[StockPartitioner()])
    file = bytes(edge_program.to_executorch().buffer)
    expected = stocks(file, inputs)
    # Norms and attention stay outside of stock's delegates, and kernels sum in other orders.
    assert sqnr(ours(file, inputs), expected) > 30
    _, _, result = lowered(name, program, inputs)
    assert sqnr(result, expected) > 30


WITHOUT_DELEGATE = {"mv2": 64, "mv3": 64, "resnet18": 64, "mobilebert": 0, "llama2": 0}
"""Size of the images that are enough to see that every kernel is right; 0 for tokens."""


@pytest.mark.parametrize("name", [*WITHOUT_DELEGATE, "llama2 by torchao"])
def test_without_a_delegate(name: str) -> None:
    model, inputs = load_model(name.removesuffix(" by torchao"))
    if name in WITHOUT_DELEGATE:
        crop = WITHOUT_DELEGATE[name]
        inputs = tuple(image[..., :crop, :crop].contiguous() for image in inputs) if crop else inputs
        program = xir.quantize(model, inputs, config=xir.QuantConfig("static" if crop else "dynamic"))
    else:
        quantize_(model, Int8DynamicActivationIntxWeightConfig())
        program = torch.export.export(model, inputs)
    executorch = xir.to_edge(program).to_executorch()
    assert portable_kernels().issuperset(executorch.kernel_names)
    is_decomposed = any(kernel.startswith("quantized_decomposed::") for kernel in executorch.kernel_names)
    assert is_decomposed or name not in WITHOUT_DELEGATE
    file = executorch.buffer
    with torch.no_grad():
        expected = program.module()(*inputs)
    assert sqnr(ours(file, inputs), expected) > 30
    assert sqnr(stocks(file, inputs), expected) > 30
