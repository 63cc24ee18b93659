"""Quantised types built from Python, and against the shapes of tensors. Their text is tested by lit."""

from io import StringIO

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, Signedness, f32
from xdsl.utils.exceptions import VerifyException

from xir.dialects.quant import UniformType, storage_limits
from xir.ir.context import XirContext
from xir.ir.parser import XirParser
from xir.ir.printer import XirPrinter

I8 = IntegerType(8)
U8 = IntegerType(8, Signedness.UNSIGNED)

PER_TENSOR = UniformType.per_tensor(U8, f32, 0.5, 128)
PER_AXIS = UniformType.per_axis(I8, f32, 1, [0.5, 0.25, 2.0], storage_range=(-127, 127))
BLOCKWISE = UniformType.blockwise(IntegerType(4), f32, {0: 1, 1: 32}, np.array([[1.0, 2.0], [8.0, 0.5]]))


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (PER_TENSOR, "!quant.uniform<u8:f32, 5.000000e-01:128>"),
        (PER_AXIS, "!quant.uniform<i8<-127:127>:f32:1, {5.000000e-01, 2.500000e-01, 2.000000e+00}>"),
        (
            BLOCKWISE,
            "!quant.uniform<i4:f32:{0:1, 1:32}, {{1.000000e+00, 2.000000e+00}, {8.000000e+00, 5.000000e-01}}>",
        ),
    ],
    ids=["per-tensor", "per-axis", "blockwise"],
)
def test_what_is_built_prints_and_reads_back(type: UniformType, text: str) -> None:
    stream = StringIO()
    XirPrinter(stream).print_attribute(type)
    assert stream.getvalue() == text
    assert XirParser(XirContext(), text).parse_type() == type


def test_each_kind_tells_what_it_is() -> None:
    kinds = [(t.is_per_tensor, t.is_per_axis, t.is_blockwise) for t in (PER_TENSOR, PER_AXIS, BLOCKWISE)]
    assert kinds == [(True, False, False), (False, True, False), (False, False, True)]
    assert (PER_TENSOR.scale, PER_TENSOR.zero_point, PER_TENSOR.is_signed) == (0.5, 128, False)
    assert (PER_AXIS.axis, PER_AXIS.is_signed) == (1, True)
    np.testing.assert_array_equal(PER_AXIS.scale_array(), [0.5, 0.25, 2.0])
    np.testing.assert_array_equal(PER_AXIS.zero_point_array(), [0, 0, 0])
    np.testing.assert_array_equal(BLOCKWISE.scale_array(), [[1, 2], [8, 0.5]])
    assert BLOCKWISE.zero_point_array().shape == (2, 2)


@pytest.mark.parametrize(
    ("type", "shape"),
    [
        (PER_TENSOR, []),
        (PER_TENSOR, [4, 5]),
        (PER_AXIS, [7, 3]),
        (PER_AXIS, [7, -1, 2]),
        (BLOCKWISE, [2, 64]),
        (BLOCKWISE, [2, 33]),  # the last block may be short
        (BLOCKWISE, [-1, 40]),
    ],
)
def test_shapes_that_fit(type: UniformType, shape: list[int]) -> None:
    type.verify_shape(shape)


@pytest.mark.parametrize(
    ("type", "shape", "message"),
    [
        (PER_AXIS, [3], "quantised dimension 1 is outside of a tensor of rank 1"),
        (PER_AXIS, [3, 4], "3 scales for the 4 indices of dimension 1"),
        (BLOCKWISE, [2, 96], r"scales of shape \[2, 2\] where the blocks of the tensor make \[2, 3\]"),
        (BLOCKWISE, [2, 64, 2], r"make \[2, 2, 1\]"),
    ],
)
def test_shapes_that_do_not_fit(type: UniformType, shape: list[int], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        type.verify_shape(shape)


@pytest.mark.parametrize(
    ("storage", "limits"), [(I8, (-128, 127)), (U8, (0, 255)), (IntegerType(1), (-1, 0)), (IntegerType(4), (-8, 7))]
)
def test_storage_limits(storage: IntegerType, limits: tuple[int, int]) -> None:
    assert storage_limits(storage) == limits


def test_equal_types_are_equal() -> None:
    assert UniformType.per_tensor(U8, f32, 0.5, 128) == PER_TENSOR
    assert hash(UniformType.per_tensor(U8, f32, 0.5, 128)) == hash(PER_TENSOR)
    assert UniformType.per_tensor(U8, f32, 0.5, 127) != PER_TENSOR
