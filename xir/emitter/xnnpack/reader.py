"""From a delegate's bytes, which are not trusted, to an `xnnpack.subgraph`, by the wire facts on the op classes.

Constants are found wherever a version of ExecuTorch has put them: in the program's named data, behind the delegate's
FlatBuffer, or in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i32,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import OptOperandDef, VarOperandDef
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xir.backend.interface import ReadBlob
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack import NODE_OPS, ConstantOp, DynamicType, NodeOp, SubgraphOp, YieldOp
from xir.dialects.xnnpack.base import ResultShapeError, ints, shape_of
from xir.dialects.xnnpack.quantization import i4
from xir.dialects.xnnpack.subgraph import outside_type
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
from xir.emitter.codec import Buffer, Tagged, Tree, decode
from xir.emitter.debug_info import NO_HANDLE
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema
from xir.emitter.xnnpack.blob import EXTERNAL_INPUT, EXTERNAL_OUTPUT, split_blob
from xir.emitter.xnnpack.types import plain_type, quantized_type
from xir.ir import nibbles
from xir.ir.context import XirContext
from xir.ir.elements import storage_dtype

NamedData = Mapping[str, memoryview]


def read_blob(buffer: Buffer, target: str, named_data: NamedData, ctx: XirContext) -> ReadBlob:
    """Read a delegate's bytes; its constants join the context's blob store as views of the file, without a copy.

    `named_data` is the program's. The subgraph is as yet unverified. Raises FormatError.
    """
    data = memoryview(buffer).toreadonly().cast("B")
    graph_data, constant_region, start = split_blob(data)
    graph = decode(load_schema("xnnpack"), graph_data, base=start)
    return _BlobReader(graph, constant_region, target, named_data, ctx).read()


@dataclass
class _Value:
    """A value of the graph, before it is part of the IR."""

    type: TensorType
    constant: int
    external: int | None
    flags: int
    path: str
    ssa: SSAValue | None = None


@cache
def _node_classes() -> dict[str, tuple[type[NodeOp], str | int | None]]:
    """By the name of the union's member: the op class, and the key of the member in its wire facts."""
    return {member.name: (cls, key) for cls in NODE_OPS for key, member in cls.WIRE.members.items()}


class _BlobReader:
    def __init__(self, graph: Tree, constants: memoryview, target: str, named_data: NamedData, ctx: XirContext):
        self.graph = graph
        self.constants = constants
        self.target = target
        self.named_data = named_data
        self.ctx = ctx
        self.used_keys: set[str] = set()
        self.values: dict[int, _Value] = {}
        self.block = Block()
        self.pending: list[int] = []

    def read(self) -> ReadBlob:
        names = {code: name for name, code in load_schema("xnnpack").enums["XNNDatatype"].members.items()}
        for index, entry in enumerate(self.graph.get("xvalues", ())):
            self.value(entry, names, f"XNNGraph.xvalues[{index}]")
        inputs, outputs = self.externals()
        for _, value in inputs:
            value.ssa = self.block.insert_arg(value.type, len(self.block.args))
        # Taken from the end: the lowest id last.
        self.pending = sorted((id for id, value in self.values.items() if value.constant), reverse=True)
        for index, entry in enumerate(self.graph.get("xnodes", ())):
            self.node(entry, f"XNNGraph.xnodes[{index}]")
        self.constants_before(ABSENT_VALUE)
        results = [self.use(id, value.path) for id, value in outputs]
        self.block.add_op(YieldOp.build(operands=[results]))
        subgraph = SubgraphOp.build(
            operands=[[]],
            result_types=[[outside_type(result.type) for result in results]],
            properties={"target": StringAttr(self.target)},
            regions=[Region(self.block)],
        )
        input_types = [outside_type(value.type) for _, value in inputs]
        return ReadBlob(subgraph, input_types, self.value_ids(), self.used_keys)

    def value_ids(self) -> list[int] | None:
        by_value = {value.ssa: id for id, value in self.values.items() if value.ssa is not None}
        values = [*self.block.args, *(result for op in self.block.ops for result in op.results)]
        ids = [by_value[value] for value in values]
        return None if ids == list(range(len(ids))) else ids

    def value(self, entry: Tree, datatypes: Mapping[int, str], path: str) -> None:
        tagged: Tagged | None = entry.get("xvalue_union")
        if tagged is None:
            raise FormatError("a value has no contents", path=path)
        tree: Tree | None = tagged.value if tagged.member == "XNNTensorValue" else tagged.value.get("tensor_value")
        if tree is None:
            raise FormatError("a quantised value has no tensor", path=path)
        dims = tree.get("dims", [])
        if len(dims) != tree["num_dims"]:
            raise FormatError(f"num_dims is {tree['num_dims']}, there are {len(dims)} dims", path=path)
        if any(dim >= 1 << 31 for dim in dims):
            raise FormatError(f"the shape {dims} is too large", path=path)
        if tree["id_out"] in self.values or tree["id_out"] == ABSENT_VALUE:
            raise FormatError(f"the id {tree['id_out']} is taken", path=path)
        datatype = datatypes.get(tree["datatype"], str(tree["datatype"]))
        if tagged.member == "XNNTensorValue":
            element_type = plain_type(datatype, path)
        else:
            params: Tagged | None = tagged.value.get("quant_params")
            element_type = quantized_type(
                datatype, params, dims, lambda index: self.constant_bytes(index, path)[0], path
            )
            if isinstance(element_type, UniformType):
                element_type.verify_shape(dims)
        external = None if tree["external_id"] == ABSENT_VALUE else tree["external_id"]
        self.values[tree["id_out"]] = _Value(
            TensorType(element_type, dims), tree["constant_buffer_idx"], external, tree["flags"], path
        )

    def externals(self) -> tuple[list[tuple[int, _Value]], list[tuple[int, _Value]]]:
        """Inputs and outputs with their ids, in the order of the delegate call's arguments: inputs, then outputs."""
        found = sorted(
            ((id, value) for id, value in self.values.items() if value.flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT)),
            key=lambda item: -1 if item[1].external is None else item[1].external,
        )
        for index, (_, value) in enumerate(found):
            if value.external != index:
                raise FormatError(
                    f"the external ids do not count from 0: {value.external} is number {index}", path=value.path
                )
        inputs = [item for item in found if item[1].flags & EXTERNAL_INPUT]
        outputs = [item for item in found if item[1].flags & EXTERNAL_OUTPUT]
        if inputs + outputs != found:
            raise FormatError("inputs must come before outputs, and no value can be both", path="XNNGraph.xvalues")
        for _, value in inputs:
            if value.constant:
                raise FormatError("an input cannot be a constant", path=value.path)
        return inputs, outputs

    def constants_before(self, id: int) -> None:
        """Place the constants of lower ids, so that values are in the order of their ids wherever they can be."""
        while self.pending and self.pending[-1] < id:
            value = self.values[self.pending.pop()]
            if value.ssa is None:
                value.ssa = self.constant(value)

    def constant(self, value: _Value) -> SSAValue:
        element_type = value.type.element_type
        stored = element_type.storage if isinstance(element_type, UniformType) else element_type
        if isinstance(stored, DynamicType):
            raise FormatError("a constant is not quantised at run time", path=value.path)
        shape = value.type.get_shape()
        size = nibbles.packed_size(shape) if stored == i4 else math.prod(shape) * storage_dtype(stored).itemsize
        data, name = self.constant_bytes(value.constant, value.path)
        if len(data) < size:
            raise FormatError(f"the constant has {len(data)} bytes, its type needs {size}", path=value.path)
        content = np.frombuffer(data[:size], dtype=np.uint8)
        if stored == i4:
            content = nibbles.Packed(content.reshape(-1, nibbles.row_size(shape)), shape)
        key = self.ctx.blobs.add(name, content)
        stored_type = TensorType(stored, shape)
        op = ConstantOp(DenseResourceAttr.from_params(key, stored_type), value.type)
        self.block.add_op(op)
        return op.output

    def constant_bytes(self, index: int, path: str) -> tuple[memoryview, str]:
        """The bytes of entry `index` and a name for them."""
        entries: list[Tree] = self.graph.get("constant_data", [])
        if not entries:
            buffers: list[Tree] = self.graph.get("constant_buffer", [])
            if index >= len(buffers):
                raise FormatError(f"there is no constant {index}", path=path)
            return memoryview(buffers[index].get("storage", b"")), f"constant_{index}"
        if index >= len(entries):
            raise FormatError(f"there is no constant {index}", path=path)
        entry = entries[index]
        if key := entry.get("named_key"):
            if key not in self.named_data:
                hint = "if a .ptd file has it, give that as data (xir-aot --data)"
                raise FormatError(f'there is no named data "{key}": {hint}', path=path)
            self.used_keys.add(key)
            return self.named_data[key], key
        start, size = entry["offset"], entry["size"]
        if start + size > len(self.constants):
            raise FormatError(f"constant {index} reaches beyond the delegate's constant data", path=path)
        return self.constants[start : start + size], f"constant_{index}"

    def use(self, id: int, path: str) -> SSAValue:
        value = self.values.get(id)
        if value is None:
            raise FormatError(f"there is no value {id}", path=path)
        if value.ssa is None and value.constant:
            value.ssa = self.constant(value)
        if value.ssa is None:
            raise FormatError(f"the value {id} is used before a node computes it", path=path)
        return value.ssa

    def node(self, entry: Tree, path: str) -> None:
        tagged: Tagged | None = entry.get("xnode_union")
        if tagged is None:
            raise FormatError("a node has no contents", path=path)
        if tagged.member not in _node_classes():
            raise FormatError(f"a node is a {tagged.member}, for which there is no op", path=path)
        cls, key = _node_classes()[tagged.member]
        reader = _NodeReader(cls, key, tagged.value, self.use, path)
        self.constants_before(min(reader.result_ids()))
        op, results = reader.build(self.values, entry)
        self.block.add_op(op)
        for id, result in zip(results, op.results, strict=True):
            value = self.values[id]
            if value.ssa is not None or value.constant:
                raise FormatError(f"the value {id} is computed twice", path=path)
            value.ssa = result


@dataclass
class _NodeReader:
    """Turns one node's table into an op, slot by slot."""

    cls: type[NodeOp]
    key: str | int | None
    tree: Tree
    use: Callable[[int, str], SSAValue]
    path: str
    operands: dict[str, list[SSAValue]] = field(default_factory=dict[str, list[SSAValue]])
    arrays: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])

    def result_ids(self) -> list[int]:
        """The ids of the op's results, in their order."""
        slots = {slot.field: slot.name for slot in self.cls.WIRE.slots if isinstance(slot, ValueSlot)}
        return [self.tree[slots[name]] for name, _ in self.cls.get_irdl_definition().results]

    def build(self, values: Mapping[int, _Value], entry: Tree) -> tuple[NodeOp, list[int]]:
        """The op, and the ids of its results."""
        definition = self.cls.get_irdl_definition()
        result_names = {name for name, _ in definition.results}
        for slot in self.cls.WIRE.slots:
            if not (isinstance(slot, ValueSlot) and slot.field in result_names):
                self.read(slot)
        for name, numbers in self.arrays.items():
            self.properties[name] = DenseArrayBase.from_list(i32, numbers)
        if isinstance(self.key, str):
            (kind_class,) = definition.properties["kind"].constr.get_bases() or {StringAttr}
            kind = cast("type[EnumAttribute[Any]]", kind_class)
            self.properties["kind"] = kind(kind.enum_type(self.key))
        self.bounds(entry.get("output_min_max"))
        if entry["debug_handle"] != NO_HANDLE:
            self.properties["debug_handle"] = self.integer("debug_handle", entry["debug_handle"])
        ids = self.result_ids()
        for id in ids:
            if id not in values:
                raise FormatError(f"there is no value {id}", path=self.path)
        op = self.cls.build(
            operands=[self.operand(name, kind) for name, kind in definition.operands],
            result_types=[values[id].type for id in ids],
            properties=self.properties,
        )
        try:
            # Before the comparison below: what an op derives from its operands needs them to be sound.
            try:
                op.verify_()
            except ResultShapeError:
                reorder_results(op, [values[id] for id in ids])
                op.verify_()
        except VerifyException as error:
            raise FormatError(f"the node is not sound: {error}", path=self.path) from None
        self.check(op)
        return op, ids

    def operand(self, name: str, kind: object) -> Any:
        found = self.operands.get(name, [])
        if isinstance(kind, VarOperandDef):
            return found
        if not found and not isinstance(kind, OptOperandDef):
            raise FormatError(f"the operand {name} is absent", path=self.path)
        return found[0] if found else None

    def integer(self, name: str, value: int) -> IntegerAttr:
        if value >= 1 << 31:
            raise FormatError(f"{name} is {value}, which is too large", path=self.path)
        return IntegerAttr(value, i32)

    def read(self, slot: Slot) -> None:
        value = self.tree.get(slot.name)
        match slot:
            case ValueSlot(_, name, index):
                if value == ABSENT_VALUE:
                    return
                found = self.operands.setdefault(name, [])
                if index is not None and index != len(found):
                    raise FormatError(f"{slot.name} follows an operand that is absent", path=self.path)
                found.append(self.use(cast(int, value), f"{self.path}.{slot.name}"))
            case UIntSlot(_, name, None):
                self.properties[name] = self.integer(slot.name, cast(int, value))
            case UIntSlot(_, name, _):
                self.arrays.setdefault(name, []).append(self.integer(slot.name, cast(int, value)).value.data)
            case FloatSlot(_, name):
                self.properties[name] = FloatAttr(cast(float, value), f32)
            case UIntsSlot(_, name):
                numbers = cast("list[int]", value or [])
                self.arrays[name] = [self.integer(slot.name, number).value.data for number in numbers]
            case FlagsSlot(bits):
                unknown = cast(int, value) & ~sum(bits.values())
                if unknown:
                    raise FormatError(f"the flags {unknown:#x} are not known here", path=self.path)
                self.properties |= {name: UnitAttr() for name, bit in bits.items() if cast(int, value) & bit}
            case CountSlot() | DerivedSlot() | ConstSlot():
                # `check` compares them with the op once it is there.
                pass

    def bounds(self, tree: Tree | None) -> None:
        if tree is None:
            return
        low, high = tree["output_min"], tree["output_max"]
        infinite = (low, high) == (-math.inf, math.inf)
        if self.cls.WIRE.bounds == "none":
            if not infinite:
                raise FormatError("output bounds are not known here", path=self.path)
            return
        # A table of two infinite bounds is kept as one: it is there, and would be missed when written again.
        if low != -math.inf or infinite:
            self.properties["output_min"] = FloatAttr(low, f32)
        if high != math.inf:
            self.properties["output_max"] = FloatAttr(high, f32)

    def check(self, op: NodeOp) -> None:
        """Raise unless the fields that only repeat what the op knows agree with it."""
        for slot in self.cls.WIRE.slots:
            match slot:
                case CountSlot(_, name):
                    expected = len(ints(cast(DenseArrayBase, op.properties[name])))
                case DerivedSlot(_, name):
                    expected = getattr(op, name)
                case ConstSlot(_, expected):
                    pass
                case _:
                    continue
            if self.tree[slot.name] != expected:
                raise FormatError(f"{slot.name} is {self.tree[slot.name]}, the node implies {expected}", path=self.path)
        if self.key is not None and not isinstance(self.key, str) and op.member() != self.cls.WIRE.members[self.key]:
            raise FormatError("the node's operands do not fit its kind", path=self.path)


def reorder_results(op: NodeOp, values: Sequence[_Value]) -> None:
    """Give results that are between nodes the shapes that the node computes, if they have these sizes in another order.

    ExecuTorch 1.5 declares some images as [N, C, H, W] where nodes compute [N, H, W, C], or the reverse: its serializer
    moves the channels of what is tagged as channels-last (`get_tensor_value` of `backends/xnnpack/operators/
    node_visitor.py`), and not all that is in that order is. XNNPACK takes shapes between nodes from the nodes.
    """
    shapes = op.result_shapes([shape_of(value) for value in op.operands])
    for result, value, shape in zip(list(op.results), values, shapes, strict=True):
        if value.external is None and sorted(shape) == sorted(value.type.get_shape()):
            Rewriter.replace_value_with_new_type(result, TensorType(value.type.element_type, shape))
