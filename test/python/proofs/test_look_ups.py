"""Passes that work on positions, and on tables of any numbers that are read at positions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import forward, nested
from proofs.proof import NUMBERS, Reading, disproves, proves
from xir.transforms.edge.fold_lookups import FoldLookupsPass
from xir.transforms.edge.fold_positions import FoldPositionsPass
from xir.transforms.edge.fuse_quantized_embedding import FuseQuantizedEmbeddingPass

OPEN = "-9223372036854775808"
SIZES = [Reading(sizes=(size,)) for size in (1, 2, 3)]
SIZED = '%x: tensor<?xf32> {xir.max_shape = array<i64: 3>, xir.dim_names = ["n"]}'
TABLE = """
  %table = edge.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>"""
UP_TO_N = "edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>"


def looked_up(shape: str, *lines: str) -> str:
    """Rows of the table at `%at`, of a shape that the lines make of `%n`."""
    body = "\n  ".join(lines)
    return forward(f"""
({SIZED})
  %n = edge.sym_size.int(%x) {{dim = 0 : i64}} : (tensor<?xf32>) -> i64{TABLE}
  {body}
  %rows = edge.embedding(%table, %at) : (tensor<4x2xf32>, tensor<{shape}xi64>) -> tensor<{shape}x2xf32>
""")


@proves(FoldLookupsPass(), at_least=5, readings=SIZES)
def test_known() -> Iterator[str]:
    """Known indices, cut at an open size and repeated, and those that count up to it."""
    for indices in ("[0, 1, 2]", "[3, 1, 1]", "[2, 3, 0]"):
        yield looked_up(
            "2x?",
            f"%steps = edge.constant dense<[{indices}]> : tensor<1x3xi64>",
            f"%0 = edge.slice.Tensor(%steps)[%n] {{dim = 1 : i64, start = 0 : i64, end = {OPEN} : i64}}"
            " : (tensor<1x3xi64>, i64) -> tensor<1x?xi64>",
            f"%at = edge.expand(%0)[%n] {{size = array<i64: 2, {OPEN}>}} : (tensor<1x?xi64>, i64) -> tensor<2x?xi64>",
        )
    row = "%at = edge.unsqueeze(%count) {dim = 0 : i64} : (tensor<?xi64>) -> tensor<1x?xi64>"
    yield looked_up("1x?", f"%count = {UP_TO_N}", row)
    yield looked_up(
        "?x?",
        f"%count = {UP_TO_N}",
        "%column = edge.unsqueeze(%count) {dim = 1 : i64} : (tensor<?xi64>) -> tensor<?x1xi64>",
        "%0 = edge.sub.Tensor(%count, %column) : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi64>",
        "%1 = edge.abs(%0) : (tensor<?x?xi64>) -> tensor<?x?xi64>",
        "%at = edge.add.Scalar(%1) {other = 1 : i64} : (tensor<?x?xi64>) -> tensor<?x?xi64>",
    )


@proves(FoldLookupsPass(), at_least=8, readings=[Reading(positions=9, counts_from_end=False)])
def test_one_row() -> Iterator[str]:
    """A row that is the same for all, by each way to look up its index."""
    for look_up, row in product(("gather", "index_select"), range(4)):
        yield forward(f"""
(%x: tensor<2x2xf32>, %at: tensor<2xi64>){TABLE}
  %types = edge.constant dense<{row}> : tensor<9xi64>
  %0 = edge.{look_up}(%types, %at) {{dim = 0 : i64}} : (tensor<9xi64>, tensor<2xi64>) -> tensor<2xi64>
  %1 = edge.embedding(%table, %0) : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %2 = edge.add.Tensor(%x, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
""")


@proves(FoldLookupsPass(), at_least=4, readings=[Reading(tries_each=True)])
@disproves("the rest of a table from a row earlier", "self.table(op)[number:]", "self.table(op)[number - 1 :]")
def test_past_padding() -> Iterator[str]:
    """Positions that are counted past padding and begin at a number; inputs plus a number, which may be below it."""
    for padding, first in product((0, 1), (1, 2)):
        yield forward(f"""
(%ids: tensor<2xi64>){TABLE}
  %0 = edge.ne.Scalar(%ids) {{other = {padding} : i64}} : (tensor<2xi64>) -> tensor<2xi1>
  %1 = edge._to_copy(%0) {{dtype = i32}} : (tensor<2xi1>) -> tensor<2xi32>
  %2 = edge.cumsum(%1) {{dim = 0 : i64}} : (tensor<2xi32>) -> tensor<2xi64>
  %3 = edge._to_copy(%2) {{dtype = i32}} : (tensor<2xi64>) -> tensor<2xi32>
  %4 = edge.mul.Tensor(%3, %1) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %5 = edge._to_copy(%4) {{dtype = i64}} : (tensor<2xi32>) -> tensor<2xi64>
  %6 = edge.add.Scalar(%5) {{other = {first} : i64}} : (tensor<2xi64>) -> tensor<2xi64>
  %7 = edge.embedding(%table, %6) : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
""")
    yield forward(f"""
(%ids: tensor<2xi64>){TABLE}
  %0 = edge.add.Scalar(%ids) {{other = 1 : i64}} : (tensor<2xi64>) -> tensor<2xi64>
  %1 = edge.embedding(%table, %0) : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
""")


MASK = '%mask: tensor<1x?xi1> {xir.max_shape = array<i64: 1, 3>, xir.dim_names = ["", "n"]}'
QUERIES = '%q: tensor<?x1x?x1xf32> {xir.max_shape = array<i64: 2, 1, 3, 1>, xir.dim_names = ["b", "", "n", ""]}'
STEPS = (("add.Scalar", 2), ("sub.Scalar", 1), ("mul.Scalar", 3), ("rsub.Scalar", 1))


@proves(FoldPositionsPass(), at_least=16, readings=SIZES)
@disproves(
    "positions that begin one later",
    "value = build.call(edge.AddScalarOp(self=value, other=first))",
    "value = build.call(edge.AddScalarOp(self=value, other=first + 1))",
)
def test_steps() -> Iterator[str]:
    """Integers that count up and down, computed in two steps, and their comparisons with a number."""
    for (first, a), (second, b) in product(STEPS, repeat=2):
        yield f"""
func.func @forward({MASK}) -> (tensor<?xi64>, tensor<1x?xi1>) {{
  %n = edge.sym_size.int(%mask) {{dim = 1 : i64}} : (tensor<1x?xi1>) -> i64
  %0 = {UP_TO_N}
  %1 = edge.{first}(%0) {{other = {a} : i64}} : (tensor<?xi64>) -> tensor<?xi64>
  %2 = edge.{second}(%1) {{other = {b} : i64}} : (tensor<?xi64>) -> tensor<?xi64>
  %3 = edge.ge.Scalar(%2) {{other = 0 : i64}} : (tensor<?xi64>) -> tensor<?xi1>
  %4 = edge.logical_and(%mask, %3) : (tensor<1x?xi1>, tensor<?xi1>) -> tensor<1x?xi1>
  func.return %2, %4 : tensor<?xi64>, tensor<1x?xi1>
}}
"""


@proves(FoldPositionsPass(), at_least=6, readings=SIZES)
def test_differences() -> Iterator[str]:
    """Where one position does not follow another, as transformers looks for texts behind one another."""
    for before, step in product((0, 1, 2), (1, 2)):
        yield forward(f"""
({MASK})
  %n = edge.sym_size.int(%mask) {{dim = 1 : i64}} : (tensor<1x?xi1>) -> i64
  %0 = {UP_TO_N}
  %1 = edge.unsqueeze(%0) {{dim = 0 : i64}} : (tensor<?xi64>) -> tensor<1x?xi64>
  %2 = edge.slice.Tensor(%1) {{dim = 1 : i64, start = 0 : i64, end = 1 : i64}} : (tensor<1x?xi64>) -> tensor<1x1xi64>
  %3 = edge.sub.Scalar(%2) {{other = {before} : i64}} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %4 = edge.cat([%3, %1]) {{dim = 1 : i64}} : (tensor<1x1xi64>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %5 = edge.slice.Tensor(%4) {{dim = 1 : i64, start = 1 : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi64>
  %6 = edge.slice.Tensor(%4)[%n] {{dim = 1 : i64, start = 0 : i64, end = {OPEN} : i64}}
       : (tensor<1x?xi64>, i64) -> tensor<1x?xi64>
  %7 = edge.sub.Tensor(%5, %6) : (tensor<1x?xi64>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %8 = edge.ne.Scalar(%7) {{other = {step} : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi1>
  %9 = edge.cumsum(%8) {{dim = 1 : i64}} : (tensor<1x?xi1>) -> tensor<1x?xi64>
  %10 = edge.eq.Scalar(%9) {{other = 0 : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi1>
  %11 = edge.logical_and(%mask, %10) : (tensor<1x?xi1>, tensor<1x?xi1>) -> tensor<1x?xi1>
""")


@proves(FoldPositionsPass(), at_least=4, readings=[Reading(sizes=sizes) for sizes in ((1, 1), (2, 2), (2, 3))])
def test_attention() -> Iterator[str]:
    """A mask of positions that is repeated for each text of a batch: causal, one that hides nothing, one that hides
    all."""
    queries, key, query = "tensor<?x1x?x1xf32>", "tensor<?x1x1x?xi64>", "tensor<?x1x?x1xi64>"
    for compare in ("le.Tensor", "ge.Tensor", "eq.Tensor"):
        yield forward(f"""
({QUERIES})
  %b = edge.sym_size.int(%q) {{dim = 0 : i64}} : ({queries}) -> i64
  %n = edge.sym_size.int(%q) {{dim = 2 : i64}} : ({queries}) -> i64
  %0 = edge.arange.start_step()[%b] {{start = 0 : i64, end}} : (i64) -> tensor<?xi64>
  %1 = edge.view(%0) {{size = array<i64: -1, 1, 1, 1>}} : (tensor<?xi64>) -> tensor<?x1x1x1xi64>
  %2 = {UP_TO_N}
  %3 = edge.unsqueeze(%2) {{dim = 0 : i64}} : (tensor<?xi64>) -> tensor<1x?xi64>
  %4 = edge.expand(%3)[%b] {{size = array<i64: {OPEN}, -1>}} : (tensor<1x?xi64>, i64) -> tensor<?x?xi64>
  %5 = edge.view(%2) {{size = array<i64: 1, 1, -1, 1>}} : (tensor<?xi64>) -> tensor<1x1x?x1xi64>
  %6 = edge.view(%2) {{size = array<i64: 1, 1, 1, -1>}} : (tensor<?xi64>) -> tensor<1x1x1x?xi64>
  %7 = edge.index.Tensor(%4, [%1, %5]) : (tensor<?x?xi64>, tensor<?x1x1x1xi64>, tensor<1x1x?x1xi64>) -> {query}
  %8 = edge.index.Tensor(%4, [%1, %6]) : (tensor<?x?xi64>, tensor<?x1x1x1xi64>, tensor<1x1x1x?xi64>) -> {key}
  %9 = edge.{compare}(%8, %7) : ({key}, {query}) -> tensor<?x1x?x?xi1>
  %10 = edge.scaled_dot_product_attention(%q, %q, %q, %9)
        : ({queries}, {queries}, {queries}, tensor<?x1x?x?xi1>) -> {queries}
""")
    for compare in ("ge.Scalar", "lt.Scalar"):
        yield forward(f"""
({QUERIES})
  %n = edge.sym_size.int(%q) {{dim = 2 : i64}} : ({queries}) -> i64
  %0 = {UP_TO_N}
  %1 = edge.view(%0) {{size = array<i64: 1, 1, -1, 1>}} : (tensor<?xi64>) -> tensor<1x1x?x1xi64>
  %2 = edge.{compare}(%1) {{other = 0 : i64}} : (tensor<1x1x?x1xi64>) -> tensor<1x1x?x1xi1>
  %3 = edge.expand(%2)[%n, %n] {{size = array<i64: 1, 1, {OPEN}, {OPEN}>}}
       : (tensor<1x1x?x1xi1>, i64, i64) -> tensor<1x1x?x?xi1>
  %4 = edge.scaled_dot_product_attention(%q, %q, %q, %3)
       : ({queries}, {queries}, {queries}, tensor<1x1x?x?xi1>) -> {queries}
""")


RANGES = ((-128, 127), (-8, 7), (-2, 1))


@proves(FuseQuantizedEmbeddingPass(), at_least=24, readings=[NUMBERS])
@disproves(
    "halves of a byte in the other order",
    "shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)",
    "shifts = (0, 4) if bits == 4 else (0, 2, 4, 6)",
)
def test_quantized_tables() -> Iterator[str]:
    """Two rows of four features of 8, 4 and 2 bits, each integer of the smaller ranges among them, with parameters for
    rows and groups."""
    for (low, high), by_group, has_points, index in product(RANGES, (1, 2), (False, True), ("i64", "i32")):
        span = high - low + 1
        table = np.array([[low, high, low + 1, high - 1], [low + span // 2, low + span // 3, 0, -1]])
        scales = np.array([[0.5, 0.25], [1.0, 2.0]])[:, :by_group]
        points = np.array([[1, 0], [-1, 1]])[:, :by_group]
        shape = f"2x{by_group}"
        zero_points, of_points = ("%z", f", tensor<{shape}xi8>") if has_points else ("none", "")
        yield forward(f"""
(%i: tensor<3x{index}>)
  %t = edge.constant dense<{nested(table)}> : tensor<2x4xi8>
  %s = edge.constant dense<{nested(scales)}> : tensor<{shape}xf32>
  %z = edge.constant dense<{nested(points)}> : tensor<{shape}xi8>
  %0 = edge.torchao.dequantize_affine(%t, %s, {zero_points}) {{block_size = array<i64: 1, {4 // by_group}>,
       input_dtype = i8, quant_min = {low} : i64, quant_max = {high} : i64}}
       : (tensor<2x4xi8>, tensor<{shape}xf32>{of_points}) -> tensor<2x4xf32>
  %1 = edge.embedding(%0, %i) : (tensor<2x4xf32>, tensor<3x{index}>) -> tensor<3x4xf32>
""")
