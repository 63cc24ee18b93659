"""Programs that random ones were reduced to, and that were wrong or refused once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pytest
import torch
from reference.meeting import check
from reference.modules import Function
from torch import Tensor
from torch.nn import functional

import xir
from xir.runtime import Runtime

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@pytest.mark.parametrize("opened", [(), (0,)])
def test_positions_of_any_type_count_down(opened: Sequence[int]) -> None:
    check(
        lambda x: (
            *(torch.arange(x.shape[0], 0, -1, dtype=dtype) for dtype in (*INTEGERS, torch.float16)),
            torch.arange(2, -2, -2, dtype=torch.uint8),
            torch.arange(250, 260, 5, dtype=torch.uint8),
        ),
        torch.ones(3, 2),
        opened=opened,
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_numbers_in_place_of_tensors_are_of_their_type(dtype: torch.dtype) -> None:
    """ATen has no overload of these for a number: 1/3 in fp32 is none of fp64."""
    x = torch.tensor([3e-5, -0.7, 2.0], dtype=dtype)
    check(lambda x: ((1 / 3) // x, torch.div(1 / 3, x, rounding_mode="trunc")), x)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize("target", ["executorch", "xir"])
def test_a_softmax_of_halves_has_a_logarithm_below_0(target: Literal["executorch", "xir"]) -> None:
    """Of an element by far the largest: 1.0004 is 1 in fp16, and its logarithm was 0."""
    x = torch.tensor([[8.0, 0.0, -3.0], [20.0, 9.0, 1.0]], dtype=torch.float16)
    model = Function(lambda x: (functional.log_softmax(x, -1),))
    edge = xir.to_edge(torch.export.export(model, (x,))).to_backend(xir.XnnpackPartitioner(target=target))
    (got,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method().execute([x])
    assert torch.allclose(got, functional.log_softmax(x.float(), -1).half(), rtol=2**-10, atol=0)


def test_powers_of_truth_values_are_integers() -> None:
    """Of constants as well: the first power is no node, and a delegate cannot hand out 64-bit integers."""
    check(lambda x: (*((torch.arange(5) % 2 == 0) ** n for n in (0, 1, 2)), (x > 0) ** 1, x + 1), torch.ones(3))


def test_norms_of_halves_whose_type_is_asked_for() -> None:
    """Squares of fp16 overflow: of a number without dimensions too, where nothing is summed."""
    for x in (torch.tensor(-58944.0).half(), torch.tensor([300.0, 400.0]).half()):
        check(lambda x: (torch.linalg.vector_norm(x, dtype=torch.float16),), x)


def test_means_of_integers_drop_fractions_once() -> None:
    """ATen's kernels divide the sum; means of means were one less where both had fractions."""
    check(
        lambda x: (
            functional.avg_pool3d(x, 2),
            functional.avg_pool3d(x, (2, 3, 2), 1, (1, 1, 1)),
            functional.avg_pool3d(x, 3, 2, 1, divisor_override=5),
            functional.avg_pool3d(x, 3, 2, 1, count_include_pad=False),
        ),
        torch.arange(2 * 3 * 5 * 6 * 7).view(2, 3, 5, 6, 7) % 19 - 9,
    )


def test_products_of_integers_take_numbers_without_fractions() -> None:
    """In their own type: a sum of products of int32 was int64, and one with a factor of 1.7 fp32."""

    def model(x: Tensor) -> tuple[Tensor, ...]:
        rows = x[:2, :2]
        both = torch.stack([rows, rows + 1])
        return (
            torch.addbmm(rows, both, both, beta=1.6, alpha=2.7),
            torch.addmv(rows[0], rows, rows[1], beta=1.6, alpha=2.7),
            torch.addmm(rows, rows, rows, beta=0, alpha=-2.7),
        )

    check(model, torch.arange(-4, 5, dtype=torch.int32).view(3, 3))


def test_sizes_that_the_program_fixes_are_numbers() -> None:
    """torch keeps their symbols: the mask was that of one row, beside anything that is written in place."""

    def model(x: Tensor) -> tuple[Tensor, ...]:
        written = torch.zeros(2)
        written[0] = 1
        masked = x.masked_fill(torch.ones_like(x, dtype=torch.bool).tril(), 0)
        return masked + torch.ones(5, 5), written

    check(model, torch.randn(5, 5), opened=[0])


def test_a_product_that_torch_narrows_to_a_column() -> None:
    """Of at most 4 rows the pool leaves one, which torch knows of one dimension of the product, not of the other."""

    def column(x: Tensor) -> tuple[Tensor, ...]:
        rows = functional.max_pool2d(x, [3, 2], [2, 1])
        return (rows @ rows.transpose(-1, -2),)

    check(column, torch.arange(12.0).view(1, 1, 3, 4), opened=(2, 3))
