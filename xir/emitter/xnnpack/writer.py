"""From an `xnnpack.subgraph` to a delegate's bytes, by the wire facts on the op classes.

Constants become named data of the program, keyed by the sha256 of their bytes, as in ExecuTorch 1.5
(`backends/xnnpack/operators/node_visitor.py`): delegates share what they have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import OperandDef

from xir.backend.interface import Blob
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack import ConstantOp, DynamicType, NodeOp, SubgraphOp
from xir.dialects.xnnpack.base import ints
from xir.dialects.xnnpack.quantization import i4
from xir.dialects.xnnpack.signatures import datatype_of
from xir.dialects.xnnpack.wire import (
    ABSENT_VALUE,
    ConstSlot,
    CountSlot,
    DerivedSlot,
    FlagsSlot,
    FloatSlot,
    Slot,
    UIntSlot,
    UIntsSlot,
    ValueSlot,
)
from xir.emitter.codec import Tagged, Tree, encode
from xir.emitter.data import Data, constant_data
from xir.emitter.debug_info import NO_HANDLE, DebugInfoWriter
from xir.emitter.fbs import load_schema
from xir.emitter.xnnpack.blob import EXTERNAL_INPUT, EXTERNAL_OUTPUT, IN_NAMED_DATA, pack_blob
from xir.emitter.xnnpack.types import quant_params
from xir.ir import nibbles
from xir.ir.annotations import COMPOSED
from xir.ir.attribute_numbers import AttributeNumbers
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.elements import storage_dtype
from xir.ir.walking import ops_in


@dataclass(frozen=True)
class UnweightedGraph:
    """A delegate's FlatBuffer, in which constants are so many zeros: enough to define nodes, not to run them."""

    flatbuffer: bytes
    nodes: Sequence[NodeOp]
    """Those in it, in order."""
    constant_bytes: int
    """How many zeros the largest constant takes."""
    named_data: dict[str, Data]
    """Quantisation scales, with their own bytes."""


def write_blob(
    subgraph: SubgraphOp,
    ctx: XirContext,
    value_ids: Sequence[int] | None = None,
    debug_info: DebugInfoWriter | None = None,
) -> Blob:
    """The bytes of a verified subgraph.

    Values are numbered from 0: the block's arguments, then the results of its ops in order. `value_ids` are other
    numbers to give them in that order; they are used if they are one distinct number for each value. Nodes without a
    debug handle get those of their locations in `debug_info`.
    DiagnosticError for what the format cannot hold: a dynamic shape, a type without a code, a missing resource.
    """
    writer = _GraphWriter(_Content.of(subgraph), ctx, value_ids, debug_info)
    return Blob(pack_blob(writer.flatbuffer()), writer.named_data)


def write_unweighted(subgraph: SubgraphOp, ctx: XirContext) -> UnweightedGraph:
    """The FlatBuffer of a verified subgraph without its weights, none of which is looked at.

    Of the nodes of composed ops, of which there are thousands, equal ones are in it once, and what the others compute
    comes from outside. DiagnosticError for what the format cannot hold, as `write_blob`.
    """
    content = _Content.without_repetitions(subgraph, ctx.attribute_numbers)
    writer = _UnweightedWriter(content, ctx, None, None)
    return UnweightedGraph(writer.flatbuffer(), content.nodes, writer.largest, writer.named_data)


@dataclass(frozen=True)
class _Content:
    """What is written of a subgraph."""

    nodes: Sequence[NodeOp]
    values: Sequence[SSAValue]
    inputs: Sequence[SSAValue]
    """Those of `values` that come from outside."""
    outputs: Sequence[SSAValue]

    @staticmethod
    def of(subgraph: SubgraphOp) -> _Content:
        """All of it."""
        block = subgraph.body.block
        values = [*block.args, *(result for op in block.ops for result in op.results)]
        return _Content(list(ops_in(subgraph, NodeOp)), values, block.args, subgraph.yield_op.values)

    @staticmethod
    def without_repetitions(subgraph: SubgraphOp, numbers: AttributeNumbers) -> _Content:
        """What shows XNNPACK each kind of node: those of composed ops once, but for outputs."""
        outputs = subgraph.yield_op.values
        yielded, same, seen = set(map(id, outputs)), set[Hashable](), set[Hashable]()
        nodes: list[NodeOp] = []
        for op in ops_in(subgraph, NodeOp):
            if COMPOSED in op.attributes and id(op.results[0]) not in yielded:
                constant = tuple([type(value.owner) is ConstantOp for value in op.operands])
                if (key := (constant, _kind_key(op))) in same:
                    continue
                same.add(key)
                types = [numbers[value.type] for value in op.operands]
                kind = (constant, type(op), *types, *op.properties, *[numbers[each] for each in op.properties.values()])
                if kind in seen:
                    continue
                seen.add(kind)
            nodes.append(op)
        made = dict.fromkeys(result for op in nodes for result in op.results)
        read = dict.fromkeys(value for op in (*nodes, subgraph.yield_op) for value in op.operands if value not in made)
        constants = [value for value in read if type(value.owner) is ConstantOp]
        inputs = dict.fromkeys((*subgraph.body.block.args, *read))
        for constant in constants:
            del inputs[constant]
        return _Content(nodes, [*inputs, *constants, *made], list(inputs), outputs)


class _GraphWriter:
    def __init__(
        self,
        content: _Content,
        ctx: XirContext,
        value_ids: Sequence[int] | None,
        debug_info: DebugInfoWriter | None,
    ):
        self.content = content
        self.ctx = ctx
        self.debug_info = debug_info
        self.schema = load_schema("xnnpack")
        count = len(content.values)
        usable = value_ids is not None and len(set(value_ids)) == len(value_ids) == count
        numbers = value_ids if usable and value_ids is not None else range(count)
        self.ids = dict(zip(map(id, content.values), numbers, strict=True))
        """The ids on the wire by those of the objects, which are looked up faster."""
        self.inputs = frozenset(map(id, content.inputs))
        externals = enumerate((*content.inputs, *content.outputs))
        self.external_ids = {id(value): index for index, value in externals}
        """By the ids of the objects, too."""
        self.of_types: dict[int, Tree] = {}
        """What `of_type` answered, by the id of a type: the subgraph keeps each of them."""
        self.of_kinds: dict[Hashable, _Kind] = {}
        """The kinds of nodes by what they are read from, as ids too."""
        # Entry 0 means "no data". ExecuTorch writes it with an empty key.
        self.constants: list[Tree] = [{"offset": 0, "size": 0, "named_key": ""}]
        self.named_data: dict[str, Data] = {}

    def flatbuffer(self) -> bytes:
        content = self.content
        nodes = [self.node(op) for op in content.nodes]
        ordered = sorted(content.values, key=lambda value: self.ids[id(value)])
        graph = {
            "version": "0",
            "xnodes": nodes,
            "xvalues": [self.value(value) for value in ordered],
            "num_externs": len(self.external_ids),
            "input_ids": sorted(self.ids[id(value)] for value in content.inputs),
            "output_ids": sorted(self.ids[id(value)] for value in content.outputs),
            "constant_data": self.constants,
        }
        return encode(self.schema, graph)

    def value(self, value: SSAValue) -> Tree:
        """The `XValue` of a value."""
        tensor_type, owner, key = value.type, value.owner, id(value)
        if (of_type := self.of_types.get(id(tensor_type))) is None:
            of_type = self.of_types[id(tensor_type)] = self.of_type(value)
        flags = 0
        if (external := self.external_ids.get(key, ABSENT_VALUE)) != ABSENT_VALUE:
            flags = EXTERNAL_INPUT if key in self.inputs else EXTERNAL_OUTPUT
        tensor = of_type | {
            # Not by `isinstance`, which asks the abstract base class of all ops about each of thousands of nodes.
            "constant_buffer_idx": self.constant(owner) if type(owner) is ConstantOp else 0,
            "external_id": external,
            "flags": flags,
            "id_out": self.ids[key],
        }
        element = cast(TensorType, tensor_type).element_type
        if not isinstance(element, UniformType | DynamicType):
            return {"xvalue_union": Tagged("XNNTensorValue", tensor)}
        params = quant_params(element, lambda scales: self.data(Data.of(scales), "scale_"))
        return {"xvalue_union": Tagged("XNNQuantizedTensorValue", {"tensor_value": tensor, "quant_params": params})}

    def of_type(self, value: SSAValue) -> Tree:
        """What is written of all values of the type of one."""
        type = value.type
        assert isinstance(type, TensorType)
        name = datatype_of(type.element_type)
        if name is None:
            raise DiagnosticError(value, f"XNNPACK's format has no code for elements of type {type.element_type}")
        # A scalar has no dimensions here either: both runtimes compare with what the nodes compute.
        dims = type.get_shape()
        if DYNAMIC_INDEX in dims:
            raise DiagnosticError(value, f"{type} has no upper bound to write for its dynamic dimension")
        return {"datatype": self.schema.enums["XNNDatatype"].members[name], "num_dims": len(dims), "dims": dims}

    def constant(self, op: ConstantOp) -> int:
        """The index of a constant's entry, which this adds."""
        stored = op.elements.type
        assert isinstance(stored, TensorType)
        if stored.element_type == i4:
            return self.data(self.packed(op))
        return self.data(constant_data(op.elements, _stored_size(op), self.ctx, op))

    def packed(self, op: ConstantOp) -> Data:
        """The bytes of a constant of 4-bit integers: as the blob store holds them, or packed now."""
        if isinstance(op.elements, DenseResourceAttr) and op.elements.resource_handle.data in self.ctx.blobs:
            held = self.ctx.blobs.packed(op.elements.resource_handle.data)
            if held is not None and held[0].shape == _shape(op):
                content = held[0].bytes
                return Data(content.nbytes, held[1], lambda: (content.reshape(-1).data,))
        try:
            return Data.of(nibbles.pack(storage_array(op.elements, self.ctx, op)).bytes.tobytes())
        except ValueError as error:
            raise DiagnosticError(op, f"the constant does not fit its type: {error}") from None

    def data(self, data: Data, prefix: str = "") -> int:
        key = prefix + data.digest.hex()
        self.named_data[key] = data
        self.constants.append({"offset": IN_NAMED_DATA, "size": data.size, "named_key": key})
        return len(self.constants) - 1

    def node(self, op: NodeOp) -> Tree:
        """The `XNode` of an op."""
        key = _kind_key(op)
        if (kind := self.of_kinds.get(key)) is None:
            kind = self.of_kinds[key] = _kind_of(op)
        ids = [self.ids[id(value)] for value in (*op.operands, *op.results)]
        fields = kind.fields | {name: ABSENT_VALUE if at is None else ids[at] for name, at in kind.values}
        return kind.node | {"xnode_union": Tagged(kind.member, fields), "debug_handle": self.debug_handle(op)}

    def debug_handle(self, op: NodeOp) -> int:
        if (known := op.properties.get("debug_handle")) is not None:
            return cast(IntegerAttr, known).value.data
        return NO_HANDLE if self.debug_info is None else self.debug_info.handle(op.location)


class _UnweightedWriter(_GraphWriter):
    largest = 0

    def constant(self, op: ConstantOp) -> int:
        size = _stored_size(op)
        self.largest = max(self.largest, size)
        self.constants.append({"offset": 0, "size": size})
        return len(self.constants) - 1


def _kind_key(op: NodeOp) -> tuple[Hashable, ...]:
    """What a node is but for its values and its location, as the ids of attributes, which its subgraph keeps."""
    return (type(op), *[id(value.type) for value in op.operands], *op.properties, *map(id, op.properties.values()))


@dataclass(frozen=True)
class _Kind:
    """Nodes that differ in the ids of their values and in their debug handles alone."""

    member: str
    values: Sequence[tuple[str, int | None]]
    """The fields with ids of values: which of the operands and results it is, one behind the other; None if absent."""
    fields: Tree
    """The other fields of the node's table."""
    node: Tree
    """What its `XNode` has beside it: bounds."""


@dataclass(frozen=True)
class _Readers:
    """What the slots of a class of nodes are read by, with their names."""

    ids: Sequence[tuple[str, bool, int]]
    """Where the values are: whether among the results, and which of them."""
    others: Sequence[tuple[str, Callable[[NodeOp], Any]]]
    """All else, from a node's properties and the types of its operands."""


@cache
def _readers(kind: type[NodeOp]) -> _Readers:
    definition = kind.get_irdl_definition()
    # Only the last operand may be absent, or several.
    assert all(type(each) is OperandDef for _, each in definition.operands[:-1])
    places = {name: (False, place) for place, (name, _) in enumerate(definition.operands)}
    places |= {name: (True, place) for place, (name, _) in enumerate(definition.results)}
    ids: list[tuple[str, bool, int]] = []
    others: list[tuple[str, Callable[[NodeOp], Any]]] = []
    for slot in kind.WIRE.slots:
        if isinstance(slot, ValueSlot):
            is_result, first = places[slot.field]
            ids.append((slot.name, is_result, first + (slot.index or 0)))
        else:
            others.append((slot.name, _reader(slot)))
    return _Readers(ids, others)


def _kind_of(op: NodeOp) -> _Kind:
    readers, count = _readers(type(op)), len(op.operands)
    values = [
        (name, count + place if is_result else place if place < count else None)
        for name, is_result, place in readers.ids
    ]
    node: Tree = {}
    low, high = op.properties.get("output_min"), op.properties.get("output_max")
    if op.WIRE.bounds == "required" or low is not None or high is not None:
        # Both fields default to 0, so an infinite bound has to be written.
        node["output_min_max"] = {"output_min": _bound(low, -math.inf), "output_max": _bound(high, math.inf)}
    return _Kind(op.member().name, values, {name: read(op) for name, read in readers.others}, node)


def _reader(slot: Slot) -> Callable[[NodeOp], Any]:
    match slot:
        case UIntSlot(_, name, index):
            if index is not None:
                return lambda op: _ints(op, name)[index]
            return lambda op: cast(IntegerAttr, op.properties[name]).value.data
        case FloatSlot(_, name):
            return lambda op: cast(FloatAttr, op.properties[name]).value.data
        case UIntsSlot(_, name):
            return lambda op: _ints(op, name)
        case CountSlot(_, name):
            return lambda op: len(_ints(op, name))
        case DerivedSlot(_, name):
            return lambda op: getattr(op, name)
        case ConstSlot(_, value):
            return lambda op: value
        case FlagsSlot(bits):
            return lambda op: sum(bit for name, bit in bits.items() if name in op.properties)
        case _:
            raise AssertionError(f"{slot} is no slot")


def _shape(op: ConstantOp) -> tuple[int, ...]:
    """The shape of what a constant stores."""
    stored = op.elements.type
    assert isinstance(stored, TensorType)
    return tuple(stored.get_shape())


def _stored_size(op: ConstantOp) -> int:
    """How many bytes the constant's type asks for."""
    stored = op.elements.type
    assert isinstance(stored, TensorType)
    if stored.element_type == i4:
        return nibbles.packed_size(stored.get_shape())
    return math.prod(stored.get_shape()) * storage_dtype(stored.element_type).itemsize


def _ints(op: NodeOp, name: str) -> list[int]:
    """The elements of an array property."""
    return list(ints(cast(DenseArrayBase, op.properties[name])))


def _bound(attr: Attribute | None, default: float) -> float:
    return default if attr is None else cast(FloatAttr, attr).value.data
