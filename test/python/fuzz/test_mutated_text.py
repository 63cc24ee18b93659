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


def refusal(text: str, *flags: str) -> str:
    with limits():
        ended = xir_opt(text, flags)
    assert ended.exit_code == 1
    return ended.stderr


def one_op(op: str, argument: str, result: str) -> str:
    return (
        f"func.func @f(%x: {argument}) -> {result} {{\n"
        f"  %0 = {op} : ({argument}) -> {result}\n"
        f"  func.return %0 : {result}\n}}\n"
    )


@pytest.mark.parametrize("size", [2**31, 2**32, 2**63, 2**64])
@pytest.mark.parametrize("flag", ["--partition-xnnpack", "--lower-to-pte", "--decompose-for-kernels", "--canonicalize"])
def test_sizes_that_no_file_holds(size: int, flag: str) -> None:
    text = one_op("edge.abs(%x)", f"tensor<{size}xf32>", f"tensor<{size}xf32>")
    assert f"a size of {size} is larger than 2147483647" in refusal(text, flag)


def test_too_many_elements() -> None:
    large = "tensor<2147483647x2147483647x2147483647xf32>"
    assert "elements is too large" in refusal(one_op("edge.abs(%x)", large, large), "--partition-xnnpack")


@pytest.mark.parametrize("literal", ["1.0", '"0x0000803F"'])
def test_a_splat_stays_one_element(literal: str) -> None:
    text = (
        "func.func @f() -> tensor<2147483647x1x1x1xf32> {\n"
        f"  %0 = edge.constant dense<{literal}> : tensor<2147483647x1x1x1xf32>\n"
        "  func.return %0 : tensor<2147483647x1x1x1xf32>\n}\n"
    )
    assert check(Case(text, (), "splat"))
    with limits():
        ended = xir_opt(text, ())
    assert "dense<1.000000e+00> : tensor<2147483647x1x1x1xf32>" in ended.stdout


@pytest.mark.parametrize("block", [0, -1, 3, 16])
def test_blocks_that_do_not_divide(block: int) -> None:
    text = (
        "func.func @choose(%x: tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>) {\n"
        '  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "ASYMMETRIC",\n'
        f"           block_size = array<i64: 1, {block}>, target_dtype = i8, eps = 1.0e-05 : f64,\n"
        "           zero_point_dtype = i8, keepdim = true}\n"
        "           : (tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2x1xi8>)\n"
        "  func.return %s, %z : tensor<2x1xf32>, tensor<2x1xi8>\n}\n"
    )
    assert f"blocks of {block} do not divide the 8 indices of dimension 1" in refusal(text, "--decompose-for-kernels")


SEVERAL_BLOCKS = """
func.func @f(%x: tensor<4xf32>) {
  func.return
^bb1:
  func.return
}
"""


@pytest.mark.parametrize(
    "flag", ["--partition-xnnpack", "--form-delegates", "--check-xnnpack", "--lower-masks", "--lower-to-pte"]
)
def test_functions_of_several_blocks(flag: str) -> None:
    assert "'f' has 2 blocks, and a tensor program has one" in refusal(SEVERAL_BLOCKS, flag)


def test_passes_that_look_at_sizes_take_several_blocks() -> None:
    assert check(Case(SEVERAL_BLOCKS, ("--split-fully-connected", "--bubble-up-slice"), "blocks"))


def test_the_first_block_of_a_region_is_no_target() -> None:
    text = (
        '"func.func"() <{sym_name = "f", function_type = () -> ()}> ({\n'
        '^bb0:\n  "cf.br"()[^bb0] : () -> ()\n}) : () -> ()\n'
    )
    assert "branches to the first block of its region" in refusal(text, "--allow-unregistered-dialect")


@pytest.mark.parametrize(
    ("op", "argument", "result"),
    [
        ("edge.triu(%x)", "tensor<2147483647x2xf32>", "tensor<2147483647x2xf32>"),
        ("edge.expand(%x) {size = array<i64: 2147483647, 4>}", "tensor<1x4xf32>", "tensor<2147483647x4xf32>"),
    ],
)
def test_constants_that_no_memory_holds(op: str, argument: str, result: str) -> None:
    message = refusal(one_op(op, argument, result), "--partition-xnnpack")
    assert ":2:8: error: pass 'partition-xnnpack' needs more memory than there is: " in message


def test_buffers_that_no_arena_holds() -> None:
    large = "tensor<2147483647x2147483647xi64>"
    text = (
        f'func.func @f() {{\n  %0 = edge.mutable_buffer "k" dense<0> : {large}\n'
        f"  edge.update_buffer %0, %0 : {large}\n  func.return\n}}\n"
    )
    assert "the buffer takes more memory than" in refusal(text, "--lower-to-pte")


def test_a_mask_is_of_booleans() -> None:
    text = (
        "func.func @f(%x: tensor<4xf32>, %m: tensor<4xi4>, %v: tensor<f32>) -> tensor<4xf32> {\n"
        "  %0 = edge.masked_fill.Tensor(%x, %m, %v) : (tensor<4xf32>, tensor<4xi4>, tensor<f32>) -> tensor<4xf32>\n"
        "  func.return %0 : tensor<4xf32>\n}\n"
    )
    assert "mask has element type i4, expected i1" in refusal(text, "--decompose-for-kernels")


@pytest.mark.parametrize(
    ("op", "argument", "result"),
    [
        ("edge.repeat(%x) {repeats = array<i64: 0, 2>}", "tensor<2x3xf32>", "tensor<0x6xf32>"),
    ],
)
def test_empty_results_that_nothing_reads(op: str, argument: str, result: str) -> None:
    text = f"func.func @f(%x: {argument}) {{\n  %0 = {op} : ({argument}) -> {result}\n  func.return\n}}\n"
    assert check(Case(text, ("--partition-xnnpack",), "empty"))


def test_open_dimensions_are_not_divided_into_blocks() -> None:
    text = (
        "func.func @choose(%x: tensor<2x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xi8>) {\n"
        '  %s, %z = edge.torchao.choose_qparams_affine(%x) {mapping_type = "ASYMMETRIC",\n'
        "           block_size = array<i64: 1, 8>, target_dtype = i8, eps = 1.0e-05 : f64,\n"
        "           zero_point_dtype = i8, keepdim = true}\n"
        "           : (tensor<2x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xi8>)\n"
        "  func.return %s, %z : tensor<2x?xf32>, tensor<2x?xi8>\n}\n"
    )
    check(Case(text, ("--decompose-for-kernels",), "open blocks"))


def test_nodes_with_sizes_that_wrap() -> None:
    text = one_op("edge.max(%x)", "tensor<2147483647x2xf32>", "tensor<f32>")
    assert check(Case(text, ("--partition-xnnpack",), "wrapping"))


def test_constants_that_no_address_reaches() -> None:
    large = "tensor<2147483647x2147483647x"
    op = (
        "edge.quantized_decomposed.dequantize_per_channel_group(%w, %t, %z) {quant_min = -8 : i64, "
        "quant_max = 7 : i64, dtype = i8, group_size = 4 : i64, output_dtype = f32}"
    )
    text = (
        "func.func @f() -> tensor<2147483647x9xf32> {\n"
        "  %w = edge.constant dense<1> : tensor<2147483647x9xi8>\n"
        f"  %t = edge.constant dense<1.0> : {large}f32>\n"
        f"  %z = edge.constant dense<0> : {large}i32>\n"
        f"  %0 = {op} : (tensor<2147483647x9xi8>, {large}f32>, {large}i32>) -> tensor<2147483647x9xf32>\n"
        "  func.return %0 : tensor<2147483647x9xf32>\n}\n"
    )
    assert ":3:8: error: the constant takes more memory than there is" in refusal(text, "--check-quantization")


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ("1x1x5x16", "1x2x5x16", "1 heads of queries are no multiple of 2 heads of keys"),
        ("5x16", "5x16", "heads are dimension -3, and 5x16 has none"),
    ],
)
@pytest.mark.parametrize("flag", ["--decompose-for-kernels", "--partition-xnnpack"])
def test_heads_that_make_no_groups(query: str, key: str, message: str, flag: str) -> None:
    text = (
        f"func.func @f(%q: tensor<{query}xf32>, %k: tensor<{key}xf32>) -> tensor<{query}xf32> {{\n"
        "  %0 = edge.scaled_dot_product_attention(%q, %k, %k, none) {enable_gqa = true}\n"
        f"       : (tensor<{query}xf32>, tensor<{key}xf32>, tensor<{key}xf32>) -> tensor<{query}xf32>\n"
        f"  func.return %0 : tensor<{query}xf32>\n}}\n"
    )
    assert message in refusal(text, flag)


def test_bits_are_of_integers() -> None:
    text = (
        "func.func @f() -> tensor<2xf32> {\n"
        "  %w = edge.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
        "  %i = edge.constant dense<1> : tensor<2xi64>\n"
        "  %0 = edge.bitwise_and.Tensor(%w, %i) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>\n"
        "  func.return %0 : tensor<2xf32>\n}\n"
    )
    assert "operands have element type f32, expected integers or booleans" in refusal(text, "--fold-constants")


def dequantized(scale: str, dtype: str) -> str:
    return (
        f"func.func @f(%t: tensor<2x4xi8>, %s: tensor<{scale}xf32>) -> tensor<2x4xf32> {{\n"
        "  %0 = edge.torchao.dequantize_affine(%t, %s, none)\n"
        f"       {{block_size = array<i64: 1, 4>, input_dtype = {dtype}, output_dtype = f32}}\n"
        f"       : (tensor<2x4xi8>, tensor<{scale}xf32>) -> tensor<2x4xf32>\n"
        "  func.return %0 : tensor<2x4xf32>\n}\n"
    )


@pytest.mark.parametrize("dtype", ["tensor<5xf32>", "f32"])
def test_integers_have_an_integer_type(dtype: str) -> None:
    message = refusal(dequantized("2x1", dtype), "--decompose-for-kernels")
    assert f"input_dtype is {dtype}, expected an integer type" in message


@pytest.mark.parametrize("scale", ["2x1", "?x1"])
def test_scales_of_open_dimensions(scale: str) -> None:
    assert check(Case(dequantized(scale, "i8"), ("--decompose-for-kernels",), "scales"))


def test_a_mask_of_any_number_of_queries() -> None:
    text = (
        "func.func @f(%q: tensor<2147483647x4xf32>, %k: tensor<4x4xf32>) -> tensor<2147483647x4xf32> {\n"
        "  %y = xnnpack.subgraph(%q, %k)\n"
        "     : (tensor<2147483647x4xf32>, tensor<4x4xf32>) -> tensor<2147483647x4xf32> {\n"
        "  ^bb0(%a: tensor<2147483647x4xf32>, %b: tensor<4x4xf32>):\n"
        "    %mask = xnnpack.constant dense<[0.0, 0.0, -3.0e38, -3.0e38]> : tensor<4xf32>\n"
        "    %0 = xnnpack.batch_matrix_multiply %a, %b\n"
        "       : (tensor<2147483647x4xf32>, tensor<4x4xf32>) -> tensor<2147483647x4xf32>\n"
        "    %1 = xnnpack.binary add %0, %mask\n"
        "       : tensor<2147483647x4xf32>, tensor<4xf32> -> tensor<2147483647x4xf32>\n"
        "    %2 = xnnpack.softmax %1 : tensor<2147483647x4xf32> -> tensor<2147483647x4xf32>\n"
        "    %3 = xnnpack.batch_matrix_multiply %2, %b\n"
        "       : (tensor<2147483647x4xf32>, tensor<4x4xf32>) -> tensor<2147483647x4xf32>\n"
        "    xnnpack.yield %3 : tensor<2147483647x4xf32>\n"
        "  }\n"
        "  func.return %y : tensor<2147483647x4xf32>\n}\n"
    )
    assert check(Case(text, ("--skip-masked-keys",), "masks"))
