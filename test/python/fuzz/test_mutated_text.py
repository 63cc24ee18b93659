"""Text that is wrong ends in one diagnostic: mutated lit files, always the same ones, and forms that once did not."""

from __future__ import annotations

import pytest

from .mutated_text import Case, check, draw, limits, xir_opt

CASES = 600
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_files(part: int) -> None:
    # A constant seed would run the same cases again should the drawing not depend on it.
    for seed in range(part, CASES, PARTS):
        check(draw(seed))


def one_op(op: str, argument: str, result: str) -> str:
    return f"""func.func @f(%x: {argument}) -> {result} {{
  %0 = {op} : ({argument}) -> {result}
  func.return %0 : {result}
}}
"""


def blocks(size: int, columns: str) -> str:
    return f"""func.func @choose(%x: tensor<2x{columns}xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>) {{
  %s, %z = edge.torchao.choose_qparams_affine(%x) {{mapping_type = "ASYMMETRIC", block_size = array<i64: 1, {size}>,
           target_dtype = i8, eps = 1.0e-05 : f64, zero_point_dtype = i8, keepdim = true}}
           : (tensor<2x{columns}xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>)
  func.return %s, %z : tensor<2x1xf32>, tensor<2x1xi8>
}}
"""


def heads(query: str, key: str) -> str:
    return f"""func.func @f(%q: tensor<{query}xf32>, %k: tensor<{key}xf32>) -> tensor<{query}xf32> {{
  %0 = edge.scaled_dot_product_attention(%q, %k, %k, none) {{enable_gqa = true}}
       : (tensor<{query}xf32>, tensor<{key}xf32>, tensor<{key}xf32>) -> tensor<{query}xf32>
  func.return %0 : tensor<{query}xf32>
}}
"""


def dequantized(scale: str, dtype: str) -> str:
    return f"""func.func @f(%t: tensor<2x4xi8>, %s: tensor<{scale}xf32>) -> tensor<2x4xf32> {{
  %0 = edge.torchao.dequantize_affine(%t, %s, none)
       {{block_size = array<i64: 1, 4>, input_dtype = {dtype}, output_dtype = f32}}
       : (tensor<2x4xi8>, tensor<{scale}xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}}
"""


MOST = 2**31 - 1
CUBE, SQUARE = f"tensor<{MOST}x{MOST}x{MOST}xf32>", f"tensor<{MOST}x{MOST}x"
SEVERAL_BLOCKS = "func.func @f(%x: tensor<4xf32>) {\n  func.return\n^bb1:\n  func.return\n}\n"
FIRST_BLOCK = """"func.func"() <{sym_name = "f", function_type = () -> ()}> ({
^bb0:
  "cf.br"()[^bb0] : () -> ()
}) : () -> ()
"""
BUFFER = f"""func.func @f() {{
  %0 = edge.mutable_buffer "k" dense<0> : {SQUARE}i64>
  edge.update_buffer %0, %0 : {SQUARE}i64>
  func.return
}}
"""
MASK = """func.func @f(%x: tensor<4xf32>, %m: tensor<4xi4>, %v: tensor<f32>) -> tensor<4xf32> {
  %0 = edge.masked_fill.Tensor(%x, %m, %v) : (tensor<4xf32>, tensor<4xi4>, tensor<f32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
GROUPS = f"""func.func @f() -> tensor<{MOST}x9xf32> {{
  %w = edge.constant dense<1> : tensor<{MOST}x9xi8>
  %t = edge.constant dense<1.0> : {SQUARE}f32>
  %z = edge.constant dense<0> : {SQUARE}i32>
  %0 = edge.quantized_decomposed.dequantize_per_channel_group(%w, %t, %z) {{quant_min = -8 : i64, quant_max = 7 : i64,
       dtype = i8, group_size = 4 : i64, output_dtype = f32}}
       : (tensor<{MOST}x9xi8>, {SQUARE}f32>, {SQUARE}i32>) -> tensor<{MOST}x9xf32>
  func.return %0 : tensor<{MOST}x9xf32>
}}
"""
BITS = """func.func @f() -> tensor<2xf32> {
  %w = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = edge.constant dense<1> : tensor<2xi64>
  %0 = edge.bitwise_and.Tensor(%w, %i) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
KERNELS, FORM = "--decompose-for-kernels", "--partition-xnnpack"

REFUSED = (
    *(
        (one_op("edge.abs(%x)", f"tensor<{size}xf32>", f"tensor<{size}xf32>"), flag,
         f"a size of {size} is larger than 2147483647")
        for size in (2**31, 2**32, 2**63, 2**64)
        for flag in (FORM, "--lower-to-pte", KERNELS, "--canonicalize")
    ),
    (one_op("edge.abs(%x)", CUBE, CUBE), FORM, "elements is too large"),
    *(
        (blocks(size, "8"), KERNELS, f"blocks of {size} do not divide the 8 indices of dimension 1")
        for size in (0, -1, 3, 16)
    ),
    *(
        (SEVERAL_BLOCKS, flag, "'f' has 2 blocks, and a tensor program has one")
        for flag in (FORM, "--form-delegates", "--check-xnnpack", "--lower-masks", "--lower-to-pte")
    ),
    (FIRST_BLOCK, "--allow-unregistered-dialect", "branches to the first block of its region"),
    # Constants that no memory holds, and one that no address reaches.
    *(
        (one_op(op, argument, f"tensor<{MOST}x{columns}xf32>"), FORM,
         ":2:8: error: pass 'partition-xnnpack' needs more memory than there is: ")
        for op, argument, columns in (
            ("edge.triu(%x)", f"tensor<{MOST}x2xf32>", 2),
            (f"edge.expand(%x) {{size = array<i64: {MOST}, 4>}}", "tensor<1x4xf32>", 4),
        )
    ),
    (GROUPS, "--check-quantization", ":3:8: error: the constant takes more memory than there is"),
    (BUFFER, "--lower-to-pte", "the buffer takes more memory than"),
    (MASK, KERNELS, "mask has element type i4, expected i1"),
    *(
        (heads(query, key), flag, message)
        for query, key, message in (
            ("1x1x5x16", "1x2x5x16", "1 heads of queries are no multiple of 2 heads of keys"),
            ("5x16", "5x16", "heads are dimension -3, and 5x16 has none"),
        )
        for flag in (KERNELS, FORM)
    ),
    (BITS, "--fold-constants", "operands have element type f32, expected integers or booleans"),
    *(
        (dequantized("2x1", dtype), KERNELS, f"input_dtype is {dtype}, expected an integer type")
        for dtype in ("tensor<5xf32>", "f32")
    ),
)  # fmt: skip


def test_text_that_is_refused() -> None:
    for text, flag, message in REFUSED:
        with limits():
            ended = xir_opt(text, (flag,))
        assert (ended.exit_code, message in ended.stderr) == (1, True), (text, flag, ended.stderr)


SPLAT = """func.func @f() -> tensor<2147483647x1x1x1xf32> {
  %0 = edge.constant dense<LITERAL> : tensor<2147483647x1x1x1xf32>
  func.return %0 : tensor<2147483647x1x1x1xf32>
}
"""
EMPTY = """func.func @f(%x: tensor<2x3xf32>) {
  %0 = edge.repeat(%x) {repeats = array<i64: 0, 2>} : (tensor<2x3xf32>) -> tensor<0x6xf32>
  func.return
}
"""
ANY_QUERIES = """!rows = tensor<2147483647x4xf32>
func.func @f(%q: !rows, %k: tensor<4x4xf32>) -> !rows {
  %y = xnnpack.subgraph(%q, %k) : (!rows, tensor<4x4xf32>) -> !rows {
  ^bb0(%a: !rows, %b: tensor<4x4xf32>):
    %mask = xnnpack.constant dense<[0.0, 0.0, -3.0e38, -3.0e38]> : tensor<4xf32>
    %0 = xnnpack.batch_matrix_multiply %a, %b : (!rows, tensor<4x4xf32>) -> !rows
    %1 = xnnpack.binary add %0, %mask : !rows, tensor<4xf32> -> !rows
    %2 = xnnpack.softmax %1 : !rows -> !rows
    %3 = xnnpack.batch_matrix_multiply %2, %b : (!rows, tensor<4x4xf32>) -> !rows
    xnnpack.yield %3 : !rows
  }
  func.return %y : !rows
}
"""

TAKEN = (
    (SEVERAL_BLOCKS, "--split-fully-connected", "--bubble-up-slice"),
    (EMPTY, FORM),
    (one_op("edge.max(%x)", f"tensor<{MOST}x2xf32>", "tensor<f32>"), FORM),  # sizes that wrap
    (dequantized("2x1", "i8"), KERNELS),
    (dequantized("?x1", "i8"), KERNELS),
    (ANY_QUERIES, "--skip-masked-keys"),
    (SPLAT.replace("LITERAL", "1.0"),),
    (SPLAT.replace("LITERAL", '"0x0000803F"'),),
)


def test_text_that_is_taken() -> None:
    for text, *flags in TAKEN:
        assert check(Case(text, tuple(flags), "")), (text, flags)
        if not flags:
            assert "dense<1.000000e+00> : tensor<2147483647x1x1x1xf32>" in xir_opt(text, ()).stdout, "one element"


def test_open_dimensions_are_not_divided_into_blocks() -> None:
    text = blocks(8, "?").replace("tensor<2x1x", "tensor<2x?x")
    check(Case(text, (KERNELS,), "open blocks"))
