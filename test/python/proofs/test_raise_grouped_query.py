"""`raise-grouped-query`: heads of keys and values that are repeated for neighbouring heads of queries, or in turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import prove_all
from xir.transforms.edge.raise_grouped_query import RaiseGroupedQueryPass


def attention() -> Iterator[str]:
    """One or two heads that serve two or three each, behind a copy or not."""
    for heads, times, in_turn in product((1, 2), (2, 3), (False, True)):
        dim = 1 if in_turn else 2
        one = f"1x1x{heads}" if in_turn else f"1x{heads}x1"
        sizes = [1, times, heads] if in_turn else [1, heads, times]
        wide = "x".join(map(str, sizes))
        given = ", ".join(map(str, sizes))
        all_heads = heads * times
        repeated = "".join(
            f"""
  %a{name} = edge.unsqueeze(%{name}) {{dim = {dim} : i64}} : (tensor<1x{heads}x2x1xf32>) -> tensor<{one}x2x1xf32>
  %b{name} = edge.expand(%a{name}) {{size = array<i64: {given}, 2, 1>}}
      : (tensor<{one}x2x1xf32>) -> tensor<{wide}x2x1xf32>
  %c{name} = edge.view(%b{name}) {{size = array<i64: 1, {all_heads}, 2, 1>}}
      : (tensor<{wide}x2x1xf32>) -> tensor<1x{all_heads}x2x1xf32>"""
            for name in "kv"
        )
        key, queries = f"tensor<1x{all_heads}x2x1xf32>", f"tensor<1x{all_heads}x1x1xf32>"
        own = f"tensor<1x{heads}x2x1xf32>"
        yield f"""
func.func @forward(%q: {queries}, %k: {own}, %v: {own}) -> {queries} {{{repeated}
  %0 = edge.scaled_dot_product_attention(%q, %ck, %cv, none) {{scale = 0.5 : f64}}
      : ({queries}, {key}, {key}) -> {queries}
  func.return %0 : {queries}
}}
"""


def test_attention() -> None:
    prove_all(attention(), RaiseGroupedQueryPass(), at_least=4)
