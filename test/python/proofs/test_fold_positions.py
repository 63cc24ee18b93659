"""`fold-positions`: what is computed of counted positions, at each of a few sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proofs.proof import Reading, prove_all
from xir.transforms.edge.fold_positions import FoldPositionsPass

OPEN = '{xir.max_shape = array<i64: 1, 3>, xir.dim_names = ["", "n"]}'
ATTENDED = '{xir.max_shape = array<i64: 2, 1, 3, 1>, xir.dim_names = ["b", "", "n", ""]}'
AT_N = "[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>"
SYMBOL = "-9223372036854775808"

LINES = (
    ("add.Scalar", 2),
    ("sub.Scalar", 1),
    ("mul.Scalar", 3),
    ("rsub.Scalar", 1),
)


def lines() -> Iterator[str]:
    """Integers that count up and down, computed in two steps, and their comparisons with a number."""
    for (first, a), (second, b) in product(LINES, repeat=2):
        yield f"""
func.func @forward(%mask: tensor<1x?xi1> {OPEN}) -> (tensor<?xi64>, tensor<1x?xi1>) {{
  %n = edge.sym_size.int(%mask) {{dim = 1 : i64}} : (tensor<1x?xi1>) -> i64
  %0 = edge.arange.start_step(){AT_N}
  %1 = edge.{first}(%0) {{other = {a} : i64}} : (tensor<?xi64>) -> tensor<?xi64>
  %2 = edge.{second}(%1) {{other = {b} : i64}} : (tensor<?xi64>) -> tensor<?xi64>
  %3 = edge.ge.Scalar(%2) {{other = 0 : i64}} : (tensor<?xi64>) -> tensor<?xi1>
  %4 = edge.logical_and(%mask, %3) : (tensor<1x?xi1>, tensor<?xi1>) -> tensor<1x?xi1>
  func.return %2, %4 : tensor<?xi64>, tensor<1x?xi1>
}}
"""


def differences() -> Iterator[str]:
    """Where one position does not follow another, as transformers looks for texts behind one another."""
    for before, step in product((0, 1, 2), (1, 2)):
        yield f"""
func.func @forward(%mask: tensor<1x?xi1> {OPEN}) -> tensor<1x?xi1> {{
  %n = edge.sym_size.int(%mask) {{dim = 1 : i64}} : (tensor<1x?xi1>) -> i64
  %0 = edge.arange.start_step(){AT_N}
  %1 = edge.unsqueeze(%0) {{dim = 0 : i64}} : (tensor<?xi64>) -> tensor<1x?xi64>
  %2 = edge.slice.Tensor(%1) {{dim = 1 : i64, start = 0 : i64, end = 1 : i64}} : (tensor<1x?xi64>) -> tensor<1x1xi64>
  %3 = edge.sub.Scalar(%2) {{other = {before} : i64}} : (tensor<1x1xi64>) -> tensor<1x1xi64>
  %4 = edge.cat([%3, %1]) {{dim = 1 : i64}} : (tensor<1x1xi64>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %5 = edge.slice.Tensor(%4) {{dim = 1 : i64, start = 1 : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi64>
  %6 = edge.slice.Tensor(%4)[%n] {{dim = 1 : i64, start = 0 : i64, end = {SYMBOL} : i64}}
       : (tensor<1x?xi64>, i64) -> tensor<1x?xi64>
  %7 = edge.sub.Tensor(%5, %6) : (tensor<1x?xi64>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %8 = edge.ne.Scalar(%7) {{other = {step} : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi1>
  %9 = edge.cumsum(%8) {{dim = 1 : i64}} : (tensor<1x?xi1>) -> tensor<1x?xi64>
  %10 = edge.eq.Scalar(%9) {{other = 0 : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi1>
  %11 = edge.logical_and(%mask, %10) : (tensor<1x?xi1>, tensor<1x?xi1>) -> tensor<1x?xi1>
  func.return %11 : tensor<1x?xi1>
}}
"""


def attention() -> Iterator[str]:
    """A mask of positions that is repeated for each text of a batch: causal, one that hides nothing, one that hides
    all."""
    key, query = "tensor<?x1x1x?xi64>", "tensor<?x1x?x1xi64>"
    for compare in ("le.Tensor", "ge.Tensor", "eq.Tensor"):
        yield f"""
func.func @forward(%q: tensor<?x1x?x1xf32> {ATTENDED}) -> tensor<?x1x?x1xf32> {{
  %b = edge.sym_size.int(%q) {{dim = 0 : i64}} : (tensor<?x1x?x1xf32>) -> i64
  %n = edge.sym_size.int(%q) {{dim = 2 : i64}} : (tensor<?x1x?x1xf32>) -> i64
  %0 = edge.arange.start_step()[%b] {{start = 0 : i64, end}} : (i64) -> tensor<?xi64>
  %1 = edge.view(%0) {{size = array<i64: -1, 1, 1, 1>}} : (tensor<?xi64>) -> tensor<?x1x1x1xi64>
  %2 = edge.arange.start_step(){AT_N}
  %3 = edge.unsqueeze(%2) {{dim = 0 : i64}} : (tensor<?xi64>) -> tensor<1x?xi64>
  %4 = edge.expand(%3)[%b] {{size = array<i64: {SYMBOL}, -1>}} : (tensor<1x?xi64>, i64) -> tensor<?x?xi64>
  %5 = edge.view(%2) {{size = array<i64: 1, 1, -1, 1>}} : (tensor<?xi64>) -> tensor<1x1x?x1xi64>
  %6 = edge.view(%2) {{size = array<i64: 1, 1, 1, -1>}} : (tensor<?xi64>) -> tensor<1x1x1x?xi64>
  %7 = edge.index.Tensor(%4, [%1, %5]) : (tensor<?x?xi64>, tensor<?x1x1x1xi64>, tensor<1x1x?x1xi64>) -> {query}
  %8 = edge.index.Tensor(%4, [%1, %6]) : (tensor<?x?xi64>, tensor<?x1x1x1xi64>, tensor<1x1x1x?xi64>) -> {key}
  %9 = edge.{compare}(%8, %7) : ({key}, {query}) -> tensor<?x1x?x?xi1>
  %10 = edge.scaled_dot_product_attention(%q, %q, %q, %9)
        : (tensor<?x1x?x1xf32>, tensor<?x1x?x1xf32>, tensor<?x1x?x1xf32>, tensor<?x1x?x?xi1>) -> tensor<?x1x?x1xf32>
  func.return %10 : tensor<?x1x?x1xf32>
}}
"""
    for compare in ("ge.Scalar", "lt.Scalar"):
        yield f"""
func.func @forward(%q: tensor<?x1x?x1xf32> {ATTENDED}) -> tensor<?x1x?x1xf32> {{
  %n = edge.sym_size.int(%q) {{dim = 2 : i64}} : (tensor<?x1x?x1xf32>) -> i64
  %0 = edge.arange.start_step(){AT_N}
  %1 = edge.view(%0) {{size = array<i64: 1, 1, -1, 1>}} : (tensor<?xi64>) -> tensor<1x1x?x1xi64>
  %2 = edge.{compare}(%1) {{other = 0 : i64}} : (tensor<1x1x?x1xi64>) -> tensor<1x1x?x1xi1>
  %3 = edge.expand(%2)[%n, %n] {{size = array<i64: 1, 1, {SYMBOL}, {SYMBOL}>}}
       : (tensor<1x1x?x1xi1>, i64, i64) -> tensor<1x1x?x?xi1>
  %4 = edge.scaled_dot_product_attention(%q, %q, %q, %3)
       : (tensor<?x1x?x1xf32>, tensor<?x1x?x1xf32>, tensor<?x1x?x1xf32>, tensor<1x1x?x?xi1>) -> tensor<?x1x?x1xf32>
  func.return %4 : tensor<?x1x?x1xf32>
}}
"""


def test_lines() -> None:
    for size in (1, 2, 3):
        prove_all(lines(), FoldPositionsPass(), at_least=16, reading=Reading(sizes=(size,)))


def test_differences() -> None:
    for size in (1, 2, 3):
        prove_all(differences(), FoldPositionsPass(), at_least=6, reading=Reading(sizes=(size,)))


def test_attention() -> None:
    for sizes in ((1, 1), (2, 2), (2, 3)):
        prove_all(attention(), FoldPositionsPass(), at_least=4, reading=Reading(sizes=sizes))
