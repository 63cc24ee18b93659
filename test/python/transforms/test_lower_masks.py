"""Masks of integers and booleans are one delegate's arithmetic: as right as eager, in both runtimes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim

from xir.api import ExecutorchProgram, XnnpackPartitioner, to_edge
from xir.dialects.pte import DelegateCallOp
from xir.runtime import Runtime

IDS = torch.tensor([[5, 3, 9, 1, 1], [7, 1, 1, 1, 1], [4, 5, 6, 7, 9]])
KEEP = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 2, -3, 4, 5]])
"""A padding mask, a sequence of padding alone, and numbers that are not 0."""
FAR = torch.tensor([[2**24 + 1, -(2**24) - 1, 3, 4, 2], [2**62, -(2**62), 3, 2, 4], [3, 3, 3, 3, 3]])
"""Integers that fp32 does not have, and those near a number."""


def encoder(attended: Callable[[Tensor, Tensor], Tensor]) -> nn.Module:
    """Embeddings and two layers of self-attention, which a function of the mask [N, L] and the ids [N, L] masks."""

    def forward(m: Any, ids: Tensor, keep: Tensor) -> Tensor:
        x = m.tokens(ids)
        mask = attended(keep, ids)
        for layer in m.layers:
            query, key, value = layer(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4).unbind(0)
            x = x + nn.functional.scaled_dot_product_attention(query, key, value, mask).transpose(1, 2).flatten(2)
        return x

    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(8, 24) for _ in range(2))
    return Calling(forward, tokens=nn.Embedding(10, 8), layers=layers).eval()


def masked(*functions: Callable[[Tensor, Tensor], Tensor], of_scores: bool = True) -> nn.Module:
    """Functions of integers [3, 5] and floats [3, 5], or scores that are a product of these with a matrix."""

    def forward(m: Any, ids: Tensor, x: Tensor) -> tuple[Tensor, ...]:
        values = torch.matmul(x, m.matrix) if of_scores else x
        return tuple(function(ids, values) for function in functions)

    torch.manual_seed(0)
    return Calling(forward, matrix=nn.Parameter(torch.randn(5, 5)))


def grouped(m: nn.Module, x: Tensor, keep: Tensor | None = None) -> Tensor:
    """Attention of heads of 4, of which those of keys are two, under a mask, or else causal."""
    query, key = x.unflatten(-1, (-1, 4)).transpose(1, 2), x[..., :8].unflatten(-1, (2, 4)).transpose(1, 2)
    mask = None if keep is None else keep.bool()[:, None, None, :]
    result = nn.functional.scaled_dot_product_attention(
        query, key, key * 2, mask, is_causal=mask is None, enable_gqa=True
    )
    return result.transpose(1, 2).flatten(2)


def by_index(keep: Tensor, ids: Tensor) -> Tensor:
    """The mask as transformers looks it up, for each row and each column."""
    rows = torch.arange(keep.shape[0])[:, None, None, None]
    columns = torch.arange(keep.shape[1])[None, None, None, :]
    steps = torch.arange(keep.shape[1])[None, None, :, None]
    return ((columns >= 0) & (steps >= 0) & keep.bool()[rows, columns]).expand(3, 1, 5, 5)


def causal(keep: Tensor, ids: Tensor) -> Tensor:
    steps = torch.arange(keep.shape[1])
    return (steps[None, :] <= steps[:, None]) & keep.bool()[:, None, None, :]


ENCODERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "by index": by_index,
    "causal": causal,
    "of token ids": lambda keep, ids: (ids != 1)[:, None, None, :],
    "local": lambda keep, ids: (keep[:, None, None, :] != 0) & (torch.arange(5)[:, None] - torch.arange(5)).abs().le(1),
    "rows and columns": lambda keep, ids: keep.bool()[:, None, None, :] & keep.bool()[:, None, :, None],
    "either": lambda keep, ids: keep.bool()[:, None, None, :] | torch.logical_not(ids == 1)[:, None, :, None],
    "inverted": lambda keep, ids: ~(keep[:, None, None, :] == 0),
    "one for all": lambda keep, ids: keep.bool()[0].expand(5, 5),
    "numbers": lambda keep, ids: (1.0 - (keep != 0)[:, None, None, :].float()) * torch.finfo(torch.float32).min,
    "chosen numbers": lambda keep, ids: torch.where(keep.bool(), 0.0, -1e4)[:, None, None, :],
}

CHOICES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "where, two values": lambda ids, x: torch.where(ids > 3, x, x * 2 + x) + 1,
    "where, a value and a number": lambda ids, x: torch.where(ids >= 3, x, 5.0) + 1,
    "where, a number and a value": lambda ids, x: torch.where(ids <= 3, -2.5, x) + 1,
    "where, a row and a value": lambda ids, x: torch.where(ids < 4, torch.arange(5.0), x) + 1,
    "where, infinities": lambda ids, x: torch.where(ids == 3, x, float("-inf")).exp(),
    "where, two numbers": lambda ids, x: torch.where(ids != 3, 0.1, 0.7) * x,
    "where, one number is 0": lambda ids, x: torch.where(ids.bool(), 0.0, -1e30) + x,
    "where, broadcast": lambda ids, x: torch.where((ids > 3)[:, :1], x, x / 3) + 1,
    "masked_fill": lambda ids, x: x.masked_fill(ids > 3, 0.25) * 2,
    "masked_fill, infinity": lambda ids, x: x.masked_fill(ids > 3, float("-inf")).exp(),
    "masked_fill, a tensor": lambda ids, x: (x * 2).masked_fill(ids > 3, torch.tensor(3.0)) * 2,
    "float": lambda ids, x: (ids > 3).float() * x,
    "float of inverted": lambda ids, x: (~(ids > 3))[:, None].float().mean(-1) * x[:, :1],
    "float of integers": lambda ids, x: ids[:, None].float() * x[:, None],
}


def lowered(model: nn.Module, inputs: tuple[Tensor, ...]) -> ExecutorchProgram:
    return to_edge(torch.export.export(model.eval(), inputs)).to_backend(XnnpackPartitioner()).to_executorch()


def delegate_calls(program: ExecutorchProgram) -> int:
    return sum(isinstance(op, DelegateCallOp) for op in program.module.walk())


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_is_one_delegate(name: str) -> None:
    model = encoder(ENCODERS[name])
    program = lowered(model, (IDS, KEEP))
    assert delegate_calls(program) == 1
    assert set(program.kernel_names) <= {"aten::embedding.out", "aten::_to_copy.out"}
    agree(program.buffer, model, [(IDS, KEEP), (IDS.flip(0), KEEP.flip(0))])


@pytest.mark.parametrize("name", ["by index", "window"])
def test_open_batch_and_length(name: str) -> None:
    """One delegate behind the embedding and the conversion of the mask, at each size."""

    def window(keep: Tensor, ids: Tensor) -> Tensor:
        steps = torch.arange(keep.shape[1])
        near = (steps[None, :] - steps[:, None]).abs() < 3
        return (steps[None, :] <= steps[:, None]) & near & keep.bool()[:, None, None, :]

    def looked_up(keep: Tensor, ids: Tensor) -> Tensor:
        rows, columns = (torch.arange(size) for size in keep.shape)
        mask = (columns[:, None] >= 0) & keep.bool()[rows[:, None, None, None], columns[None, None, None, :] + 0]
        return mask.expand(keep.shape[0], -1, keep.shape[1], keep.shape[1])

    model = encoder(looked_up if name == "by index" else window)
    dims = {0: Dim("batch", max=6), 1: Dim("length", min=2, max=9)}
    exported = torch.export.export(model, (IDS, KEEP), dynamic_shapes=(dims, dims))
    program = to_edge(exported).to_backend(XnnpackPartitioner()).to_executorch()
    assert delegate_calls(program) == 1
    tensor_kernels = [kernel for kernel in program.kernel_names if "sym_size" not in kernel]
    assert set(tensor_kernels) == {"aten::embedding.out", "aten::_to_copy.out"}
    for batch, length in ((3, 5), (1, 9), (6, 2), (2, 7), (6, 9)):
        agree(program.buffer, model, [[torch.randint(0, end, (batch, length)) for end in (10, 2)]])


def test_grouped_causal_attention_of_an_open_length() -> None:
    """Keys and values are repeated inside of the delegate."""

    model = Calling(lambda m, x: grouped(m, x))
    dims = ({0: Dim("batch", max=3), 1: Dim("length", min=2, max=9)},)
    exported = torch.export.export(model, (torch.randn(2, 5, 24),), dynamic_shapes=dims)
    program = to_edge(exported).to_backend(XnnpackPartitioner()).to_executorch()
    assert delegate_calls(program) == 1
    assert set(program.kernel_names) <= {"aten::sym_size.int"}
    for batch, length in ((2, 5), (1, 9), (3, 2)):
        agree(program.buffer, model, [[torch.randn(batch, length, 24)]])


def test_rows_that_see_nothing_are_zeros() -> None:
    """Not NaN, and not the mean of the values either."""
    model: Any = encoder(ENCODERS["by index"])
    hidden = torch.zeros_like(KEEP)
    (result,) = Runtime.get().load_program(lowered(model, (IDS, KEEP)).buffer).load_method().execute([IDS, hidden])
    assert torch.equal(result, model.tokens(IDS))


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)], ids=str
)
def test_grouped_heads_of_other_element_types(dtype: torch.dtype, tolerance: float) -> None:
    model, x = Calling(grouped), torch.randn(3, 5, 16).to(dtype)
    program = lowered(model, (x, KEEP))
    assert delegate_calls(program) == 1
    (result,) = Runtime.get().load_program(program.buffer).load_method().execute([x, KEEP])
    torch.testing.assert_close(result, model(x, KEEP), rtol=tolerance, atol=tolerance)


def test_choices_by_integers() -> None:
    model, x = masked(*CHOICES.values()), torch.randn(3, 5)
    program = lowered(model, (IDS, x))
    assert delegate_calls(program) == 1
    assert program.kernel_names == ["aten::_to_copy.out"]
    agree(program.buffer, model, [(ids, x) for ids in (IDS, FAR, torch.zeros_like(IDS))])


def test_what_is_not_chosen_may_be_nan() -> None:
    """Processors differ in what the smaller of NaN and −∞ is, so a kernel chooses."""
    model = masked(
        lambda ids, x: torch.where(ids > 3, (x - x) / (x - x), ids.float()) + 1,
        lambda ids, x: torch.where(ids > 3, 2.0, x.log()) * 2,
        lambda ids, x: (x * torch.inf * 0).masked_fill(ids > 3, 3.0) + 1,
        lambda ids, x: torch.where(ids > 3, float("nan"), 1.0) + x,
        of_scores=False,
    )
    inputs = IDS, torch.randn(3, 5)
    file, eager = lowered(model, inputs).buffer, model(*inputs)
    assert all(result.isnan().any() and not result.isnan().all() for result in eager)
    for ours, wanted in zip(Runtime.get().load_program(file).load_method().execute(list(inputs)), eager, strict=True):
        torch.testing.assert_close(ours, wanted, equal_nan=True)


def test_a_mask_of_floats_stays() -> None:
    """A kernel has to compare them in any case."""
    model = masked(lambda ids, x: torch.where(x * 2 > 0, x, ids.float()))
    program = lowered(model, (IDS, torch.randn(3, 5)))
    assert {"aten::gt.Scalar_out", "aten::where.self_out"} <= set(program.kernel_names)
    agree(program.buffer, model, [(IDS, torch.randn(3, 5))])


def test_the_conversion_of_a_mask_is_placed_where_it_is_read() -> None:
    class Attention(nn.Module):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    inputs = (torch.rand(1, 2, 8, 8), torch.rand(8, 8) > 0.5)
    program = to_edge(torch.export.export(Attention(), inputs)).to_backend(XnnpackPartitioner())
    (remark,) = program.remarks
    assert "test_lower_masks.py" in str(remark)
    assert "edge._to_copy not delegated" in str(remark)
