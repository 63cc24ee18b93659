"""The dialect's verifiers and the table that the runtime's verifier walks say the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from typing import Any, NoReturn

import numpy as np
import pytest
from wire.test_node_shapes import attribute
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import OptPropertyDef
from xdsl.utils.exceptions import VerifyException

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.quantization import DynamicType, i4
from xir.dialects.xnnpack.signatures import (
    PER_CHANNEL_DATATYPES,
    PER_TENSOR_DATATYPES,
    PLAIN_DATATYPES,
    Form,
    datatype_of,
)
from xir.ir.traits import VerifiedByTypes

SCALE = 2.0**-4

DATATYPES = (
    *PLAIN_DATATYPES.values(),
    *PER_TENSOR_DATATYPES.values(),
    "QCInt8",
    "QCInt4",
    "QCInt32",
    "QBInt4",
    "QDInt8",
)

Key = str | int | None
ROWS = [(op, key) for op in xnnpack.NODE_OPS for key in op.WIRE.members]

SHAPES: dict[type[xnnpack.NodeOp], tuple[tuple[int, ...], ...]] = {
    xnnpack.Conv2dOp: ((1, 6, 6, 32), (32, 3, 3, 32), (32,), (1, 4, 4, 32)),
    xnnpack.DepthwiseConv2dOp: ((1, 6, 6, 32), (1, 3, 3, 32), (32,), (1, 4, 4, 32)),
    xnnpack.Deconv2dOp: ((1, 6, 6, 32), (32, 3, 3, 32), (32,), (1, 8, 8, 32)),
    xnnpack.FullyConnectedOp: ((2, 32), (32, 32), (32,), (2, 32)),
    xnnpack.BatchMatrixMultiplyOp: ((2, 32, 32), (2, 32, 32), (2, 32, 32)),
    xnnpack.MaxPooling2dOp: ((1, 6, 6, 4), (1, 5, 5, 4)),
    xnnpack.AveragePooling2dOp: ((1, 6, 6, 4), (1, 5, 5, 4)),
    xnnpack.ArgMaxPooling2dOp: ((1, 6, 6, 4), (1, 3, 3, 4), (1, 3, 3, 4)),
    xnnpack.GlobalAveragePooling2dOp: ((1, 6, 6, 4), (1, 4)),
    xnnpack.StaticReduceOp: ((2, 3), (2,)),
    xnnpack.StaticTransposeOp: ((2, 3), (3, 2)),
    xnnpack.StaticReshapeOp: ((2, 3), (6,)),
    xnnpack.StaticSliceOp: ((2, 3), (1, 2)),
    xnnpack.StaticConstantPadOp: ((2, 3), (2, 4)),
    xnnpack.StaticResizeBilinear2dOp: ((1, 3, 3, 4), (1, 5, 5, 4)),
}
"""Of all operands, then of all results; other nodes take and give 2x3."""


PROPERTIES: dict[type[xnnpack.NodeOp], dict[str, Any]] = {
    xnnpack.DepthwiseConv2dOp: {"groups": 32},
    xnnpack.MaxPooling2dOp: {"kernel": (2, 2)},
    xnnpack.AveragePooling2dOp: {"kernel": (2, 2)},
    xnnpack.ArgMaxPooling2dOp: {"kernel": (2, 2)},
    xnnpack.StaticReduceOp: {"axes": (1,)},
    xnnpack.StaticTransposeOp: {"perm": (1, 0)},
    xnnpack.StaticReshapeOp: {"new_shape": (0,)},
    xnnpack.StaticSliceOp: {"offsets": (1, 0), "sizes": (1, 2)},
    xnnpack.StaticConstantPadOp: {"pre_paddings": (0, 1), "post_paddings": (0, 0)},
    xnnpack.StaticResizeBilinear2dOp: {"new_height": 5, "new_width": 5},
    xnnpack.ConcatenateOp: {"axis": 0},
    xnnpack.EluOp: {"alpha": 1.0},
    xnnpack.LeakyReluOp: {"negative_slope": 0.5},
    xnnpack.ClampOp: {"output_min": 0.0, "output_max": 1.0},
}
"""Those that an op requires, and bounds."""


@cache
def tensor(datatype: str, op: type[xnnpack.NodeOp], position: int, shape: tuple[int, ...]) -> TensorType[Attribute]:
    """A tensor of a datatype, with scales that suit the operand or result at `position`."""
    axis = op.FILTER.axis if op.FILTER is not None and position == 1 else 0
    elements = {
        **{name: plain for plain, name in PLAIN_DATATYPES.items()},
        **{name: UniformType.per_tensor(stored, f32, SCALE, 0) for stored, name in PER_TENSOR_DATATYPES.items()},
        **{
            name: UniformType.per_axis(stored, f32, axis, [SCALE] * shape[axis])
            for stored, name in PER_CHANNEL_DATATYPES.items()
        },
        "QBInt4": UniformType.blockwise(i4, f32, {0: 1, 1: 32}, np.full((shape[0], max(shape[-1] // 32, 1)), SCALE)),
        "QDInt8": DynamicType.of(op.FILTER.row_rank if op.FILTER is not None else 1),
    }
    return TensorType(elements[datatype], shape)


@cache
def properties_of(op: type[xnnpack.NodeOp], key: Key) -> dict[str, Attribute]:
    """Those that the op cannot be built without, and bounds."""
    given = PROPERTIES.get(op, {}) | ({"kind": key} if isinstance(key, str) else {})
    properties = op.get_irdl_definition().properties.items()
    required = {
        name for name, each in properties if not isinstance(each, OptPropertyDef) and each.default_value is None
    }
    missing = required - given.keys()
    assert not missing, f"PROPERTIES of test_signatures.py gives {op.name} no {', '.join(sorted(missing))}"
    return {name: attribute(op, value) for name, value in given.items()}


def build(op: type[xnnpack.NodeOp], key: Key, form: Form) -> xnnpack.NodeOp:
    """The op on operands and results of the datatypes."""
    count = key if isinstance(key, int) else len(op.get_irdl_definition().operands)
    results = len(form) - count
    shapes = SHAPES.get(op, ((2, 3),) * len(form))
    if op is xnnpack.ConcatenateOp:
        shapes = (*shapes[:-1], (2 * count, 3))
    types = [
        None if name is None else tensor(name, op, i, shape)
        for i, (name, shape) in enumerate(zip(form, shapes, strict=True))
    ]
    values = [None if t is None else test.TestOp(result_types=[t]).results[0] for t in types[:count]]
    operands = [[value for value in values if value is not None]] if isinstance(key, int) else values
    return op(operands=operands, result_types=[t for t in types[-results:] if t], properties={**properties_of(op, key)})


def forms(op: type[xnnpack.NodeOp], key: Key, every: int) -> Iterator[Form]:
    """Combinations of datatypes, impossible ones too: those that differ from a row in one place, and one of `every` so
    many of all others of up to three operands and results, or of an input, a filter and a result.
    """
    rows = op.signatures(key)
    slots = len(rows[0].operands) + len(rows[0].results)
    optional = {i for row in rows for i, name in enumerate(row.operands) if name is None}
    if slots <= 3:
        yield from islice(product(DATATYPES, repeat=slots), 0, None, every)
    elif op.FILTER is not None:
        triples = islice(product(DATATYPES, repeat=3), 0, None, every)
        yield from ((one, two, None, result) for one, two, result in triples)
    for row, place in product(rows, range(slots)):
        form = (*row.operands, *row.results)
        for name in (*DATATYPES, *([None] if place in optional else [])):
            yield (*form[:place], name, *form[place + 1 :])


def test_the_verifier_accepts_the_table_and_looks_at_types_alone() -> None:
    """That is what `VerifiedByTypes` promises, by which the verifier passes over equal nodes."""
    for op, key in ROWS:
        assert op.has_trait(VerifiedByTypes)
        assert not op.get_irdl_definition().attributes
        assert op.signatures(key)
        for signature in op.signatures(key):
            node = build(op, key, (*signature.operands, *signature.results))
            node.verify()
            node.operands = [TypeAlone(value.type) for value in node.operands]
            node.verify_()


class TypeAlone(SSAValue):
    """A value of which nothing but the type is to be asked."""

    @property
    def owner(self) -> NoReturn:
        raise AssertionError("the verifier asks what defines an operand")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


SPREAD = 23
"""Of so many combinations `make test` takes one. The number of datatypes is no multiple of it, so any two of them
meet."""

DISTINCT = list({(op, op.signatures(key)): (op, key) for op, key in ROWS}.values())
"""Of kinds of one op with the same rows one."""


@pytest.mark.parametrize("every", [SPREAD, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("op", "key"), DISTINCT, ids=[f"{op.name}-{key}" for op, key in DISTINCT])
def test_the_verifier_accepts_nothing_else(op: type[xnnpack.NodeOp], key: Key, every: int):
    table = {(*signature.operands, *signature.results) for signature in op.signatures(key)}
    for form in dict.fromkeys(forms(op, key, every)):
        if form in table or (op is xnnpack.ConvertOp and str(form[0]).startswith(("QC", "QB", "QD", "QInt32"))):
            continue  # conversions back of weights are there until their nodes are found
        with pytest.raises(VerifyException):
            build(op, key, form).verify()


def test_datatypes_are_those_of_the_wire():
    for name in (*PLAIN_DATATYPES.values(), "QInt8", "QCInt4", "QBInt4", "QDInt8"):
        assert datatype_of(tensor(name, xnnpack.FullyConnectedOp, 1, (32, 32)).element_type) == name
