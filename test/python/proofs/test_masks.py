"""Passes that compute with masks, or find what these hide."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf, prod

import numpy as np

from proofs.graphs import Graph, dense, forward
from proofs.proof import EACH, NUMBERS, Reading, disproves, proves
from xir.transforms.edge.fill_hidden_rows import FillHiddenRowsPass
from xir.transforms.edge.lower_masks import LowerMasksPass
from xir.transforms.xnnpack.optimize.skip_masked_keys import SkipMaskedKeysPass
from xir.transforms.xnnpack.select.drop_softmax_guards import DropSoftmaxGuardsPass

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@proves(LowerMasksPass(), at_least=12, readings=[EACH])
def test_logic() -> Iterator[str]:
    """Comparisons with a number and logic, between scores and other scores, numbers, or an infinity."""
    chosen = (
        "edge.where.self(%3, %x, %y) : (tensor<2xi1>, tensor<1x2xf32>, tensor<1x2xf32>)",
        "edge.where.self(%3, %x, %low) : (tensor<2xi1>, tensor<1x2xf32>, tensor<f32>)",
        "edge.masked_fill.Scalar(%x, %3) {value = 0xFFF0000000000000 : f64} : (tensor<1x2xf32>, tensor<2xi1>)",
        "edge.masked_fill.Scalar(%x, %3) {value = 2.0 : f64} : (tensor<1x2xf32>, tensor<2xi1>)",
    )
    for number, (compare, join) in enumerate(product(COMPARISONS, ("logical_or", "bitwise_and.Tensor"))):
        yield forward(f"""
(%ids: tensor<2xi64>, %f: tensor<1x1xf32>, %r: tensor<1x2xf32>)
  %low = edge.constant dense<-1.0e4> : tensor<f32>
  %x = edge.matmul(%f, %r) : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = edge.mul.Scalar(%x) {{other = 2.0 : f64}} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %0 = edge.{compare}.Scalar(%ids) {{other = 1 : i64}} : (tensor<2xi64>) -> tensor<2xi1>
  %1 = edge.eq.Scalar(%ids) {{other = -2 : i64}} : (tensor<2xi64>) -> tensor<2xi1>
  %2 = edge.{join}(%0, %1) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %3 = edge.logical_not(%2) : (tensor<2xi1>) -> tensor<2xi1>
  %4 = {chosen[number % len(chosen)]} -> tensor<1x2xf32>
""")


@proves(LowerMasksPass(), at_least=4, readings=[EACH])
def test_numbers() -> Iterator[str]:
    """A choice between two numbers, and booleans that become floats."""
    for value, other in (("0.0", "-1.0e4"), ("1.0", "0.0"), ("-1.0e38", "0.5")):
        yield forward(f"""
(%mask: tensor<2xi64>)
  %value = edge.constant dense<{value}> : tensor<f32>
  %other = edge.constant dense<{other}> : tensor<f32>
  %0 = edge._to_copy(%mask) {{dtype = i1}} : (tensor<2xi64>) -> tensor<2xi1>
  %1 = edge.where.self(%0, %value, %other) : (tensor<2xi1>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
""")
    yield forward("""
(%mask: tensor<2xi1>)
  %0 = edge.full_like(%mask) {fill_value = 0 : i64, dtype = f32} : (tensor<2xi1>) -> tensor<2xf32>
  %1 = edge.masked_fill.Scalar(%0, %mask) {value = 0xFFF0000000000000 : f64}
       : (tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
""")


@proves(LowerMasksPass(), at_least=2, readings=[EACH])
@disproves(
    "rows that see nothing but count",
    "rows = build.call(edge.MulTensorOp(self=result, other=seen), shape_of(result))",
    "rows = build.call(edge.MulTensorOp(self=result, other=build.times(seen, 0.0)), shape_of(result))",
)
def test_attention() -> Iterator[str]:
    """Attention under a mask of tokens, which may hide all; and one of tokens and queries."""
    queries = "tensor<1x2x1xf32>"
    for given, made in (
        (
            "tensor<1x2xi64>",
            """%0 = edge._to_copy(%mask) {dtype = i1} : (tensor<1x2xi64>) -> tensor<1x2xi1>
  %1 = edge.unsqueeze(%0) {dim = 1 : i64} : (tensor<1x2xi1>) -> tensor<1x1x2xi1>
  %2 = edge.expand(%1) {size = array<i64: 1, 2, 2>} : (tensor<1x1x2xi1>) -> tensor<1x2x2xi1>""",
        ),
        ("tensor<1x2x2xi1>", "%2 = edge.logical_not(%mask) : (tensor<1x2x2xi1>) -> tensor<1x2x2xi1>"),
    ):
        yield forward(f"""
(%q: {queries}, %mask: {given})
  {made}
  %3 = edge.scaled_dot_product_attention(%q, %q, %q, %2)
       : ({queries}, {queries}, {queries}, tensor<1x2x2xi1>) -> {queries}
""")


@proves(LowerMasksPass(), at_least=12, readings=[Reading(weights=False, sizes=(3,))])
@disproves(
    "a comparison that leaves out the number itself",
    'return self.inverted(self.compared("edge.gt", value, number))',
    'return self.inverted(self.compared("edge.gt", value, number - 1))',
    "transforms.edge._float_masks",
)
def test_causal() -> Iterator[str]:
    """Positions that are compared with each other, up to a size."""
    for compare, distance in product(COMPARISONS, (0, 1)):
        yield forward(f"""
(%x: tensor<?xf32> {{xir.max_shape = array<i64: 9>}})
  %zero = edge.constant dense<0.0> : tensor<f32>
  %low = edge.constant dense<-10000.0> : tensor<f32>
  %n = edge.sym_size.int(%x) {{dim = 0 : i64}} : (tensor<?xf32>) -> i64
  %0 = edge.arange.start_step()[%n] {{start = 0 : i64, end}} : (i64) -> tensor<?xi64>
  %1 = edge.unsqueeze(%0) {{dim = 0 : i64}} : (tensor<?xi64>) -> tensor<1x?xi64>
  %2 = edge.unsqueeze(%0) {{dim = 1 : i64}} : (tensor<?xi64>) -> tensor<?x1xi64>
  %3 = edge.sub.Scalar(%1) {{other = {distance} : i64}} : (tensor<1x?xi64>) -> tensor<1x?xi64>
  %4 = edge.{compare}.Tensor(%3, %2) : (tensor<1x?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1>
  %5 = edge.where.self(%4, %zero, %low) : (tensor<?x?xi1>, tensor<f32>, tensor<f32>) -> tensor<?x?xf32>
""")


ROWS = ("[true, true]", "[true, false]", "[false, false]")
MASKS = tuple(f"[{first}, {second}]" for first, second in product(ROWS, ROWS))


# One mask hides both rows, as one other does; two hide the first, as two others do, and two the second.
@proves(FillHiddenRowsPass(), at_least=9, readings=[NUMBERS])
@disproves("rows that are hidden again in part", "(hidden & ~replaced).any()", "(hidden & ~replaced).all()")
def test_hidden() -> Iterator[str]:
    """What is minus infinity before a softmax, and 0 behind it: two rows and two keys, hidden again, or in part."""
    for before, after in product(MASKS, MASKS[:5]):
        yield forward(f"""
(%x: tensor<2x2xf32>)
  %m = edge.constant dense<{before}> : tensor<2x2xi1>
  %n = edge.constant dense<{after}> : tensor<2x2xi1>
  %0 = edge.masked_fill.Scalar(%x, %m) {{value = 0xFFF0000000000000 : f64}}
       : (tensor<2x2xf32>, tensor<2x2xi1>) -> tensor<2x2xf32>
  %1 = edge._softmax(%0) {{dim = -1 : i64, half_to_float = false}} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = edge.masked_fill.Scalar(%1, %n) {{value = 0 : i64}} : (tensor<2x2xf32>, tensor<2x2xi1>) -> tensor<2x2xf32>
""")


def masks() -> Iterator[tuple[str, str]]:
    """The type and elements of each mask for two rows and two keys, and of each that rows or keys share."""
    for shape in ((2, 2), (2,), (2, 1)):
        for numbers in product((0.0, -inf), repeat=prod(shape)):
            yield f"tensor<{'x'.join(map(str, shape))}xf32>", dense(np.array(numbers, np.float32))


@proves(DropSoftmaxGuardsPass(), at_least=14, readings=[NUMBERS])
@disproves(
    "a mask that shows one row taken for all",
    "(values > -inf).any(axis=-1).all()",
    "(values > -inf).any(axis=-1).any()",
)
def test_guarded() -> Iterator[str]:
    """Softmaxes that are zeros where a row is hidden throughout, by a mask or without one."""
    scores = "tensor<1x2x2xf32>"
    for type, mask in [("", ""), *masks()]:
        added = f"""
  %m = edge.constant {mask} : {type}
  %0 = edge.add.Tensor(%p, %m) : ({scores}, {type}) -> {scores}"""
        value = "%0" if mask else "%p"
        yield forward(f"""
(%q: tensor<1x2x1xf32>, %k: tensor<1x1x2xf32>)
  %zeros = edge.constant dense<0.0> : {scores}
  %p = edge.bmm(%q, %k) : (tensor<1x2x1xf32>, tensor<1x1x2xf32>) -> {scores}{added if mask else ""}
  %1 = edge.eq.Scalar({value}) {{other = 0xFFF0000000000000 : f64}} : ({scores}) -> tensor<1x2x2xi1>
  %2 = edge.logical_not(%1) : (tensor<1x2x2xi1>) -> tensor<1x2x2xi1>
  %3 = edge.any.dim(%2) {{dim = -1 : i64, keepdim = true}} : (tensor<1x2x2xi1>) -> tensor<1x2x1xi1>
  %4 = edge.logical_not(%3) : (tensor<1x2x1xi1>) -> tensor<1x2x1xi1>
  %5 = edge._softmax({value}) {{dim = -1 : i64, half_to_float = false}} : ({scores}) -> {scores}
  %6 = edge.where.self(%4, %zeros, %5) : (tensor<1x2x1xi1>, {scores}, {scores}) -> {scores}
""")


SKIP = SkipMaskedKeysPass(overhead=0)


def attended(mask: np.ndarray, queries: int, *, is_scaled: bool) -> str:
    """softmax(q · k + mask) · v, of one feature."""
    graph = Graph()
    keys = mask.shape[-1]
    q, k, v = graph.input(queries, 1), graph.input(1, keys), graph.input(keys, 1)
    value = graph.matrix_multiply(q, k)
    if is_scaled:
        value = graph.binary("multiply", value, graph.number(np.array(0.5, np.float32)))
    added = graph.number(np.zeros(mask.shape, np.float32))
    graph.lines[-1] = f"{added.name} = xnnpack.constant {dense(mask.astype(np.float32))} : {added.type}"
    value = graph.node("softmax {}", [graph.binary("add", value, added)], (queries, keys))
    return graph.text(graph.matrix_multiply(value, v))


@proves(SKIP, at_least=8, readings=[NUMBERS])
def test_padded() -> Iterator[str]:
    """Each mask of three keys for two queries that share it."""
    for number, mask in enumerate(product((-3.0, -1e30, -inf), repeat=3)):
        yield attended(np.array(mask), 2, is_scaled=number % 2 == 0)


@proves(SKIP, at_least=2, readings=[NUMBERS])
@disproves(
    "keys up to the first query's last", "max(behind for _, behind in ranges)", "min(behind for _, behind in ranges)"
)
def test_halves() -> Iterator[str]:
    """Of 128 queries each half sees other keys; one of the second half sees another key more."""
    for first in ((0, -inf, -inf), (-inf, 0, -inf)):
        mask = np.array([first] * 64 + [(-inf, -inf, 0)] * 64)
        mask[99] = (-inf, 0, 0)
        yield attended(mask, 128, is_scaled=False)
