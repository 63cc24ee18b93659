"""Calls of kernels that no edge op stands for: `edge.opaque`, which is lowered to the same call again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from xir.dialects import edge, pte
from xir.ir.shapes import Shape
from xir.transforms.pte.raising.arguments import argument_of
from xir.transforms.pte.raising.memory import PlaceContents
from xir.transforms.pte.raising.open_sizes import check_bounded
from xir.transforms.pte.raising.refusal import NotRaisedError

NAMESPACES = ("aten::", "quantized_decomposed::")
"""Whose out variants write to their out tensors alone. Others may change a cache that they are given."""

CUSTOM = frozenset({"llama::custom_sdpa.out"})
"""Kernels of other namespaces of which it holds too."""

OVERWRITES = {"llama::update_cache.out": 1, "llama::update_cache_with_indices.out": 1}
"""The argument that a kernel writes to, a cache; its out tensor has no contents."""

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
    is_known = kernel in CUSTOM or kernel in OVERWRITES or kernel.startswith(NAMESPACES)
    if not is_known or any(each in kernel for each in CHANGES_INPUTS):
        raise NotRaisedError(call, f"{kernel} may change what it is given, and is no op of the edge dialect")
    written, count = _written(call)
    arguments = call.args[:count]
    overwritten = OVERWRITES.get(kernel)
    if overwritten is not None:
        cache = arguments[overwritten].owner if overwritten < count else None
        if not isinstance(cache, pte.TensorOp):
            raise NotRaisedError(call, f"{kernel} takes no tensor that it writes to")
        written = [cache, *written]
    schema = _schema(kernel, arguments, len(written), memory, overwritten)
    parsed = edge.parse_schema(schema)
    by_name = {**parsed.tensors, **parsed.values}
    given = {f"a{i}": argument_of(by_name[f"a{i}"], value, memory, call) for i, value in enumerate(arguments)}
    op = edge.OpaqueOp.build_call(schema, given, [each.tensor_type for each in written], kernel, call.location)
    memory.sizes.complete(op, written, call, _known_shape(kernel, given, written[0], memory))
    add(op)
    for tensor, result in zip(written, op.results, strict=True):
        memory.compute(tensor, result, call)


def _known_shape(kernel: str, given: Mapping[str, Any], written: pte.TensorOp, memory: PlaceContents) -> Shape | None:
    """The sizes of what a kernel computes, where they are known: of attention, those of the queries, and of embeddings,
    those of the indices and a row."""
    if kernel == "llama::custom_sdpa.out":
        return memory.sizes.known(given["a0"])
    if kernel.startswith("quantized_decomposed::embedding_") and isinstance(given.get("a5"), SSAValue):
        return (*memory.sizes.known(given["a5"]), *written.shape[-1:])
    return None


def _schema(
    kernel: str, arguments: Sequence[SSAValue], results: int, memory: PlaceContents, overwritten: int | None
) -> str:
    """The schema of the operator whose out variant a kernel is: `aten::fmax(Tensor a0, Tensor a1) -> Tensor`."""
    name, _, overload = kernel.partition(".")
    overload = overload.removesuffix("out").removesuffix("_")
    texts: list[str] = []
    for number, value in enumerate(arguments):
        assert isinstance(value.owner, Operation)
        default = "=None" if isinstance(value.owner, pte.NullOp) else ""
        kind = _TYPES[type(value.owner)]
        if value in memory.numbers:
            kind = {"int": "SymInt"}.get(kind, "Scalar")
        if isinstance(value.owner, pte.IntListOp) and any(item in memory.numbers for item in value.owner.items):
            kind = "SymInt[]"
        texts.append(f"{kind}{'(a!)' if number == overwritten else ''} a{number}{default}")
    kinds = ["Tensor"] * results
    if overwritten is not None:
        kinds[0] = "Tensor(a!)"
    returns = kinds[0] if results == 1 else f"({', '.join(kinds)})"
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
