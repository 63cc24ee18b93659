"""The edge dialect: ATen operators with value semantics on tensors in ATen's layout (NCHW).

    from xir.dialects import edge

    edge.op("add.Tensor").build_from({"self": a, "other": b}, [a.type], location)

The table of a family of ops lives in the file of that family; `constant.py` and `state.py` hold the ops
without a row.
"""

from xdsl.ir import Dialect

from . import (
    convolution,
    creation,
    elementwise,
    indexing,
    matrix,
    normalization,
    pooling,
    quantized,
    reduction,
    shape,
)
from .attributes import DYNAMIC
from .base import EdgeOp, Row, op_class
from .constant import ConstantOp, OpaqueOp
from .schema import ArgType, Argument, Return, Schema, SchemaError, parse_schema
from .state import MutableBufferOp, UpdateBufferOp

_FAMILIES = (
    elementwise,
    convolution,
    matrix,
    reduction,
    normalization,
    pooling,
    shape,
    indexing,
    creation,
    quantized,
)

OPS: dict[str, type[EdgeOp]] = {row.op_name: op_class(row) for family in _FAMILIES for row in family.ROWS}
"""Op classes by op name (`edge.add.Tensor`), one for each row."""

_WITHOUT_ROW = (ConstantOp, OpaqueOp, MutableBufferOp, UpdateBufferOp)

Edge = Dialect("edge", [*OPS.values(), *_WITHOUT_ROW])


def register_row(added: Row) -> type[EdgeOp]:
    """Add an op from outside, `edge.<namespace>.<name>`, to all contexts made from now on; its class.

    ValueError if there is an op of that name. Rules, decompositions and the importer know it by the name.
    """
    global Edge
    if added.op_name in OPS:
        raise ValueError(f"there is an op '{added.op_name}' already")
    OPS[added.op_name] = op_class(added)
    Edge = Dialect("edge", [*OPS.values(), *_WITHOUT_ROW])
    return OPS[added.op_name]


def op(name: str) -> type[EdgeOp]:
    """The op class of `add.Tensor` or `quantized_decomposed.quantize_per_tensor`; KeyError if there is no row."""
    return OPS[f"edge.{name}"]


__all__ = [
    "DYNAMIC",
    "OPS",
    "ArgType",
    "Argument",
    "ConstantOp",
    "Edge",
    "EdgeOp",
    "MutableBufferOp",
    "OpaqueOp",
    "Return",
    "Row",
    "Schema",
    "SchemaError",
    "UpdateBufferOp",
    "op",
    "parse_schema",
    "register_row",
]
