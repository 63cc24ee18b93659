"""Between constant attributes and numpy, for every element type."""

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute

from xir.ir.constants import (
    DENSE_LIMIT,
    constant_array,
    dense_of_storage,
    make_dense,
    reshaped_dense,
    storage_array,
)
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.elements import element_type_of, round_to_bfloat16, storage_dtype
from xir.ir.location import file_location

I1, I4, I8, I32, I64 = map(IntegerType, (1, 4, 8, 32, 64))
UI8 = IntegerType(8, Signedness.UNSIGNED)

VALUES: list[tuple[Attribute, np.ndarray]] = [
    (f32, np.array([1.5, -0.0, np.inf], np.float32)),
    (f64, np.array([0.1, 1e300], np.float64)),
    (f16, np.array([0.5, 65504], np.float16)),
    (bf16, np.array([0.5, -3.0], np.float32)),
    (I1, np.array([True, False, True])),
    (I4, np.array([-8, 7], np.int8)),
    (I8, np.array([-128, 127], np.int8)),
    (UI8, np.array([0, 255], np.uint8)),
    (I32, np.array([-(2**31), 5], np.int32)),
    (I64, np.array([2**62, -1], np.int64)),
    (IndexType(), np.array([3, 4], np.int64)),
]


@pytest.mark.parametrize(("element_type", "values"), VALUES, ids=lambda v: str(v) if isinstance(v, Attribute) else "")
@pytest.mark.parametrize("repeat", [1, DENSE_LIMIT], ids=["dense", "resource"])
def test_values_go_in_and_come_out(element_type: Attribute, values: np.ndarray, repeat: int) -> None:
    ctx = XirContext()
    array = np.stack([values] * repeat)
    attr = make_dense(array, ctx, "w", element_type)
    assert isinstance(attr, DenseIntOrFPElementsAttr if array.size <= DENSE_LIMIT else DenseResourceAttr)
    assert attr.type == TensorType(element_type, array.shape)
    back = constant_array(attr, ctx)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i2", "i4", "i8", "u4", "?"])
def test_the_element_type_follows_from_numpy(dtype: str) -> None:
    assert storage_dtype(element_type_of(np.dtype(dtype))) == np.dtype(dtype)


def test_a_resource_is_the_array_itself() -> None:
    ctx = XirContext()
    array = np.arange(40, dtype=np.float32).reshape(5, 8).T
    attr = make_dense(array, ctx, "conv.weight")
    assert attr == DenseResourceAttr.from_params("conv.weight", TensorType(f32, [8, 5]))
    assert constant_array(attr, ctx) is array


def test_bytes_from_a_file_are_viewed_as_elements() -> None:
    ctx = XirContext()
    data = np.arange(6, dtype=np.int16)
    ctx.blobs.set("w", data.tobytes())
    array = storage_array(DenseResourceAttr.from_params("w", TensorType(IntegerType(16), [2, 3])), ctx)
    np.testing.assert_array_equal(array, data.reshape(2, 3))


@pytest.mark.parametrize("size", [1, 2, DENSE_LIMIT + 1])
def test_values_and_bits_of_bf16_are_told_apart(size: int) -> None:
    ctx = XirContext()
    ones = make_dense(np.ones(size, np.uint16), ctx, element_type=bf16)
    bits = storage_array(ones, ctx)
    assert bits.dtype == np.uint16
    assert (bits == 0x3F80).all()
    assert (storage_array(dense_of_storage(bits, bf16, ctx), ctx) == bits).all()
    assert (constant_array(dense_of_storage(np.ones(size, np.uint16), bf16, ctx), ctx) < 1e-40).all()
    with pytest.raises(TypeError, match="elements of bf16 are stored as uint16, not float32"):
        dense_of_storage(np.ones(size, np.float32), bf16, ctx)


def test_bf16_rounds_to_nearest_even_and_keeps_nans() -> None:
    one = 0x3F80
    cases = {
        (one << 16): one,
        (one << 16) + 0x7FFF: one,
        (one << 16) + 0x8000: one,  # a tie goes to the even neighbour, here down
        (one << 16) + 0x18000: one + 2,  # and here up
        (one << 16) + 0x8001: one + 1,
        0x7F7FFFFF: 0x7F80,  # the largest float32 rounds to infinity
        0xFF800000: 0xFF80,
    }
    bits = round_to_bfloat16(np.array(list(cases), np.uint32).view(np.float32))
    assert bits.tolist() == list(cases.values())
    nan = round_to_bfloat16(np.array([0x7F800001], np.uint32).view(np.float32))
    assert nan[0] & 0x7FFF > 0x7F80


def test_a_missing_resource_says_what_to_do() -> None:
    attr = DenseResourceAttr.from_params("w", TensorType(f32, [2]))
    with pytest.raises(
        DiagnosticError, match=r'^a\.mlir:3:4: error: resource "w" has no data here: .*--print-resources'
    ):
        storage_array(attr, XirContext(), file_location("a.mlir", 3, 4))


def test_a_resource_of_the_wrong_size_is_refused() -> None:
    ctx = XirContext()
    ctx.blobs.set("w", b"12345")
    with pytest.raises(DiagnosticError, match='resource "w" holds 5 bytes, but tensor<2xf32> needs 8'):
        storage_array(DenseResourceAttr.from_params("w", TensorType(f32, [2])), ctx)


def test_what_is_no_constant_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="expected a dense constant"):
        storage_array(StringAttr("x"), XirContext())
    with pytest.raises(TypeError, match="no numpy type stores i65"):
        storage_dtype(IntegerType(65))
    with pytest.raises(TypeError, match="no element type"):
        element_type_of(np.dtype("c8"))


@pytest.mark.parametrize("count", [6, 6 * DENSE_LIMIT])
@pytest.mark.parametrize("is_splat", [False, True])
def test_elements_keep_their_order_and_their_place_in_another_shape(count: int, is_splat: bool) -> None:
    ctx = XirContext()
    values = np.broadcast_to(np.float32(2), count) if is_splat else np.arange(count, dtype=np.float32)
    elements = make_dense(values.reshape(2, -1), ctx)
    made = reshaped_dense(elements, (count // 3, 1, 3))
    assert np.array_equal(storage_array(made, ctx), values.reshape(count // 3, 1, 3))
    assert len(ctx.blobs) == int(count > DENSE_LIMIT and not is_splat)
