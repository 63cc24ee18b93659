"""Passes that work on attention: caches of which a mask hides the end, prefixes of them, and repeated heads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import dense, forward
from proofs.proof import Reading, disproves, proves
from xir.transforms.edge.attend_live_prefix import AttendLivePrefixPass
from xir.transforms.edge.fuse_prefix_attention import FusePrefixAttentionPass
from xir.transforms.edge.raise_grouped_query import RaiseGroupedQueryPass

CACHE = "tensor<1x1x4x1xf32>"
QUERY = "tensor<1x1x1x1xf32>"
COLUMNS = "%columns = edge.constant dense<[0, 1, 2, 3]> : tensor<4xi64>"
POSITION, POSITIONS = (Reading(weights=False, tries_each=True, positions=count) for count in (4, 3))


@proves(AttendLivePrefixPass(block=1), AttendLivePrefixPass(block=3), at_least=6, readings=[POSITION])
@disproves(
    "a prefix that ends one key early",
    "edge.ExecutorchPrimAddScalarOp(a=last, b=hidden.offset + 1)",
    "edge.ExecutorchPrimAddScalarOp(a=last, b=hidden.offset)",
)
def test_comparisons() -> Iterator[str]:
    """Columns compared with the position of one query, which is written to the cache before."""
    for compare, ahead in product(("lt", "le", "eq"), (0, 1)):
        yield f"""
func.func @forward(%q: {QUERY}, %x: {QUERY}, %at: tensor<1xi64>) -> {QUERY} {{
  %k = edge.mutable_buffer "k" dense<0.0> : {CACHE}
  %v = edge.mutable_buffer "v" dense<0.0> : {CACHE}
  %new = edge.index_put(%k, [none, none, %at], %x) : ({CACHE}, tensor<1xi64>, {QUERY}) -> {CACHE}
  {COLUMNS}
  %row = edge.unsqueeze(%at) {{dim = 1 : i64}} : (tensor<1xi64>) -> tensor<1x1xi64>
  %ahead = edge.add.Scalar(%row) {{other = {ahead} : i64}} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %seen = edge.{compare}.Tensor(%columns, %ahead) : (tensor<4xi64>, tensor<1x1xi64>) -> tensor<1x4xi1>
  %0 = edge.scaled_dot_product_attention(%q, %new, %v, %seen) : ({QUERY}, {CACHE}, {CACHE}, tensor<1x4xi1>) -> {QUERY}
  edge.update_buffer %k, %new : {CACHE}
  func.return %0 : {QUERY}
}}
"""


@proves(AttendLivePrefixPass(block=2), at_least=2, readings=[POSITIONS])
def test_windows() -> Iterator[str]:
    """Two queries that see a few columns before their own, as numbers."""
    queries = "tensor<1x1x2x1xf32>"
    for past in (1, 2):
        yield forward(f"""
(%q: {queries}, %k: tensor<1x4x1x1xf32>, %at: tensor<2xi64>)
  {COLUMNS}
  %zero = edge.constant dense<0.0> : tensor<f32>
  %low = edge.constant {dense(np.array(-np.inf, np.float32))} : tensor<f32>
  %row = edge.unsqueeze(%at) {{dim = 1 : i64}} : (tensor<2xi64>) -> tensor<2x1xi64>
  %past = edge.sub.Scalar(%row) {{other = {past} : i64}} : (tensor<2x1xi64>) -> tensor<2x1xi64>
  %near = edge.gt.Tensor(%columns, %past) : (tensor<4xi64>, tensor<2x1xi64>) -> tensor<2x4xi1>
  %causal = edge.ge.Tensor(%row, %columns) : (tensor<2x1xi64>, tensor<4xi64>) -> tensor<2x4xi1>
  %seen = edge.bitwise_and.Tensor(%near, %causal) : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
  %mask = edge.where.self(%seen, %zero, %low) : (tensor<2x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %keys = edge.permute(%k) {{dims = array<i64: 0, 2, 1, 3>}} : (tensor<1x4x1x1xf32>) -> {CACHE}
  %0 = edge.scaled_dot_product_attention(%q, %keys, %keys, %mask)
       : ({queries}, {CACHE}, {CACHE}, tensor<2x4xf32>) -> {queries}
""")


@proves(AttendLivePrefixPass(block=1), AttendLivePrefixPass(block=3), at_least=4, readings=[POSITION])
def test_tables() -> Iterator[str]:
    """Rows of a table, counted from its end where a position is negative; one row shows the last column."""
    rows = ("[true, false, false, false]", "[true, true, false, false]", "[false, true, true, false]")
    for last in (*rows[1:], "[false, false, false, true]", "[false, false, false, false]"):
        yield forward(f"""
(%q: {QUERY}, %k: {CACHE}, %at: tensor<1xi64>)
  %rows = edge.constant dense<[{", ".join((*rows, last))}]> : tensor<4x4xi1>
  %mask = edge.index.Tensor(%rows, [%at]) : (tensor<4x4xi1>, tensor<1xi64>) -> tensor<1x4xi1>
  %0 = edge.scaled_dot_product_attention(%q, %k, %k, %mask) : ({QUERY}, {CACHE}, {CACHE}, tensor<1x4xi1>) -> {QUERY}
""")


FUSE = FusePrefixAttentionPass(target="xir")
PREFIX = "end = -9223372036854775808 : i64}"
UP_TO_THREE = "{xir.max_shape = array<i64: 1, 3>}"
SIZES = [Reading(sizes=(size,)) for size in (1, 2, 3)]


@proves(FUSE, at_least=4, readings=SIZES)
@disproves("a prefix that begins later", "op.step == 1 and op.start == 0", "op.step == 1 and op.start in (0, 1)")
def test_prefixes() -> Iterator[str]:
    """One or two heads for each of the cache's, masks of booleans and of numbers, and slices that begin later."""
    for heads, element, start in product((1, 2), ("i1", "f32"), (0, 1)):
        query, mask, part = f"tensor<1x{heads}x1x1xf32>", f"tensor<1x?x{element}>", "tensor<1x1x?x1xf32>"
        # A slice that begins later ends later as well.
        end = "edge.executorch_prim.add.Scalar()[%n] {a = -9223372036854775808 : i64, b = 1 : i64} : (i64) -> i64"
        ended = f"\n  %end = {end}" if start else ""
        taken = "".join(
            f"""
  %{name}0 = edge.slice.Tensor(%{name})[{"%end" if start else "%n"}] {{dim = 2 : i64, start = {start} : i64, {PREFIX}
       : ({CACHE}, i64) -> {part}"""
            for name in "kv"
        )
        yield forward(f"""
(%q: {query}, %k: {CACHE}, %v: {CACHE}, %m: {mask} {UP_TO_THREE})
  %n = edge.sym_size.int(%m) {{dim = 1 : i64}} : ({mask}) -> i64{ended}{taken}
  %2 = edge.scaled_dot_product_attention(%q, %k0, %v0, %m) {{enable_gqa = true}}
       : ({query}, {part}, {part}, {mask}) -> {query}
""")


@proves(FUSE, at_least=2, readings=SIZES)
def test_prefixes_of_integers() -> Iterator[str]:
    """Keys and values of 8 bits, with a scale for each position."""
    cache, scales, part = "tensor<1x1x3x2xi8>", "tensor<1x1x3x1xf32>", "tensor<1x1x?x2x"
    for heads in (1, 2):
        query = f"tensor<1x{heads}x1x2xf32>"
        taken = "".join(
            f"""
  %{name}0 = edge.slice.Tensor(%{name})[%n] {{dim = 2 : i64, start = 0 : i64, {PREFIX} : ({cache}, i64) -> {part}i8>
  %{name}1 = edge.slice.Tensor(%s{name})[%n] {{dim = 2 : i64, start = 0 : i64, {PREFIX}
       : ({scales}, i64) -> tensor<1x1x?x1xf32>
  %{name}2 = edge._to_copy(%{name}0) {{dtype = f32}} : ({part}i8>) -> {part}f32>
  %{name}3 = edge.mul.Tensor(%{name}2, %{name}1) : ({part}f32>, tensor<1x1x?x1xf32>) -> {part}f32>"""
            for name in "kv"
        )
        yield f"""
func.func @forward(%q: {query}, %k: {cache}, %sk: {scales}, %v: {cache}, %sv: {scales},
                   %m: tensor<1x?xf32> {UP_TO_THREE}) -> {query} {{
  %n = edge.sym_size.int(%m) {{dim = 1 : i64}} : (tensor<1x?xf32>) -> i64{taken}
  %4 = edge.scaled_dot_product_attention(%q, %k3, %v3, %m) {{enable_gqa = true}}
       : ({query}, {part}f32>, {part}f32>, tensor<1x?xf32>) -> {query}
  func.return %4 : {query}
}}
"""


@proves(RaiseGroupedQueryPass(), at_least=4)
@disproves(
    "heads that are repeated in turn",
    "wrap_dim(unsqueeze.dim, rank + 1) != rank - 2",
    "wrap_dim(unsqueeze.dim, rank + 1) not in (rank - 2, rank - 3)",
)
def test_repeated_heads() -> Iterator[str]:
    """One or two heads of keys and values that serve two or three neighbouring heads of queries each, or in turn."""
    for heads, times, in_turn in product((1, 2), (2, 3), (False, True)):
        sizes, one = ([1, times, heads], f"1x1x{heads}") if in_turn else ([1, heads, times], f"1x{heads}x1")
        own, all_heads = f"tensor<1x{heads}x2x1xf32>", f"1x{heads * times}"
        wide = f"tensor<{'x'.join(map(str, sizes))}x2x1xf32>"
        repeated = "".join(
            f"""
  %a{name} = edge.unsqueeze(%{name}) {{dim = {1 if in_turn else 2} : i64}} : ({own}) -> tensor<{one}x2x1xf32>
  %b{name} = edge.expand(%a{name}) {{size = array<i64: {", ".join(map(str, sizes))}, 2, 1>}}
      : (tensor<{one}x2x1xf32>) -> {wide}
  %c{name} = edge.view(%b{name}) {{size = array<i64: 1, {heads * times}, 2, 1>}}
      : ({wide}) -> tensor<{all_heads}x2x1xf32>"""
            for name in "kv"
        )
        key, queries = f"tensor<{all_heads}x2x1xf32>", f"tensor<{all_heads}x1x1xf32>"
        yield forward(f"""
(%q: {queries}, %k: {own}, %v: {own}){repeated}
  %0 = edge.scaled_dot_product_attention(%q, %ck, %cv, none) {{scale = 0.5 : f64}}
      : ({queries}, {key}, {key}) -> {queries}
""")
