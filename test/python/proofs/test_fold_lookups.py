"""`fold-lookups`: rows of a table of any numbers, at positions that are known in part, for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.fold_lookups import FoldLookupsPass

TABLE = """
  %table = edge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>"""
OPEN = '{xir.max_shape = array<i64: 3>, xir.dim_names = ["n"]}'
UP_TO_N = "{dim = 1 : i64, start = 0 : i64, end = -9223372036854775808 : i64}"


def known() -> Iterator[str]:
    """Known indices, cut at an open size and repeated, and those that count up to it."""
    for indices in ("[0, 1, 2]", "[3, 1, 1]", "[2, 3, 0]"):
        yield f"""
func.func @forward(%x: tensor<?xf32> {OPEN}) -> tensor<2x?x2xf32> {{
  %n = edge.sym_size.int(%x) {{dim = 0 : i64}} : (tensor<?xf32>) -> i64{TABLE}
  %steps = edge.constant dense<[{indices}]> : tensor<1x3xi64>
  %0 = edge.slice.Tensor(%steps)[%n] {UP_TO_N} : (tensor<1x3xi64>, i64) -> tensor<1x?xi64>
  %1 = edge.expand(%0)[%n] {{size = array<i64: 2, -9223372036854775808>}} : (tensor<1x?xi64>, i64) -> tensor<2x?xi64>
  %2 = edge.embedding(%table, %1) : (tensor<4x2xf32>, tensor<2x?xi64>) -> tensor<2x?x2xf32>
  func.return %2 : tensor<2x?x2xf32>
}}
"""
    yield f"""
func.func @forward(%x: tensor<?xf32> {OPEN}) -> tensor<1x?x2xf32> {{
  %n = edge.sym_size.int(%x) {{dim = 0 : i64}} : (tensor<?xf32>) -> i64{TABLE}
  %0 = edge.arange.start_step()[%n] {{start = 0 : i64, end}} : (i64) -> tensor<?xi64>
  %1 = edge.unsqueeze(%0) {{dim = 0 : i64}} : (tensor<?xi64>) -> tensor<1x?xi64>
  %2 = edge.embedding(%table, %1) : (tensor<4x2xf32>, tensor<1x?xi64>) -> tensor<1x?x2xf32>
  func.return %2 : tensor<1x?x2xf32>
}}
"""
    yield f"""
func.func @forward(%x: tensor<?xf32> {OPEN}) -> tensor<?x?x2xf32> {{
  %n = edge.sym_size.int(%x) {{dim = 0 : i64}} : (tensor<?xf32>) -> i64{TABLE}
  %at = edge.arange.start_step()[%n] {{start = 0 : i64, end}} : (i64) -> tensor<?xi64>
  %column = edge.unsqueeze(%at) {{dim = 1 : i64}} : (tensor<?xi64>) -> tensor<?x1xi64>
  %0 = edge.sub.Tensor(%at, %column) : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi64>
  %1 = edge.abs(%0) : (tensor<?x?xi64>) -> tensor<?x?xi64>
  %2 = edge.add.Scalar(%1) {{other = 1 : i64}} : (tensor<?x?xi64>) -> tensor<?x?xi64>
  %3 = edge.embedding(%table, %2) : (tensor<4x2xf32>, tensor<?x?xi64>) -> tensor<?x?x2xf32>
  func.return %3 : tensor<?x?x2xf32>
}}
"""


def one_row() -> Iterator[str]:
    """A row that is the same for all, by each way to look up its index."""
    looked_up = (
        "edge.gather(%types, %at) {dim = 0 : i64}",
        "edge.index_select(%types, %at) {dim = 0 : i64}",
    )
    for look_up, row in product(looked_up, range(4)):
        yield f"""
func.func @forward(%x: tensor<2x2xf32>, %at: tensor<2xi64>) -> tensor<2x2xf32> {{{TABLE}
  %types = edge.constant dense<{row}> : tensor<9xi64>
  %0 = {look_up} : (tensor<9xi64>, tensor<2xi64>) -> tensor<2xi64>
  %1 = edge.embedding(%table, %0) : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %2 = edge.add.Tensor(%x, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}}
"""


def past_padding() -> Iterator[str]:
    """Positions that are counted past padding and begin at a number; inputs plus a number, which may be below it."""
    for padding, first in product((0, 1), (1, 2)):
        yield f"""
func.func @forward(%ids: tensor<2xi64>) -> tensor<2x2xf32> {{{TABLE}
  %0 = edge.ne.Scalar(%ids) {{other = {padding} : i64}} : (tensor<2xi64>) -> tensor<2xi1>
  %1 = edge._to_copy(%0) {{dtype = i32}} : (tensor<2xi1>) -> tensor<2xi32>
  %2 = edge.cumsum(%1) {{dim = 0 : i64}} : (tensor<2xi32>) -> tensor<2xi64>
  %3 = edge._to_copy(%2) {{dtype = i32}} : (tensor<2xi64>) -> tensor<2xi32>
  %4 = edge.mul.Tensor(%3, %1) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %5 = edge._to_copy(%4) {{dtype = i64}} : (tensor<2xi32>) -> tensor<2xi64>
  %6 = edge.add.Scalar(%5) {{other = {first} : i64}} : (tensor<2xi64>) -> tensor<2xi64>
  %7 = edge.embedding(%table, %6) : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  func.return %7 : tensor<2x2xf32>
}}
"""
    yield f"""
func.func @forward(%ids: tensor<2xi64>) -> tensor<2x2xf32> {{{TABLE}
  %0 = edge.add.Scalar(%ids) {{other = 1 : i64}} : (tensor<2xi64>) -> tensor<2xi64>
  %1 = edge.embedding(%table, %0) : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}}
"""


def test_known() -> None:
    for size in (1, 2, 3):
        prove_all(known(), FoldLookupsPass(), at_least=5, reading=Reading(sizes=(size,)))


def test_one_row() -> None:
    prove_all(one_row(), FoldLookupsPass(), at_least=8, reading=Reading(positions=9, counts_from_end=False))


EACH = Reading(tries_each=True)


def test_past_padding() -> None:
    prove_all(past_padding(), FoldLookupsPass(), at_least=4, reading=EACH)
