"""From an `xnnpack.subgraph` to a delegate's bytes, by the wire facts on the op classes.

Constants become named data of the program, keyed by the sha256 of their bytes, as in ExecuTorch 1.5
(`backends/xnnpack/operators/node_visitor.py`): delegates share what they have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

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
from xir.ir.constants import storage_array, storage_dtype
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError


@dataclass(frozen=True)
class UnweightedGraph:
    """A delegate's FlatBuffer, in which constants are so many zeros: enough to define nodes, not to run them."""

    flatbuffer: bytes
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
    writer = _GraphWriter(subgraph, ctx, value_ids, debug_info)
    return Blob(pack_blob(writer.flatbuffer()), writer.named_data)


def write_unweighted(subgraph: SubgraphOp, ctx: XirContext) -> UnweightedGraph:
    """The FlatBuffer of a verified subgraph without its weights, none of which is looked at.

    DiagnosticError for what the format cannot hold, as `write_blob`.
    """
    writer = _UnweightedWriter(subgraph, ctx, None, None)
    return UnweightedGraph(writer.flatbuffer(), writer.largest, writer.named_data)


class _GraphWriter:
    def __init__(
        self,
        subgraph: SubgraphOp,
        ctx: XirContext,
        value_ids: Sequence[int] | None,
        debug_info: DebugInfoWriter | None,
    ):
        self.subgraph = subgraph
        self.ctx = ctx
        self.debug_info = debug_info
        self.schema = load_schema("xnnpack")
        block = subgraph.body.block
        self.values: list[SSAValue] = [*block.args, *(result for op in block.ops for result in op.results)]
        count = len(self.values)
        usable = value_ids is not None and len(set(value_ids)) == len(value_ids) == count
        self.ids = dict(zip(self.values, value_ids if usable and value_ids is not None else range(count), strict=True))
        externals = (*block.args, *subgraph.yield_op.values)
        self.external_ids = {value: index for index, value in enumerate(externals)}
        self.of_types: dict[int, Tree] = {}
        """What `of_type` answered, by the id of a type: the subgraph keeps each of them."""
        self.of_kinds: dict[Hashable, Tree] = {}
        """What nodes hold beside the ids of values, by what it is read from, as ids too."""
        # Entry 0 means "no data". ExecuTorch writes it with an empty key.
        self.constants: list[Tree] = [{"offset": 0, "size": 0, "named_key": ""}]
        self.named_data: dict[str, Data] = {}

    def flatbuffer(self) -> bytes:
        block = self.subgraph.body.block
        nodes = [self.node(op) for op in block.ops if isinstance(op, NodeOp)]
        ordered = sorted(self.values, key=self.ids.__getitem__)
        graph = {
            "version": "0",
            "xnodes": nodes,
            "xvalues": [{"xvalue_union": self.value(value)} for value in ordered],
            "num_externs": len(self.external_ids),
            "input_ids": sorted(self.ids[value] for value in block.args),
            "output_ids": sorted(self.ids[value] for value in self.subgraph.yield_op.values),
            "constant_data": self.constants,
        }
        return encode(self.schema, graph)

    def value(self, value: SSAValue) -> Tagged:
        type = value.type
        if (of_type := self.of_types.get(id(type))) is None:
            of_type = self.of_types[id(type)] = self.of_type(value)
        owner = value.owner
        flags = 0
        if (external := self.external_ids.get(value, ABSENT_VALUE)) != ABSENT_VALUE:
            flags = EXTERNAL_OUTPUT if isinstance(owner, NodeOp) else EXTERNAL_INPUT
        tensor = of_type | {
            "constant_buffer_idx": self.constant(owner) if isinstance(owner, ConstantOp) else 0,
            "external_id": external,
            "flags": flags,
            "id_out": self.ids[value],
        }
        element = cast(TensorType, type).element_type
        if not isinstance(element, UniformType | DynamicType):
            return Tagged("XNNTensorValue", tensor)
        params = quant_params(element, lambda scales: self.data(Data.of(scales), "scale_"))
        return Tagged("XNNQuantizedTensorValue", {"tensor_value": tensor, "quant_params": params})

    def of_type(self, value: SSAValue) -> Tree:
        """What is written of all values of the type of one."""
        type = value.type
        assert isinstance(type, TensorType)
        name = datatype_of(type.element_type)
        if name is None:
            raise DiagnosticError(value, f"XNNPACK's format has no code for elements of type {type.element_type}")
        # A scalar has no dimensions here either: both runtimes compare with what the nodes compute.
        dims = list(type.get_shape())
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
        readers = _readers(type(op))
        types = [id(value.type) for value in op.operands]
        kind = (type(op), *types, *op.properties, *map(id, op.properties.values()))
        if (fields := self.of_kinds.get(kind)) is None:
            fields = self.of_kinds[kind] = {name: read(op) for name, read in readers.of_kind}
        tree: Tree = {
            "xnode_union": Tagged(op.member().name, fields | {name: read(op, self.ids) for name, read in readers.ids}),
            "debug_handle": self.debug_handle(op),
        }
        low, high = op.properties.get("output_min"), op.properties.get("output_max")
        if op.WIRE.bounds == "required" or low is not None or high is not None:
            # Both fields default to 0, so an infinite bound has to be written.
            tree["output_min_max"] = {"output_min": _bound(low, -math.inf), "output_max": _bound(high, math.inf)}
        return tree

    def debug_handle(self, op: NodeOp) -> int:
        if op.debug_handle is not None:
            return op.debug_handle.value.data
        return NO_HANDLE if self.debug_info is None else self.debug_info.handle(op.location)


class _UnweightedWriter(_GraphWriter):
    largest = 0

    def constant(self, op: ConstantOp) -> int:
        size = _stored_size(op)
        self.largest = max(self.largest, size)
        self.constants.append({"offset": 0, "size": size})
        return len(self.constants) - 1


_IdReader: TypeAlias = Callable[[NodeOp, Mapping[SSAValue, int]], int]
"""The id of one of a node's values, from the node and the ids of all values."""


@dataclass(frozen=True)
class _Readers:
    """What the slots of a kind of node are read by, with their names: what a slot is need not be asked again for each
    node."""

    ids: Sequence[tuple[str, _IdReader]]
    of_kind: Sequence[tuple[str, Callable[[NodeOp], Any]]]
    """All else, from a node's properties and the types of its operands."""


@cache
def _readers(kind: type[NodeOp]) -> _Readers:
    places = _places(kind)
    ids = [(slot.name, _id_reader(slot, places)) for slot in kind.WIRE.slots if isinstance(slot, ValueSlot)]
    others = [(slot.name, _reader(slot)) for slot in kind.WIRE.slots if not isinstance(slot, ValueSlot)]
    return _Readers(ids, others)


def _id_reader(slot: ValueSlot, places: Mapping[str, tuple[bool, int]]) -> _IdReader:
    is_result, first = places[slot.field]
    index = slot.index
    return _result_id(first + (index or 0)) if is_result else _operand_id(first + (index or 0))


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


def _result_id(place: int) -> _IdReader:
    return lambda op, ids: ids[op.results[place]]


def _operand_id(place: int) -> _IdReader:
    """Absent operands, and those of shorter lists, are behind the last one."""

    def read(op: NodeOp, ids: Mapping[SSAValue, int]) -> int:
        operands = op.operands
        return ids[operands[place]] if place < len(operands) else ABSENT_VALUE

    return read


@cache
def _places(kind: type[NodeOp]) -> Mapping[str, tuple[bool, int]]:
    """Where a node's values are: whether among the results, and the first of a name. Only the last operand may be
    absent, or several."""
    definition = kind.get_irdl_definition()
    assert all(type(each) is OperandDef for _, each in definition.operands[:-1])
    operands = {name: (False, place) for place, (name, _) in enumerate(definition.operands)}
    return operands | {name: (True, place) for place, (name, _) in enumerate(definition.results)}


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
