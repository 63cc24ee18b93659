"""`put-slices`: writes to slices and rows of a buffer, for all positions that are given at run time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.put_slices import PutSlicesPass

ROWS = 3


def written(takes: str, body: str) -> str:
    """A buffer of three rows and two columns, and what is written to it."""
    return f"""
func.func @forward({takes}) {{
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<3x2xf32>
  {body}
  edge.update_buffer %k, %w : tensor<3x2xf32>
  func.return
}}
"""


def slices() -> Iterator[str]:
    """Every slice along each dimension, from its start and from its end."""
    for dim, size in ((0, 3), (1, 2)):
        for start, end, step in product(range(-size, size), range(-size + 1, size + 1), (1, 2)):
            count = len(range(size)[start:end:step])
            if not count:
                continue
            source = f"tensor<{count}x2xf32>" if dim == 0 else f"tensor<3x{count}xf32>"
            given = f"dim = {dim} : i64, start = {start} : i64, end = {end} : i64, step = {step} : i64"
            body = f"%w = edge.slice_scatter(%k, %x) {{{given}}} : (tensor<3x2xf32>, {source}) -> tensor<3x2xf32>"
            yield written(f"%x: {source}", body)


def rows() -> Iterator[str]:
    """One row or column at a known place."""
    for dim, size in ((0, 3), (1, 2)):
        for index in range(-size, size):
            source = f"tensor<{5 - size}xf32>"
            given = f"dim = {dim} : i64, index = {index} : i64"
            body = f"%w = edge.select_scatter(%k, %x) {{{given}}} : (tensor<3x2xf32>, {source}) -> tensor<3x2xf32>"
            yield written(f"%x: {source}", body)


def positions() -> Iterator[str]:
    """Rows at positions, of values that broadcast."""
    for count, shape in product((1, 2), ("", "1x", "2x", "1x1x", "1x2x")):
        source = f"tensor<{shape}f32>".replace("1x2x", f"{count}x2x")
        body = f"""%w = edge.index_put(%k, [%at], %x)
      : (tensor<3x2xf32>, tensor<{count}xi64>, {source}) -> tensor<3x2xf32>"""
        yield written(f"%x: {source}, %at: tensor<{count}xi64>", body)
        body = f"""%w = edge.index_put(%k, [none, %at], %x)
      : (tensor<3x2xf32>, tensor<{count}xi64>, tensor<3x{count}xf32>) -> tensor<3x2xf32>"""
        yield written(f"%x: tensor<3x{count}xf32>, %at: tensor<{count}xi64>", body)


def test_slices() -> None:
    prove_all(slices(), PutSlicesPass(), at_least=30)


def test_rows() -> None:
    prove_all(rows(), PutSlicesPass(), at_least=10)


def test_positions() -> None:
    prove_all(positions(), PutSlicesPass(), at_least=8, reading=Reading(positions=2))
