"""Passes that compute with constants: moves of any numbers, and arithmetic of small ones, which nothing rounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from proofs.graphs import Graph, Value, forward
from proofs.proof import NUMBERS, disproves, proves
from xir.transforms.edge.fold_batch_norm import FoldBatchNormPass
from xir.transforms.edge.fold_constants import FoldConstantsPass
from xir.transforms.edge.raise_int_mm import RaiseIntMmPass
from xir.transforms.edge.raise_items import RaiseItemsPass
from xir.transforms.xnnpack.optimize.fold_affine import FoldAffinePass

MOVES = {
    "view(%x) {size = array<i64: 3, 2>}": "3x2",
    "permute(%x) {dims = array<i64: 1, 0>}": "3x2",
    "transpose.int(%x) {dim0 = 0 : i64, dim1 = -1 : i64}": "3x2",
    "unsqueeze(%x) {dim = 1 : i64}": "2x1x3",
    "slice.Tensor(%x) {dim = 1 : i64, start = 0 : i64, end = 3 : i64, step = 2 : i64}": "2x2",
    "slice.Tensor(%x) {dim = 1 : i64, start = -2 : i64}": "2x2",
    "select.int(%x) {dim = 1 : i64, index = -1 : i64}": "2",
    "constant_pad_nd(%x) {pad = array<i64: 1, 0>, value = 0.0 : f64}": "2x4",
    "expand(%x) {size = array<i64: 2, 2, 3>}": "2x2x3",
    "cat([%x, %y]) {dim = 0 : i64}": "4x3",
    "cat([%x, %y]) {dim = 1 : i64}": "2x6",
}


def called(call: str, given: str, result: str, *operands: str) -> str:
    """A function that calls an op on constants `%x` and `%y`, as far as it reads them."""
    named = zip(("%x", "%y"), operands, strict=True)
    read = [f"\n  {name} = edge.constant {each} : {given}" for name, each in named if name in call]
    return f"""
func.func @forward() -> {result} {{{"".join(read)}
  %0 = edge.{call} : ({", ".join([given] * len(read))}) -> {result}
  func.return %0 : {result}
}}
"""


@proves(FoldConstantsPass(), at_least=11)
def test_moves() -> Iterator[str]:
    """Each move alone, and two things joined."""
    x, y = "dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>", "dense<[[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]>"
    for move, shape in MOVES.items():
        yield called(move, "tensor<2x3xf32>", f"tensor<{shape}xf32>", x, y)


ARITHMETIC = {
    "add.Tensor(%x, %y) {alpha = 2 : i64}": "f32",
    "sub.Tensor(%x, %y)": "f32",
    "mul.Tensor(%x, %y)": "f32",
    "minimum(%x, %y)": "f32",
    "maximum(%x, %y)": "f32",
    "lt.Tensor(%x, %y)": "i1",
    "eq.Tensor(%x, %y)": "i1",
    "ge.Tensor(%x, %y)": "i1",
    "rsub.Scalar(%x) {other = 1 : i64, alpha = 3 : i64}": "f32",
    "div.Scalar(%x) {other = 4.0 : f64}": "f32",
    "abs(%x)": "f32",
    "neg(%x)": "f32",
    "clamp(%x) {min = -1.0 : f64, max = 2.0 : f64}": "f32",
    "cumsum(%x) {dim = 1 : i64}": "f32",
    "gt.Scalar(%x) {other = 0 : i64}": "i1",
    "_to_copy(%x) {dtype = i64}": "i64",
}


@proves(FoldConstantsPass(), at_least=16, readings=[NUMBERS])
def test_arithmetic() -> Iterator[str]:
    """Each op on one or two rows of numbers."""
    x, y = "dense<[[1.5, -2.0], [0.0, 3.75]]>", "dense<[[-1.0, 4.0], [0.0, 2.5]]>"
    for call, element in ARITHMETIC.items():
        yield called(call, "tensor<2x2xf32>", f"tensor<2x2x{element}>", x, y)


REARRANGED = {
    "permute(%0) {dims = array<i64: 1, 2, 0>}": "2x1x2",
    "permute(%0) {dims = array<i64: 2, 0, 1>}": "1x2x2",
    "transpose.int(%0) {dim0 = 0 : i64, dim1 = 1 : i64}": "2x2x1",
    "select.int(%0) {dim = 0 : i64, index = 1 : i64}": "2x1",
}


@proves(FoldConstantsPass(), at_least=11, readings=[NUMBERS])
@disproves(
    "an axis of scales that moves the other way",
    "return [dim % rank for dim in op.dims].index(axis)",
    "return op.dims[axis] % rank",
)
def test_dequantized() -> Iterator[str]:
    """Dequantised constants, of which the integers are rearranged."""
    for (move, shape), (axis, count) in product(REARRANGED.items(), enumerate((2, 2, 1))):
        scales = ", ".join(("0.5", "0.25")[:count])
        yield forward(f"""
()
  %x = edge.constant dense<[[[1], [-2]], [[3], [4]]]> : tensor<2x2x1xi8>
  %s = edge.constant dense<[{scales}]> : tensor<{count}xf32>
  %0 = edge.quantized_decomposed.dequantize_per_channel(%x, %s, none)
       {{axis = {axis} : i64, quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8}}
       : (tensor<2x2x1xi8>, tensor<{count}xf32>) -> tensor<2x2x1xf32>
  %1 = edge.{move} : (tensor<2x2x1xf32>) -> tensor<{shape}xf32>
""")


PRODUCERS = {
    "conv2d": ("tensor<1x2x2x2xf32>", "dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[-4.0]]]]> : tensor<2x2x1x1xf32>"),
    "grouped": ("tensor<1x2x2x2xf32>", "dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>"),
    "linear": ("tensor<3x2xf32>", "dense<[[1.0, 2.0], [3.0, -4.0]]> : tensor<2x2xf32>"),
}


@proves(FoldBatchNormPass(), at_least=24, readings=[NUMBERS])
@disproves(
    "a bias that the norm does not scale",
    'static_array(bias, "bias", ctx) * scale',
    'static_array(bias, "bias", ctx)',
)
def test_norms() -> Iterator[str]:
    """By statistics whose roots are fractions, with a bias, a factor and an offset or without."""
    for name, has_bias, has_factor, has_offset in product(PRODUCERS, (False, True), (False, True), (False, True)):
        type, weight = PRODUCERS[name]
        kind = "linear" if name == "linear" else "conv2d"
        attributes = " {groups = 2 : i64}" if name == "grouped" else ""
        of_bias, of_factor, of_offset = (", tensor<2xf32>" if has else "" for has in (has_bias, has_factor, has_offset))
        shape = weight.split(" : ")[1]
        yield forward(f"""
(%x: {type})
  %w = edge.constant {weight}
  %b = edge.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %gamma = edge.constant dense<[2.0, 6.0]> : tensor<2xf32>
  %beta = edge.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %mean = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %var = edge.constant dense<[0.75, 3.75]> : tensor<2xf32>
  %0 = edge.{kind}(%x, %w, {"%b" if has_bias else "none"}){attributes} : ({type}, {shape}{of_bias}) -> {type}
  %1 = edge.batch_norm(%0, {"%gamma" if has_factor else "none"}, {"%beta" if has_offset else "none"}, %mean, %var)
       {{training = false, momentum = 0.1, eps = 0.25, cudnn_enabled = true}}
       : ({type}{of_factor}{of_offset}, tensor<2xf32>, tensor<2xf32>) -> {type}
""")


FACTORS = (np.array([2], np.float32), np.array([-3], np.float32), np.array([2, -1], np.float32))
KINDS = ("multiply", "add", "subtract")
NODES = ("convolution", "fully connected", "transposed")
BOUNDS = "output_min = -1.0 : f32, output_max = 2.0 : f32"


def linear(graph: Graph, value: Value, node: str, *, has_bias: bool, bounds: str = "") -> Value:
    """A node with two channels of two."""
    weights = np.array([[1, -2], [3, 4]], np.float32)
    filter = graph.number(weights.reshape(2, 1, 1, 2) if node == "convolution" else weights)
    operands = [value, filter, *([graph.number(np.array([5, -6], np.float32))] if has_bias else [])]
    attributes = ", ".join(each for each in ("transpose_weights" * (node == "transposed"), bounds) if each)
    name = "conv2d" if node == "convolution" else "fully_connected"
    return graph.node(f"{name} {{}} {{{attributes}}}", operands, value.shape)


@proves(FoldAffinePass(), at_least=60, readings=[NUMBERS])
@disproves(
    "an offset that a factor does not reach",
    "bias = arrays[1] * affine.factor + affine.offset",
    "bias = arrays[1] + affine.offset",
)
def test_affine_behind() -> Iterator[str]:
    """Factors and offsets, by element and channel, behind a node with bounds or without, at once or behind a move."""
    cases = product(NODES, KINDS, FACTORS, ("", BOUNDS), (False, True))
    for number, (node, kind, numbers, bounds, is_moved) in enumerate(cases):
        graph = Graph()
        x = graph.input(*((1, 1, 1, 2) if node == "convolution" else (1, 2)))
        value = linear(graph, x, node, has_bias=number % 3 == 0, bounds=bounds)
        if is_moved:
            value = graph.reshape(value, (2, 1) if numbers.size == 1 else (1, 1, 2))
        constant = graph.number(numbers)
        left, right = (constant, value) if number % 5 == 0 else (value, constant)
        yield graph.text(graph.binary(kind, left, right))


@proves(FoldAffinePass(), at_least=18, readings=[NUMBERS])
@disproves(
    "features scaled before their offset counts",
    "(by_feature * affine.offset).sum(axis=1",
    "(by_feature * affine.offset).sum(axis=0",
)
def test_affine_in_front() -> Iterator[str]:
    """In front of two nodes, at once or before a move."""
    for kind, numbers, is_moved in product(KINDS, FACTORS, (False, True)):
        graph = Graph()
        value = graph.binary(kind, graph.input(2, 2), graph.number(numbers))
        value = graph.reshape(value, (1, 2, 2)) if is_moved else value
        first = linear(graph, value, "fully connected", has_bias=True)
        yield graph.text(first, linear(graph, value, "transposed", has_bias=False))


TAKEN = (
    "add.Scalar(%x)[%0] {other}",
    "add.Scalar(%x)[%0] {other, alpha = 3 : i64}",
    "sub.Scalar(%x)[%0] {other, alpha = 2 : i64}",
    "rsub.Scalar(%x)[%0] {other, alpha = 2 : i64}",
    "mul.Scalar(%x)[%0] {other}",
    "div.Scalar(%x)[%0] {other}",
)


@proves(RaiseItemsPass(), at_least=18)
@disproves(
    "a factor one too large",
    'return edge.SubTensorOp(self=item, other=op.self, alpha=op.argument("alpha"))',
    'return edge.SubTensorOp(self=item, other=op.self, alpha=op.argument("alpha") + 1)',
)
def test_items() -> Iterator[str]:
    """Arithmetic with a number that is read of a tensor of one element, of any shape."""
    for taken, source in product(TAKEN, ("", "1x", "1x1x")):
        yield forward(f"""
(%x: tensor<2x3xf32>, %scale: tensor<{source}f32>)
  %0 = edge._local_scalar_dense(%scale) : (tensor<{source}f32>) -> f64
  %1 = edge.{taken} : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
""")


@proves(RaiseIntMmPass(), at_least=16, readings=[NUMBERS])
def test_products_of_integers() -> Iterator[str]:
    """torchao's products, however they round: two rows, with and without a zero point, times two columns; signed
    integers, or with 128 added; scales of all columns or of each."""
    for kind, is_shifted, scales, has_bias in product(
        ("SYMMETRIC", "ASYMMETRIC"), (False, True), ("[0.5, 0.25]", "[0.5]"), (False, True)
    ):
        count = scales.count(",") + 1
        shifted = """
  %i = edge._to_copy(%q) {dtype = i32} : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %a = edge.add.Scalar(%i) {other = 128 : i64} : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %u = edge._to_copy(%a) {dtype = ui8} : (tensor<2x2xi32>) -> tensor<2x2xui8>
  %p = edge._int_mm(%u, %w) : (tensor<2x2xui8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  %m = edge.sub.Tensor(%p, %shifts) : (tensor<2x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>"""
        plain = """
  %m = edge._int_mm(%q, %w) : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>"""
        corrected = """
  %zf = edge._to_copy(%z) {dtype = f32} : (tensor<2x1xi8>) -> tensor<2x1xf32>
  %zs = edge.mul.Tensor(%zf, %s) : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %zw = edge.mul.Tensor(%zs, %sums) : (tensor<2x1xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %y = edge.sub.Tensor(%f, %zw) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"""
        number = "%y" if kind == "ASYMMETRIC" else "%f"
        bias = """
  %b = edge.add.Tensor(%r, %bias) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>"""
        yield f"""
func.func @forward(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {{
  %w = edge.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %shifts = edge.constant dense<[[512, 256]]> : tensor<1x2xi32>
  %sums = edge.constant dense<[4.0, 2.0]> : tensor<2xf32>
  %bias = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %scales = edge.constant dense<{scales}> : tensor<{count}xf32>
  %s, %z = edge.torchao.choose_qparams_affine(%x) {{mapping_type = "{kind}", block_size = array<i64: 1, 2>,
           target_dtype = i8, zero_point_dtype = i8, keepdim = true}}
           : (tensor<2x2xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>)
  %q = edge.torchao.quantize_affine(%x, %s, %z) {{block_size = array<i64: 1, 2>, output_dtype = i8}}
       : (tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xi8>) -> tensor<2x2xi8>{shifted if is_shifted else plain}
  %n = edge._to_copy(%m) {{dtype = f32}} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %f = edge.mul.Tensor(%n, %s) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>\
{corrected if kind == "ASYMMETRIC" else ""}
  %r = edge.mul.Tensor({number}, %scales) : (tensor<2x2xf32>, tensor<{count}xf32>) -> tensor<2x2xf32>\
{bias if has_bias else ""}
  func.return {"%b" if has_bias else "%r"} : tensor<2x2xf32>
}}
"""


@proves(RaiseIntMmPass(), at_least=2, readings=[NUMBERS])
@disproves(
    "weights that are not transposed",
    '((numbers.T, "integers"), (by_channel, "scales"))',
    '((numbers, "integers"), (by_channel, "scales"))',
)
def test_weights_of_integers() -> Iterator[str]:
    """Weights alone, one that fp32 holds and 8 bits do not, and a factor that is no scale."""
    for largest, factor in product((-128.0, 127.0, 128.0), (0.25, -0.25)):
        yield forward(f"""
(%x: tensor<2x2xf32>)
  %w = edge.constant dense<[[1.0, 2.0], [3.0, {largest}]]> : tensor<2x2xf32>
  %scales = edge.constant dense<[0.5, {factor}]> : tensor<2xf32>
  %0 = edge.mm(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = edge.mul.Tensor(%0, %scales) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
""")
