"""Arguments in the place of what a program computes, as large as that gets."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import delegate, xnnpack
from xir.dialects.xnnpack.subgraph import outside_type
from xir.ir.annotations import DIM_NAMES, MAX_SHAPE
from xir.ir.symbolic_size import is_dynamic
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError


def argument_for(op: Operation, result: SSAValue) -> SSAValue | None:
    """A new argument, in the block of an op, for what it computes: the caller gives it, through all delegates.

    None where there can be none: a dynamic size has no bound, so that a caller may not choose it.
    """
    function = op.parent_op()
    while function is not None and not isinstance(function, FuncOp):
        function = function.parent_op()
    if not isinstance(function, FuncOp):
        return None
    attributes = dimensions(function, result)
    return None if attributes is None else _argument(op, result.type, attributes)


def dimensions(function: FuncOp, value: SSAValue) -> DictionaryAttr | None:
    """What has to be written on an argument that stands for a value; None if the value has no largest shape."""
    if not isinstance(value.type, TensorType) or value.type.has_static_shape():
        return DictionaryAttr({})
    sizes = SymbolicSizes(function)
    try:
        shape, largest = sizes.known(value), sizes.bounds(value)
    except UnknownSizeError:
        return None
    # A size that has no name among the arguments' is one of its own.
    names = ["" if not is_dynamic(size) or "#" in str(size) else str(size) for size in shape]
    return DictionaryAttr(
        {MAX_SHAPE: DenseArrayBase.from_list(i64, largest), DIM_NAMES: ArrayAttr([StringAttr(each) for each in names])}
    )


def _argument(op: Operation, type: Attribute, attributes: DictionaryAttr) -> SSAValue | None:
    block = op.parent
    if block is None:
        return None
    parent = block.parent_op()
    if isinstance(parent, delegate.RegionOp):
        return _argument(parent, type, attributes)
    if isinstance(parent, xnnpack.SubgraphOp):
        outer = _argument(parent, outside_type(type), attributes)
        if outer is None:
            return None
        parent.operands = [*parent.operands, outer]
        return block.insert_arg(type, len(block.args))
    if not isinstance(parent, FuncOp):
        return None
    if parent.arg_attrs is not None or attributes.data:
        before = [DictionaryAttr({})] * len(block.args) if parent.arg_attrs is None else parent.arg_attrs.data
        parent.arg_attrs = ArrayAttr([*before, attributes])
    return block.insert_arg(type, len(block.args))
