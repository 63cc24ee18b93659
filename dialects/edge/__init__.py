"""The edge dialect: ATen operators with value semantics on tensors in ATen's layout (NCHW).

    from xir.dialects import edge

    edge.AddTensorOp(self=a, other=b)

The table of a family of ops lives in the file of that family; `constant.py`, `state.py` and `control_flow.py` hold the
ops without a row.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.ir import Attribute, Dialect

from .accessors import Number, Size, check_annotations, op_classes
from .attributes import DYNAMIC
from .base import EdgeOp, Row, bind, row
from .constant import ConstantOp, NoneOp, OpaqueOp
from .control_flow import CondOp, ControlFlowOp, WhileLoopOp
from .creation import COMPARISONS, SIZE_OPERATORS
from .ops import *  # noqa: F403
from .ops import OPS
from .schema import ArgType, Argument, Return, Schema, SchemaError, parse_schema
from .state import MutableBufferOp, UpdateBufferOp

_WITHOUT_ROW = (ConstantOp, NoneOp, OpaqueOp, MutableBufferOp, UpdateBufferOp, CondOp, WhileLoopOp)

Edge = Dialect("edge", [*OPS.values(), *_WITHOUT_ROW])

OpT = TypeVar("OpT", bound=EdgeOp)


def register_op(
    schema: str,
    *,
    out: str | None = None,
    infer: Callable[[Any], Sequence[Attribute | None]] | None = None,
    pure: bool = True,
) -> Callable[[type[OpT]], type[OpT]]:
    """Add an op from outside, `edge.<namespace>.<name>`, to all contexts made from now on. Its class, which this
    decorates, has an annotation for each argument of the schema, and says in its docstring what the op computes.

    The other parameters are those of a `Row`. ValueError if there is an op of that name, TypeError if the annotations
    are not what the schema has. Rules, decompositions and the importer know the op from then on.
    """

    def register(op_class: type[OpT]) -> type[OpT]:
        global Edge
        added = row(schema, op_class.__doc__ or "", out=out, infer=infer, pure=pure)
        parsed = added.schema  # first: it says what is wrong in the text
        if added.op_name in OPS:
            raise ValueError(f"there is an op '{added.op_name}' already")
        check_annotations(op_class, parsed)
        bind(op_class, added)
        OPS[added.op_name] = op_class
        Edge = Dialect("edge", [*OPS.values(), *_WITHOUT_ROW])
        return op_class

    return register


def op(name: str) -> type[EdgeOp]:
    """The op class of `add.Tensor` or `quantized_decomposed.quantize_per_tensor`; KeyError if there is no row."""
    return OPS[f"edge.{name}"]


__all__ = [
    "COMPARISONS",
    "DYNAMIC",
    "OPS",
    "SIZE_OPERATORS",
    "ArgType",
    "Argument",
    "CondOp",
    "ConstantOp",
    "ControlFlowOp",
    "Edge",
    "EdgeOp",
    "NoneOp",
    "Number",
    "OpaqueOp",
    "Return",
    "Row",
    "Schema",
    "SchemaError",
    "Size",
    "WhileLoopOp",
    "op",
    "op_classes",
    "parse_schema",
    "register_op",
]
