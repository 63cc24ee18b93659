"""`collapse-dims`: ops on tensors of more than three dimensions, as ones on three, in all orders of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from math import prod

import pytest

from proofs.proof import Reading, prove_all
from xir.transforms.edge.collapse_dims import CollapseDimsPass

FEW = CollapseDimsPass(max_rank=3)

SHAPES = ((2, 1, 2, 2), (2, 2, 1, 2), (2, 1, 1, 2, 2))


def tensor(shape: Sequence[int]) -> str:
    """A type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


def viewed(shape: Sequence[int], op: str, result: Sequence[int]) -> str:
    """An op on `%0`, a view of a vector, whose result is viewed as one; `{}` is where the types stand."""
    sizes = ", ".join(map(str, shape))
    size, after = prod(shape), prod(result)
    return f"""
func.func @forward(%x: {tensor([size])}, %y: {tensor([2])}) -> {tensor([after])} {{
  %0 = edge.view(%x) {{size = array<i64: {sizes}>}} : ({tensor([size])}) -> {tensor(shape)}
  %1 = edge.{op} -> {tensor(result)}
  %2 = edge.view(%1) {{size = array<i64: {after}>}} : ({tensor(result)}) -> {tensor([after])}
  func.return %2 : {tensor([after])}
}}
"""


def permuted() -> Iterator[str]:
    """All permutations of four and some of five dimensions."""
    for shape in SHAPES:
        for perm in list(permutations(range(len(shape))))[:: 1 if len(shape) == 4 else 7]:
            dims = ", ".join(map(str, perm))
            text = f"permute(%0) {{dims = array<i64: {dims}>}} : ({tensor(shape)})"
            yield viewed(shape, text, [shape[dim] for dim in perm])


def broadcast() -> Iterator[str]:
    """Sums with a vector, and expansions of one dimension."""
    for shape in SHAPES:
        yield viewed(shape, f"sub.Tensor(%0, %y) : ({tensor(shape)}, {tensor([2])})", shape)
        yield viewed(shape, f"exp(%0) : ({tensor(shape)})", shape)
        wide = [2 if size == 1 else size for size in shape]
        sizes = ", ".join(map(str, wide))
        yield viewed(shape, f"expand(%0) {{size = array<i64: {sizes}>}} : ({tensor(shape)})", wide)


def along() -> Iterator[str]:
    """Sums, means, softmax, slices and selections along each dimension, and along each two."""
    for shape in SHAPES:
        for dim, size in enumerate(shape):
            yield viewed(shape, f"_softmax(%0) {{dim = {dim} : i64, half_to_float = false}} : ({tensor(shape)})", shape)
            text = f"slice.Tensor(%0) {{dim = {dim} : i64, start = {size - 1} : i64, end = {size} : i64}}"
            yield viewed(shape, f"{text} : ({tensor(shape)})", [*shape[:dim], 1, *shape[dim + 1 :]])
            text = f"select.int(%0) {{dim = {dim} : i64, index = -1 : i64}}"
            yield viewed(shape, f"{text} : ({tensor(shape)})", [*shape[:dim], *shape[dim + 1 :]])
        for first, second, keeps in product(range(len(shape)), range(len(shape)), (False, True)):
            if first >= second:
                continue
            dims = (first, second)
            kept = [1 if at in dims else size for at, size in enumerate(shape) if keeps or at not in dims]
            for name in ("sum.dim_IntList", "mean.dim"):
                text = f"{name}(%0) {{dim = array<i64: {first}, {second}>, keepdim = {str(keeps).lower()}}}"
                yield viewed(shape, f"{text} : ({tensor(shape)})", kept)


@pytest.mark.parametrize(("texts", "at_least"), [(permuted, 50), (broadcast, 6), (along, 60)])
def test_many_dimensions(texts: Callable[[], Iterator[str]], at_least: int) -> None:
    prove_all(texts(), FEW, at_least=at_least, reading=Reading(weights=False))
