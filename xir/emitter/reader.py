"""From the bytes of a `.pte` file, which are not trusted, to a verified module with one `pte.program`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseResourceAttr,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import VarOperandDef
from xdsl.utils.exceptions import VerifyException

from xir.backend.registry import backend_of_id
from xir.dialects.pte import (
    INSTRUCTION_OPS,
    SEGMENT,
    SEGMENT_ALIGNMENT,
    VALUE_OPS,
    AllocationAttr,
    BufferDeviceAttr,
    ChainOp,
    CompileSpecAttr,
    DelegateCallOp,
    DelegateOp,
    ExecutionPlanOp,
    ExtraTensorInfoAttr,
    FrameAttr,
    InstructionOp,
    KernelCallOp,
    NamedDataOp,
    OptionalTensorListOp,
    ProgramOp,
    SignatureOp,
    TensorOp,
    ValueOp,
    YieldOp,
    scalar_type,
)
from xir.emitter.codec import Buffer, Tagged, Tree
from xir.emitter.container import Container, align, read_container
from xir.emitter.data_file import NamedBytes
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema
from xir.emitter.fields import to_attribute
from xir.ir.collection import paused_collection
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.verifier import verify

_VALUES = {cls.MEMBER: cls for cls in VALUE_OPS}
_INSTRUCTIONS = {cls.MEMBER: cls for cls in INSTRUCTION_OPS}


def read(buffer: Buffer, ctx: XirContext, weights: Mapping[str, NamedBytes] | None = None) -> ModuleOp:
    """The module of a `.pte` file: ours or ExecuTorch's, with the delegates of known backends as graphs.

    Constants join the context's blob store as views of `buffer`, which stays in use. With `weights`, what `.ptd` files
    hold (`read_data_file`), constants that are apart become the program's own. Raises FormatError for anything that is
    not a sound file, and nothing else.
    """
    try:
        with paused_collection():
            module = _Reader(read_container(buffer), ctx, weights).read()
            verify(module)
    except (VerifyException, DiagnosticError) as error:
        raise FormatError(f"the file is not sound: {error}") from None
    return module


def _at(items: Sequence[Any] | None, index: int, what: str, path: str) -> Any:
    """`items[index]`, where the file says `index`."""
    if items is None or not 0 <= index < len(items):
        raise FormatError(f"there is no {what} {index}", path=path)
    return items[index]


class _Reader:
    def __init__(self, container: Container, ctx: XirContext, weights: Mapping[str, NamedBytes] | None):
        self.container = container
        self.weights = weights
        self.ctx = ctx
        self.program = container.program
        self.named_data: dict[str, memoryview] = {}
        self.used_keys: set[str] = set()

    def read(self) -> ModuleOp:
        program = self.program
        for index, entry in enumerate(program.get("named_data", ())):
            path = f"Program.named_data[{index}]"
            if "key" not in entry or entry["key"] in self.named_data:
                raise FormatError("named data needs a key of its own", path=path)
            self.named_data[entry["key"]] = self.segment(entry["segment_index"], path)
        self.add_weights()
        plans = [
            _PlanReader(plan, f"Program.execution_plan[{index}]", self).read()
            for index, plan in enumerate(program.get("execution_plan", ()))
        ]
        listed = [
            NamedDataOp.build(properties={"key": StringAttr(key), "data": self.opaque(key, data)})
            for key, data in self.named_data.items()
            if key not in self.used_keys
        ]
        op = ProgramOp.build(
            properties={
                "version": IntegerAttr(program["version"], i64),
                "segment_alignment": IntegerAttr(_segment_alignment(self.container), i64),
            },
            regions=[Region(Block([*listed, *plans]))],
        )
        return ModuleOp([op])

    def add_weights(self) -> None:
        """Add what delegates may name of other files. One that nobody here can read may name anything."""
        weights = self.weights or {}
        for key in weights:
            if key in self.named_data:
                raise FormatError(f'"{key}" is in the program and in a file of weights', path="Program.named_data")
        self.named_data |= {key: each.data for key, each in weights.items()}
        plans = self.program.get("execution_plan", ())
        delegates = [each for plan in plans for each in plan.get("delegates", ())]
        if all(backend_of_id(each.get("id", "")) is not None for each in delegates):
            self.used_keys |= weights.keys()

    def tensor_apart(self, tree: Tree, info: Tree, path: str) -> memoryview | None:
        """The bytes of a tensor that another file has; None if no files were given."""
        if self.weights is None:
            return None
        key = info.get("fully_qualified_name", "")
        if (found := self.weights.get(key)) is None:
            raise FormatError(f'"{key}" is in none of the files of weights', path=path)
        if not found.is_tensor(tree):
            raise FormatError(f'"{key}" has another type or shape in its file of weights', path=path)
        self.used_keys.add(key)
        return found.data

    def segment(self, index: int, path: str) -> memoryview:
        return _at(self.container.segments, index, "segment", path)

    def opaque(self, name: str, data: memoryview) -> DenseResourceAttr:
        """Bytes without a meaning here, as a resource of i8."""
        return self.resource(name, data, TensorType(i8, [len(data)]))

    def resource(self, name: str, data: memoryview, type: TensorType) -> DenseResourceAttr:
        key = self.ctx.blobs.add(name, np.frombuffer(data, dtype=np.uint8))
        return DenseResourceAttr.from_params(key, type)

    def constant(self, index: int, size: int, path: str) -> memoryview:
        """The `size` bytes of constant `index`."""
        place = self.program.get("constant_segment") or {}
        if place.get("offsets"):
            return self.subsegment(place, index, size, path)
        # Before there were segments, constants were part of the FlatBuffer.
        data = memoryview(_at(self.program.get("constant_buffer"), index, "constant", path).get("storage", b""))
        return _exactly(data, 0, size, index, path)

    def initial_contents(self, index: int, size: int, path: str) -> memoryview:
        """The `size` bytes of initial contents `index`."""
        return self.subsegment(
            _at(self.program.get("mutable_data_segments"), 0, "mutable data segment", path), index, size, path
        )

    def subsegment(self, place: Tree, index: int, size: int, path: str) -> memoryview:
        start = _at(place.get("offsets"), index, "constant", path)
        return _exactly(self.segment(place["segment_index"], path), start, size, index, path)

    def delegate_data(self, reference: Tree, path: str) -> tuple[memoryview, bool]:
        """A delegate's bytes, and whether they are part of the FlatBuffer."""
        inline = reference["location"] == load_schema("program").enums["DataLocation"].members["Inline"]
        if not inline:
            return self.segment(reference["index"], path), False
        entry = _at(self.program.get("backend_delegate_data"), reference["index"], "inline delegate", path)
        return memoryview(entry.get("data", b"")), True


def _exactly(data: memoryview, start: int, size: int, index: int, path: str) -> memoryview:
    if start + size > len(data):
        raise FormatError(f"constant {index} needs {size} bytes at {start}, there are {len(data)}", path=path)
    return data[start : start + size]


def _segment_alignment(container: Container) -> int:
    """The least alignment, of at least 128, that puts every segment where it is. The file does not say it."""
    segments: list[Tree] = container.program.get("segments", [])
    alignment = SEGMENT_ALIGNMENT
    while alignment <= container.segment_base:
        end, fits = 0, container.segment_base % alignment == 0
        for entry in segments:
            if entry["size"] and entry["offset"] < end:
                continue  # a part of an earlier one
            fits = fits and (entry["size"] == 0 or entry["offset"] == align(end, alignment))
            end = entry["offset"] + entry["size"]
        if fits:
            return alignment
        alignment *= 2
    return SEGMENT_ALIGNMENT


class _PlanReader:
    def __init__(self, tree: Tree, path: str, reader: _Reader):
        self.tree = tree
        self.path = path
        self.reader = reader
        self.schema = load_schema("program")
        self.values: list[SSAValue] = []
        self.delegates: list[DelegateOp] = []

    def read(self) -> ExecutionPlanOp:
        tree, path = self.tree, self.path
        if "name" not in tree:
            raise FormatError("a plan has no name", path=path)
        block = Block()
        for index, entry in enumerate(tree.get("delegates", ())):
            self.delegates.append(self.delegate(entry, index, f"{path}.delegates[{index}]"))
        block.add_ops(self.delegates)
        for index, entry in enumerate(tree.get("values", ())):
            op = self.value(entry, f"{path}.values[{index}]")
            block.add_op(op)
            self.values.append(op.value)
        for index, entry in enumerate(tree.get("chains", ())):
            block.add_op(self.chain(entry, f"{path}.chains[{index}]"))
        block.add_op(
            SignatureOp(
                self.uses(tree.get("inputs", ()), f"{path}.inputs"),
                self.uses(tree.get("outputs", ()), f"{path}.outputs"),
            )
        )
        return ExecutionPlanOp.build(properties=self.properties(), regions=[Region(block)])

    def properties(self) -> dict[str, Attribute | None]:
        tree = self.tree
        metadata: Tree = tree.get("container_meta_type", {})
        properties: dict[str, Attribute | None] = {
            "sym_name": StringAttr(tree["name"]),
            "non_const_buffer_sizes": DenseArrayBase.from_list(i64, tree.get("non_const_buffer_sizes", [0])),
        }
        for name in ("encoded_inp_str", "encoded_out_str"):
            if name in metadata:
                properties[name] = StringAttr(metadata[name])
        if "non_const_buffer_device" in tree:
            properties["non_const_buffer_device"] = ArrayAttr(
                BufferDeviceAttr(IntAttr(d["buffer_idx"]), IntAttr(d["device_type"]), IntAttr(d["device_index"]))
                for d in tree["non_const_buffer_device"]
            )
        return properties

    def use(self, index: int, path: str) -> SSAValue:
        return _at(self.values, index, "value", path)

    def uses(self, indices: Iterable[int], path: str) -> list[SSAValue]:
        return [self.use(index, path) for index in indices]

    def fields(
        self, cls: type[ValueOp | InstructionOp], tree: Tree, path: str
    ) -> tuple[list[Any], dict[str, Attribute | None]]:
        """The operands and properties of an op that are fields of its table, under the same names."""
        definition = cls.get_irdl_definition()
        properties: dict[str, Attribute | None] = {
            item.name: to_attribute(item, tree.get(item.name, []))
            for item in self.schema.tables[cls.MEMBER].fields
            if item.name in definition.properties and (item.name in tree or item.vector)
        }
        operands: list[Any] = []
        for name, kind in definition.operands:
            many = isinstance(kind, VarOperandDef)
            operands.append(self.uses(tree.get(name, ()), path) if many else self.use(tree[name], path))
        return operands, properties

    def value(self, entry: Tree, path: str) -> ValueOp:
        tagged: Tagged | None = entry.get("val")
        if tagged is None:
            raise FormatError("a value has no contents", path=path)
        cls, tree = _VALUES[tagged.member], tagged.value
        if cls is TensorOp:
            return self.tensor(tree, path)
        if cls is OptionalTensorListOp:
            items: list[int] = tree.get("items", [])
            present = DenseArrayBase.from_list(i1, [item != -1 for item in items])
            return OptionalTensorListOp.make(self.uses((i for i in items if i != -1), path), present=present)
        operands, properties = self.fields(cls, tree, path)
        return cls.make(*operands, **properties)

    def tensor(self, tree: Tree, path: str) -> TensorOp:
        element_type = scalar_type(tree["scalar_type"])
        if element_type is None:
            raise FormatError(f"the scalar type {tree['scalar_type']} is not known", path=path)
        sizes: list[int] = tree.get("sizes", [])
        if any(size < 0 for size in sizes):
            raise FormatError(f"the sizes {sizes} are not all positive", path=path)
        order = list(tree.get("dim_order", b""))
        if sorted(order) != list(range(len(sizes))):
            raise FormatError(f"dim_order {order} is not a permutation of the {len(sizes)} dimensions", path=path)
        properties: dict[str, Attribute | None] = {"tensor_type": TensorType(element_type, sizes)}
        for item in self.schema.tables["Tensor"].fields:
            if item.name in ("storage_offset", "requires_grad", "layout", "shape_dynamism"):
                properties[item.name] = to_attribute(item, tree[item.name])
        if order != sorted(order):
            properties["dim_order"] = DenseArrayBase.from_list(i64, order)
        allocation: Tree | None = tree.get("allocation_info")
        if allocation is not None:
            offset = allocation["memory_offset_high"] << 32 | allocation["memory_offset_low"]
            properties["allocation_info"] = AllocationAttr(allocation["memory_id"], offset)
        info: Tree | None = tree.get("extra_tensor_info")
        apart = None
        if info is not None and info["location"] != SEGMENT:
            apart = self.reader.tensor_apart(tree, info, path)
        if info is not None and (apart is None or allocation is not None):
            properties["extra_tensor_info"] = ExtraTensorInfoAttr(
                StringAttr(info.get("fully_qualified_name", "")),
                IntAttr(info["mutable_data_segments_idx"] if apart is None else 0),
                IntAttr(info["location"] if apart is None else SEGMENT),
                *(IntAttr(info[name]) for name in ("device_type", "device_index")),
            )
        op = TensorOp.make(**properties)
        index, name = tree["data_buffer_idx"], (info or {}).get("fully_qualified_name")
        type = TensorType(element_type, op.memory_shape)
        if apart is not None:
            content = _exactly(apart, 0, op.nbytes, index, path)
            op.properties["data"] = self.reader.resource(name or "constant", content, type)
        elif index and (info is None or info["location"] == SEGMENT):
            find = self.reader.constant if allocation is None else self.reader.initial_contents
            data = find(index, op.nbytes, path)
            op.properties["data"] = self.reader.resource(name or f"constant_{index}", data, type)
        return op

    def delegate(self, entry: Tree, index: int, path: str) -> DelegateOp:
        if "id" not in entry or "processed" not in entry:
            raise FormatError("a delegate needs an id and its bytes", path=path)
        data, inline = self.reader.delegate_data(entry["processed"], path)
        specs: list[Tree] = entry.get("compile_specs", [])
        compile_specs = ArrayAttr(
            CompileSpecAttr(
                StringAttr(spec.get("key", "")),
                DenseArrayBase.from_list(i8, list(memoryview(spec.get("value", b"")).cast("b"))),
            )
            for spec in specs
        )
        common: dict[str, Any] = {"compile_specs": compile_specs if specs else None, "inline": inline}
        name = f"{self.tree['name']}_{index}"
        backend = backend_of_id(entry["id"])
        if backend is None:
            return DelegateOp(name, entry["id"], processed=self.reader.opaque(name, data), **common)
        try:
            blob = backend.read(data, entry["id"], self.reader.named_data, self.reader.ctx)
        except FormatError as error:
            raise FormatError(error.message, offset=error.offset, path=f"{path}: {error.path}") from None
        self.reader.used_keys |= blob.used_keys
        block = Block(arg_types=blob.input_types)
        blob.graph.operands = block.args
        block.add_ops([blob.graph, YieldOp(blob.graph.results)])
        ids = None if blob.value_ids is None else DenseArrayBase.from_list(i64, blob.value_ids)
        return DelegateOp(name, entry["id"], body=Region(block), value_ids=ids, **common)

    def chain(self, tree: Tree, path: str) -> ChainOp:
        stacktrace: list[Tree] = tree.get("stacktrace", [])
        instructions: list[InstructionOp] = []
        for index, entry in enumerate(tree.get("instructions", ())):
            op = self.instruction(entry, f"{path}.instructions[{index}]")
            if index < len(stacktrace):
                op.properties["frames"] = ArrayAttr(map(_frame, stacktrace[index].get("items", ())))
            instructions.append(op)
        return ChainOp(
            instructions,
            self.uses(tree.get("inputs", ()), f"{path}.inputs"),
            self.uses(tree.get("outputs", ()), f"{path}.outputs"),
        )

    def instruction(self, entry: Tree, path: str) -> InstructionOp:
        tagged: Tagged | None = entry.get("instr_args")
        if tagged is None:
            raise FormatError("an instruction has no contents", path=path)
        cls, tree = _INSTRUCTIONS[tagged.member], tagged.value
        if cls is KernelCallOp:
            operator: Tree = _at(self.tree.get("operators"), tree["op_index"], "operator", path)
            name, overload = operator.get("name", ""), operator.get("overload", "")
            if "." in name:
                raise FormatError(f"the operator's name {name!r} has a dot", path=path)
            kernel = f"{name}.{overload}" if overload else name
            return KernelCallOp(kernel, self.uses(tree.get("args", ()), path))
        if cls is DelegateCallOp:
            delegate: DelegateOp = _at(self.delegates, tree["delegate_index"], "delegate", path)
            return DelegateCallOp(delegate.sym_name.data, self.uses(tree.get("args", ()), path))
        operands, properties = self.fields(cls, tree, path)
        return cls.build(operands=operands, properties=properties)


def _frame(tree: Tree) -> FrameAttr:
    return FrameAttr(
        StringAttr(tree.get("filename", "")),
        IntAttr(tree["lineno"]),
        StringAttr(tree.get("name", "")),
        StringAttr(tree.get("context", "")),
    )
