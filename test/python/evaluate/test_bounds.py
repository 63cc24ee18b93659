"""How far a kernel may be off follows from what it computes: a fault just beyond is found, roundings are not."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import pytest
import torch
from xdsl.dialects.builtin import IntegerAttr, TensorType, f16, f32, i8, i32
from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from xir.dialects import edge, xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.kinds import BinaryKind, UnaryKind
from xir.evaluate import bounds
from xir.evaluate.kernels import compare
from xir.evaluate.nodes import evaluate
from xir.evaluate.processor import adds_in_half
from xir.evaluate.quantized import by_row, roundings_of_rows

COARSE, FINE = UniformType.per_tensor(i8, f32, 0.5, 3), UniformType.per_tensor(i8, f32, 0.25, -7)


def node(op: type[xnnpack.NodeOp], /, *types: TensorType[Any], **properties: Attribute) -> xnnpack.NodeOp:
    """A node on operands; the last type is the result's."""
    operands = [create_ssa_value(each) for each in types[:-1]]
    return op.create(operands=operands, result_types=[types[-1]], properties=properties)


def product(x: torch.Tensor, weight: torch.Tensor, element: Attribute = f32) -> xnnpack.NodeOp:
    """A fully connected node of these shapes."""
    shapes = (x.shape, weight.shape, (*x.shape[:-1], len(weight)))
    return node(xnnpack.FullyConnectedOp, *(TensorType(element, shape) for shape in shapes))


def elementwise(kind: str, *types: TensorType[Any]) -> xnnpack.NodeOp:
    """A node on one operand or two."""
    if len(types) == 2:
        return node(xnnpack.UnaryOp, *types, kind=xnnpack.UnaryKindAttr(UnaryKind(kind)))
    return node(xnnpack.BinaryOp, *types, kind=xnnpack.BinaryKindAttr(BinaryKind(kind)))


def is_right(op: xnnpack.NodeOp, actual: torch.Tensor, expected: torch.Tensor, *operands: torch.Tensor) -> bool:
    return compare(op, actual, expected, operands, [None] * len(operands))[1] is None


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("length", [4, 512, 8192])
def test_a_sum_is_off_by_roundings_of_its_terms(length: int) -> None:
    x, weight = drawn(16, length).float().double(), drawn(8, length, seed=1).float().double()
    op, exact = product(x, weight), x @ weight.T
    assert is_right(op, (x.float() @ weight.float().T), exact, x, weight)
    # The order of additions is free, the terms are not: the smallest is a fault.
    assert is_right(op, (x.float().flip(1) @ weight.float().flip(1).T), exact, x, weight)
    without = exact - x[:, :1] @ weight[:, :1].T
    assert not is_right(op, without.float(), exact, x, weight)
    assert not is_right(op, (exact * 1.01).float(), exact, x, weight)


def test_a_small_element_is_held_to_its_own_terms() -> None:
    """An error that is none beside the largest element of a result is one in a row that is small."""
    x, weight = drawn(2, 64), drawn(4, 64, seed=1)
    x[1] *= 1e-6
    op, exact = product(x, weight), x @ weight.T
    moved = exact.clone()
    moved[1] *= 1.001
    assert (moved - exact).abs().max() < 1e-7 * exact.abs().max()
    assert not is_right(op, moved, exact, x, weight)


def test_sums_of_halves_are_as_xnnpack_adds_up_here(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = drawn(16, 512).half().double(), drawn(8, 512, seed=1).half().double()
    op, exact = product(x, weight, f16), x @ weight.T
    rounded = torch.zeros(16, 8, dtype=torch.float16)
    for index in range(512):
        rounded += (x[:, index : index + 1] @ weight[:, index : index + 1].T).half()
    for in_half in (False, True):
        monkeypatch.setattr(bounds, "adds_in_half", lambda in_half=in_half: in_half)
        assert is_right(op, exact.half(), exact, x, weight)
        assert is_right(op, rounded, exact, x, weight) == in_half


@pytest.mark.here
def test_how_halves_are_added_is_asked_of_xnnpack() -> None:
    """It answers as its choice of kernels says (`src/configs/gemm-config.c`), which `make test-fp16` changes."""
    known = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="ignore")
    is_arm = platform.machine() in ("aarch64", "arm64")
    assert adds_in_half() == (is_arm or "avx512_fp16" in known or "AVX512_FP16_CPUINFO" in os.environ)


@pytest.mark.parametrize("is_input", [False, True])
def test_a_half_that_the_graph_computes_may_not_have_been_rounded(
    is_input: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "adds_in_half", lambda: False)
    weight = drawn(8, 512, seed=1).half().double()
    unrounded = drawn(16, 512)
    x = unrounded.half().double()
    op, exact = product(x, weight, f16), x @ weight.T
    if not is_input:
        op.operands[0] = elementwise("abs", TensorType(f16, x.shape), TensorType(f16, x.shape)).results[0]
    assert is_right(op, (unrounded @ weight.T).half(), exact, x, weight) != is_input
    assert not is_right(op, (x[:, 1:] @ weight[:, 1:].T).half(), exact, x, weight)


@pytest.mark.parametrize("kind", ["subtract", "multiply", "maximum"])
def test_nearly_equal_halves_may_differ_by_what_was_not_rounded(kind: str) -> None:
    type = TensorType(f16, (64,))
    op = elementwise(kind, type, type, type)
    op.operands[0] = elementwise("abs", type, type).results[0]
    one, other = drawn(64).abs(), (drawn(64).abs() * (1 + 2.0**-10)).half().double()
    x = one.half().double()
    operands = [x, other]
    (exact,), (unrounded,) = evaluate(op, operands), evaluate(op, [one, other])
    assert is_right(op, unrounded.half(), exact, *operands)
    assert not is_right(op, (unrounded + 4 * x * 2.0**-10).half(), exact, *operands)
    # One that comes from outside was rounded, which shows where most of it cancels.
    op.operands[0] = create_ssa_value(type)
    assert is_right(op, unrounded.half(), exact, *operands) == (kind != "subtract")


def test_what_is_infinite_may_have_been_large() -> None:
    type = TensorType(f16, (2,))
    op = elementwise("multiply", type, type, type)
    operands = [torch.tensor([float("inf"), 4.0]).double(), torch.tensor([0.01, 1.0]).double()]
    (exact,) = evaluate(op, operands)
    actual = torch.tensor([1000.0, 4.0]).half()
    assert not is_right(op, actual, exact, *operands)
    op.operands[0] = elementwise("square", type, type).results[0]
    assert is_right(op, actual, exact, *operands)
    assert not is_right(op, actual + 1, exact, *operands)


def test_an_integer_is_the_nearest_or_at_a_tie_either() -> None:
    op = elementwise("add", *(TensorType(each, (4,)) for each in (COARSE, COARSE, FINE)))
    numbers = torch.tensor([1.0, 2.0, 3.0, -4.0], dtype=torch.float64)
    steps = torch.tensor([5.0, 17.5, 20.3, -39.49], dtype=torch.float64)

    def right(*integers: int) -> bool:
        return is_right(op, torch.tensor(integers, dtype=torch.int8), steps, numbers, numbers)

    assert right(5, 17, 20, -39)
    assert right(5, 18, 20, -39)
    assert not right(5, 18, 21, -39)
    assert not right(5, 18, 20, -40)
    # A zero point that is off by one.
    assert not right(6, 18, 21, -38)


@pytest.mark.parametrize("tie", [True, False])
def test_a_step_is_free_next_to_a_tie_where_ranges_are_found_at_run_time(tie: bool) -> None:
    # The range is 255 steps of 1/64, and whole steps are far from a tie.
    x = (torch.arange(64, dtype=torch.float64) / 64).reshape(1, 64)
    x[0, 0], x[0, 1], x[0, 2] = -128 / 64, 127 / 64, (2.5 if tie else 2.0) / 64
    weight = drawn(4, 64, seed=1)
    rows, taken = roundings_of_rows(x, 1, bounds.UNIT), by_row(x, 1)
    assert rows.loose.nonzero().tolist() == ([[0, 2]] if tie else [])
    filter_type = UniformType.per_axis(i8, f32, 0, [0.01] * 4, [0] * 4)
    rows_type, result = TensorType(xnnpack.DynamicType.of(1), x.shape), TensorType(f32, (1, 4))
    op = node(xnnpack.FullyConnectedOp, rows_type, TensorType(filter_type, weight.shape), result)
    exact = evaluate(op, [taken, weight])[0]

    def right(place: int, steps: int) -> bool:
        other = taken.clone()
        other[0, place] += steps / 64
        return compare(op, (other @ weight.T).float(), exact, [taken, weight], [rows, None])[1] is None

    assert right(2, 0)
    assert right(2, 1) == tie
    assert not right(2, 2)


def test_a_function_is_held_to_its_margin() -> None:
    op = elementwise("exp", TensorType(f32, (64,)), TensorType(f32, (64,)))
    x = drawn(64).float().double()
    assert is_right(op, x.float().exp(), x.exp(), x)
    assert not is_right(op, (x.exp() * (1 + 1e-4)).float(), x.exp(), x)


def test_what_moves_elements_keeps_them() -> None:
    op = elementwise("abs", TensorType(f32, (64,)), TensorType(f32, (64,)))
    x = drawn(64).float().double()
    assert is_right(op, x.abs().float(), x.abs(), x)
    assert not is_right(op, (x.abs() * (1 + 2.0**-20)).float(), x.abs(), x)


def test_pixels_of_a_resized_image_are_as_far_off_as_their_places() -> None:
    types, size = (TensorType(f32, (1, 28, 28, 2)), TensorType(f32, (1, 224, 224, 2))), IntegerAttr(224, i32)
    op = node(xnnpack.StaticResizeBilinear2dOp, *types, new_height=size, new_width=size)
    image = drawn(1, 28, 28, 2).float().double()
    (exact,) = evaluate(op, [image])
    of_fp32 = torch.nn.functional.interpolate(image.float().movedim(-1, 1), (224, 224), mode="bilinear").movedim(1, -1)
    assert is_right(op, of_fp32, exact, image)
    assert not is_right(op, of_fp32 + 1e-4, exact, image)


def test_equal_elements_may_come_in_either_order_where_elements_are_sorted() -> None:
    x = torch.tensor([[2.0, 5.0, 2.0, 1.0]])
    operand, index = create_ssa_value(TensorType(f32, x.shape)), torch.tensor([[1, 0, 2]])
    topk, argmax = edge.TopkOp(self=operand, k=3, dim=-1), edge.ArgmaxOp(self=operand, dim=-1)
    assert bounds.picks_alike(topk, x, torch.tensor([[1, 2, 0]]), index)
    assert not bounds.picks_alike(topk, x, torch.tensor([[1, 2, 3]]), index)
    assert not bounds.picks_alike(topk, x, torch.tensor([[1, 2, 2]]), index)
    assert not bounds.picks_alike(topk, x, torch.tensor([[1, 2, 9]]), index)
    # The first one, says ATen.
    assert not bounds.picks_alike(argmax, torch.tensor([[2.0, 2.0]]), torch.tensor([1]), torch.tensor([0]))


def test_what_is_no_number_is_none_in_both() -> None:
    op = elementwise("square", TensorType(f16, (3,)), TensorType(f16, (3,)))
    x = torch.tensor([1.0, 300.0, float("nan")], dtype=torch.float64)
    right = torch.tensor([1.0, float("inf"), float("nan")]).half()
    assert is_right(op, right, x * x, x)
    assert not is_right(op, torch.tensor([1.0, 9e4, 0.0]).half(), x * x, x)
    assert not is_right(op, torch.tensor([1.0, 65504.0, float("nan")]).half(), x * x, x)


def test_what_is_beyond_the_largest_number_is_infinite() -> None:
    type = TensorType(f32, (2,))
    op = elementwise("add", type, type, type)
    x = torch.tensor([torch.finfo(torch.float32).min, 1.0], dtype=torch.float64)
    assert is_right(op, torch.tensor([-torch.inf, 2.0]), x + x, x, x)
    assert not is_right(op, torch.tensor([torch.inf, 2.0]), x + x, x, x)
    assert not is_right(op, torch.tensor([-torch.inf, -torch.inf]), x + x, x, x)


def test_a_long_sum_of_equal_terms_is_rounded_in_one_direction() -> None:
    """An image of one colour but for a pixel: each addition is rounded as the one before."""
    image = torch.full((1, 4096, 1, 1), 0.0142, dtype=torch.float32)
    image[0, 3] = 0.2
    one_by_one = torch.zeros(())
    for pixel in image.flatten():
        one_by_one = one_by_one + pixel
    exact = image.double().mean((1, 2))
    op = node(xnnpack.GlobalAveragePooling2dOp, *(TensorType(f32, each.shape) for each in (image, exact)))
    mean = one_by_one.reshape(1, 1) / image.numel()
    assert float((mean - exact).abs() / exact) > 8 * 4096**0.5 * bounds.UNIT
    assert is_right(op, mean, exact, image.double())
    assert not is_right(op, (exact - 0.0142 / 4096 * 2).float(), exact, image.double())
