"""PyTorch with sums of fp16 rounded at each step, as XNNPACK's kernels do where the processor computes with halves.

These kernels, of AVX512-FP16 and of Arm's FP16 arithmetic, add one product after the other to a half by a fused
multiply-add, the bias first (`src/f16-gemm` of XNNPACK at commit 92a7ad501b). So a sum of n products has n roundings to
11 bits, where PyTorch has one: `xir.evaluate.processor.adds_in_half` asks XNNPACK which it is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


def product_in_halves(a: Tensor, b: Tensor, start: Tensor | None = None) -> Tensor:
    """`start + a @ b` of halves, whose sum is rounded to a half with each product that is added.

    The product of two halves is exact in fp32, and its sum with a half rounds to the same half from there.
    """
    total = torch.zeros((), dtype=torch.float16) if start is None else start
    for row, column in zip(a.float().unbind(-1), b.float().unbind(-2), strict=True):
        total = (total.float() + row.unsqueeze(-1) * column.unsqueeze(-2)).half()
    return total


class SumsInHalves(TorchFunctionMode):
    """Computes linear layers, products of matrices and attention on halves by `product_in_halves`."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        form = FORMS.get(func)
        if form is None or args[0].dtype != torch.float16:
            return func(*args, **kwargs)
        return form(*args, **kwargs)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return product_in_halves(x, weight.mT, bias)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    assert not dropout_p
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
    scores = product_in_halves(query * (scale or query.shape[-1] ** -0.5), key.mT)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return product_in_halves(scores.softmax(-1), value)


FORMS: dict[Callable[..., Any], Callable[..., Tensor]] = {
    functional.linear: linear,
    functional.scaled_dot_product_attention: attention,
    torch.matmul: product_in_halves,
    torch.Tensor.matmul: product_in_halves,
    torch.Tensor.__matmul__: product_in_halves,
}
