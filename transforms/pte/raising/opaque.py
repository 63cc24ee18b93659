"""Calls of kernels that no edge op stands for: `edge.opaque`, which is lowered to the same call again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from xir.dialects import edge, pte
from xir.transforms.pte.raising.arguments import argument_of
from xir.transforms.pte.raising.memory import PlaceContents
from xir.transforms.pte.raising.open_sizes import check_bounded
from xir.transforms.pte.raising.refusal import NotRaisedError

NAMESPACES = ("aten::", "quantized_decomposed::")
"""Whose out variants write to their out tensors alone. Others may change a cache that they are given."""

CHANGES_INPUTS = ("batch_norm", "aten::set")
"""Names in those namespaces of which that does not hold."""

_TYPES: dict[type[Operation], str] = {
    pte.TensorOp: "Tensor",
    pte.NullOp: "int?",
    pte.IntOp: "int",
    pte.DoubleOp: "float",
    pte.BoolOp: "bool",
    pte.StringOp: "str",
    pte.IntListOp: "int[]",
    pte.DoubleListOp: "float[]",
    pte.BoolListOp: "bool[]",
    pte.TensorListOp: "Tensor[]",
    pte.OptionalTensorListOp: "Tensor?[]",
}
"""A type of an argument that holds what a value of a plan is."""


def raise_opaque(call: pte.KernelCallOp, memory: PlaceContents, add: Callable[[Operation], None]) -> None:
    """Add a call with a schema that follows from its values, since the file has none. NotRaisedError if it is not told
    what the kernel writes."""
    kernel = call.kernel.data
    if not kernel.startswith(NAMESPACES) or any(each in kernel for each in CHANGES_INPUTS):
        raise NotRaisedError(call, f"{kernel} may change what it is given, and is no op of the edge dialect")
    written, count = _written(call)
    arguments = call.args[:count]
    schema = _schema(kernel, arguments, len(written))
    parsed = edge.parse_schema(schema)
    by_name = {**parsed.tensors, **parsed.values}
    given = {f"a{i}": argument_of(by_name[f"a{i}"], value, memory, call) for i, value in enumerate(arguments)}
    op = edge.OpaqueOp.build_call(schema, given, [each.tensor_type for each in written], kernel, call.location)
    memory.sizes.complete(op, written, call)
    add(op)
    for tensor, result in zip(written, op.results, strict=True):
        memory.compute(tensor, result, call)


def _schema(kernel: str, arguments: Sequence[SSAValue], results: int) -> str:
    """The schema of the operator whose out variant a kernel is: `aten::fmax(Tensor a0, Tensor a1) -> Tensor`."""
    name, _, overload = kernel.partition(".")
    overload = overload.removesuffix("out").removesuffix("_")
    texts: list[str] = []
    for number, value in enumerate(arguments):
        assert isinstance(value.owner, Operation)
        default = "=None" if isinstance(value.owner, pte.NullOp) else ""
        texts.append(f"{_TYPES[type(value.owner)]} a{number}{default}")
    returns = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    return f"{name}{overload and '.' + overload}({', '.join(texts)}) -> {returns}"


def _written(call: pte.KernelCallOp) -> tuple[list[pte.TensorOp], int]:
    """The tensors that an out variant writes, and how many arguments there are before them: they are returned, one by
    itself, several in a list."""
    args = list(call.args)
    returned = args[-1].owner if args else None
    outs = list(returned.items) if isinstance(returned, pte.TensorListOp) else args[-1:]
    count = len(args) - 1 - len(outs)
    tensors = [value.owner for value in outs if isinstance(value.owner, pte.TensorOp)]
    is_out = call.kernel.data.endswith("out")
    if not is_out or not outs or count < 0 or args[count:-1] != outs or len(tensors) < len(outs):
        raise NotRaisedError(call, f"it is not told what {call.kernel.data} writes")
    return [check_bounded(each, call) for each in tensors], count
