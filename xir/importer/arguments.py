"""An fx call's arguments as an edge op's, by the names in the operator's schema."""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type, schema and dispatch keys begin with an underscore.

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from torch.fx import Node
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from xir.dialects import edge

from .aliasing import Operator
from .dtypes import ELEMENT_TYPES


def call_of(node: Node, target: Operator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The node's arguments as `target` takes them, which is the node's own operator or the functional form of that."""
    assert isinstance(node.target, Operator)
    if not node.kwargs:
        return node.args, {}
    names = dict(zip(_names(node.target), _names(target), strict=True))
    return node.args, {names[name]: value for name, value in node.kwargs.items()}


def by_name(target: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments by their names in the schema."""
    return {**dict(zip(_names(target), args, strict=False)), **kwargs}


@lru_cache(maxsize=4096)
def _names(target: Operator) -> tuple[str, ...]:
    return tuple(argument.name for argument in target._schema.arguments)


def import_value(value: Any, values: Mapping[Node, Any]) -> Any:
    """An fx argument as SSA value or as the Python value that `EdgeOp.build_from` takes.

    ValueError for a dtype that no element type stands for, such as torch.uint4.
    """
    match value:
        case Node():
            return values[value]
        case torch.dtype():
            if value not in ELEMENT_TYPES:
                raise ValueError(f"tensors of {value} have no form here: use one of torch's usual dtypes")
            return ELEMENT_TYPES[value]
        case torch.memory_format() | torch.layout():
            return str(value).removeprefix("torch.")
        case torch.device():
            return str(value)
        case list() | tuple():
            return [import_value(v, values) for v in value]
        case _:
            return value


def overload_for(op_class: type[edge.EdgeOp], args: Mapping[str, Any]) -> type[edge.EdgeOp]:
    """Python passes numbers also where a schema has a tensor, `aten.mul.Tensor(x, 2)`: the overload that takes them."""
    numbers = {name for name in op_class.row.schema.tensors if is_number(args.get(name))}
    taking = edge.OPS.get(op_class.name.replace("Tensor", "Scalar"), op_class) if numbers else op_class
    return taking if numbers.isdisjoint(taking.row.schema.tensors) else op_class


def is_number(value: Any) -> bool:
    """Whether an argument is a number, which may be one that the program computes."""
    return isinstance(value, int | float) or (isinstance(value, SSAValue) and not isinstance(value.type, TensorType))


def out_kernel(target: Operator) -> str | None:
    """The out variant with the same arguments, as in `aten::erfinv.out`."""
    packet = getattr(getattr(torch.ops, target.namespace), target._schema.name.split("::")[1])
    wanted = [(a.name, str(a.type)) for a in target._schema.arguments]
    for overload in packet.overloads():
        schema = getattr(packet, overload)._schema
        inputs = [a for a in schema.arguments if not a.is_out]
        if len(inputs) < len(schema.arguments) and [(a.name, str(a.type)) for a in inputs] == wanted:
            return f"{schema.name}.{schema.overload_name}"
    return None
