"""`fuse-prefix-attention`: prefixes of caches of three keys, of floats and of integers with scales."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.fuse_prefix_attention import FusePrefixAttentionPass

FUSE = FusePrefixAttentionPass(target="xir")
PREFIX = "end = -9223372036854775808 : i64}"


def prefixes() -> Iterator[str]:
    """One or two heads for each of the cache's, masks of booleans and of numbers, and slices that begin later."""
    for heads, element, start in product((1, 2), ("i1", "f32"), (0, 1)):
        query, mask = f"tensor<1x{heads}x1x1xf32>", f"tensor<1x?x{element}>"
        bounds = "{xir.max_shape = array<i64: 1, 3>}"
        # A slice that begins later ends later as well.
        ended = (
            ""
            if start == 0
            else """
  %end = edge.executorch_prim.add.Scalar()[%n] {a = -9223372036854775808 : i64, b = 1 : i64} : (i64) -> i64"""
        )
        end = "%n" if start == 0 else "%end"
        yield f"""
func.func @forward(%q: {query}, %k: tensor<1x1x4x1xf32>, %v: tensor<1x1x4x1xf32>, %m: {mask} {bounds}) -> {query} {{
  %n = edge.sym_size.int(%m) {{dim = 1 : i64}} : ({mask}) -> i64{ended}
  %0 = edge.slice.Tensor(%k)[{end}] {{dim = 2 : i64, start = {start} : i64, {PREFIX}
       : (tensor<1x1x4x1xf32>, i64) -> tensor<1x1x?x1xf32>
  %1 = edge.slice.Tensor(%v)[{end}] {{dim = 2 : i64, start = {start} : i64, {PREFIX}
       : (tensor<1x1x4x1xf32>, i64) -> tensor<1x1x?x1xf32>
  %2 = edge.scaled_dot_product_attention(%q, %0, %1, %m) {{enable_gqa = true}}
       : ({query}, tensor<1x1x?x1xf32>, tensor<1x1x?x1xf32>, {mask}) -> {query}
  func.return %2 : {query}
}}
"""


def integers() -> Iterator[str]:
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
                   %m: tensor<1x?xf32> {{xir.max_shape = array<i64: 1, 3>}}) -> {query} {{
  %n = edge.sym_size.int(%m) {{dim = 1 : i64}} : (tensor<1x?xf32>) -> i64{taken}
  %4 = edge.scaled_dot_product_attention(%q, %k3, %v3, %m) {{enable_gqa = true}}
       : ({query}, {part}f32>, {part}f32>, tensor<1x?xf32>) -> {query}
  func.return %4 : {query}
}}
"""


def test_prefixes() -> None:
    for size in (1, 2, 3):
        prove_all(prefixes(), FUSE, at_least=4, reading=Reading(sizes=(size,)))


def test_integers() -> None:
    for size in (1, 2, 3):
        prove_all(integers(), FUSE, at_least=2, reading=Reading(sizes=(size,)))
