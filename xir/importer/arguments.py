"""An fx call's arguments as an edge op's, by the names in the operator's schema."""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type, schema and dispatch keys begin with an underscore.

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.fx import Node
from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute

from xir.dialects import edge
from xir.dialects.edge.types import is_float, scalar_type
from xir.ir.constants import make_dense, storage_dtype
from xir.ir.context import XirContext

from .aliasing import Operator
from .dtypes import ELEMENT_TYPES


def arguments_of(node: Node, target: Operator) -> dict[str, Any]:
    """The node's arguments by their names in `target`, which is the node's own or the functional form of that."""
    assert isinstance(node.target, Operator)
    names = [a.name for a in target._schema.arguments]
    own = dict(zip((a.name for a in node.target._schema.arguments), names, strict=True))
    return {**dict(zip(names, node.args, strict=False)), **{own[name]: value for name, value in node.kwargs.items()}}


def import_value(value: Any, values: Mapping[Node, Any]) -> Any:
    """An fx argument as SSA value or as the Python value that `EdgeOp.build_from` takes."""
    match value:
        case Node():
            return values[value]
        case torch.dtype():
            return ELEMENT_TYPES.get(value)
        case torch.memory_format() | torch.layout():
            return str(value).removeprefix("torch.")
        case torch.device():
            return str(value)
        case list() | tuple():
            return [import_value(v, values) for v in value]
        case _:
            return value


def is_number(value: Any) -> bool:
    """Python passes numbers also where a schema has a tensor: `aten.mul.Tensor(x, 2)`."""
    return isinstance(value, int | float)


def overload_for(op_class: type[edge.EdgeOp], numbers: list[str]) -> type[edge.EdgeOp]:
    """The overload that takes numbers for those arguments, or the same op if there is none."""
    other = edge.OPS.get(op_class.name.replace("Tensor", "Scalar"))
    return other if other is not None and all(n in other.row.schema.values for n in numbers) else op_class


def number_constant(number: float, result: Attribute, ctx: XirContext, location: LocationAttr) -> edge.ConstantOp:
    """A number as tensor without dimensions, in the result's type if that is a float: it then promotes nothing."""
    element = scalar_type(number)
    if is_float(element) and isinstance(result, TensorType) and is_float(result.element_type):
        element = result.element_type
    array = np.asarray(number, np.float64) if is_float(element) else np.asarray(number, storage_dtype(element))
    return edge.ConstantOp(make_dense(array, ctx, element_type=element), location)


def out_kernel(target: Operator) -> str | None:
    """The out variant with the same arguments, as in `aten::erfinv.out`."""
    packet = getattr(getattr(torch.ops, target.namespace), target._schema.name.split("::")[1])
    wanted = [(a.name, str(a.type)) for a in target._schema.arguments]
    for overload in packet.overloads():
        schema = getattr(packet, overload)._schema
        inputs = [a for a in schema.arguments if a.alias_info is None or not a.alias_info.is_write]
        if len(inputs) < len(schema.arguments) and [(a.name, str(a.type)) for a in inputs] == wanted:
            return f"{schema.name}.{schema.overload_name}"
    return None
