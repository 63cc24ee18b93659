"""From a `pte.program` to the bytes of a `.pte` file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, i8
from xdsl.ir import Operation, SSAValue

from xir.backend.registry import backend_named
from xir.dialects.pte import (
    DEBUG_INFO_KEY,
    ChainOp,
    CompileSpecAttr,
    DelegateCallOp,
    DelegateOp,
    DenseData,
    ExecutionPlanOp,
    FrameAttr,
    InstructionOp,
    KernelCallOp,
    OptionalTensorListOp,
    ProgramOp,
    TensorOp,
    ValueOp,
    scalar_code,
)
from xir.emitter.codec import Buffer, Tagged, Tree
from xir.emitter.container import TENSOR_ALIGNMENT, Segment, Sink, align, write_container
from xir.emitter.data import Data, constant_data
from xir.emitter.data_file import DataFile, KnownData, NamedBytes
from xir.emitter.debug_info import DebugInfoWriter
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema
from xir.emitter.fields import to_tree
from xir.emitter.sizes import SIZES_KEY, encode_sizes
from xir.ir.collection import paused_collection
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError

CONSTANTS = 0
"""The index of the segment of constants."""
EXTERNAL = 1
"""`TensorDataLocation.External`: a tensor's elements are in a `.ptd` file."""


def emit(
    module: ModuleOp,
    ctx: XirContext,
    stream: Sink,
    *,
    debug_info: bool = False,
    weights: Sink | None = None,
    known: Mapping[str, NamedBytes] | None = None,
) -> None:
    """Write the one `pte.program` of a verified module to `stream` as a `.pte` file.

    With `debug_info` the file tells what its instructions and nodes come from, as their locations have it; debug
    information that the program was read with stays as it is. With `weights` the constants of kernels and delegates go
    there, as a `.ptd` file, and the program names them; with `known`, what `.ptd` files hold (`read_weights`), it names
    those that are there, and holds the others. Constants go from the context's blob store to the stream
    piece by piece. The same module gives the same bytes.
    DiagnosticError, before anything is written, if there is no program, memory is not planned, a resource has no data,
    or something does not fit the format.
    """
    programs = [op for op in module.body.ops if isinstance(op, ProgramOp)]
    if len(programs) != 1:
        hint = "" if programs else "; lower it with --lower-to-pte --plan-memory"
        raise DiagnosticError(module, f"a file holds one pte.program, the module has {len(programs)}{hint}")
    try:
        with paused_collection():
            apart = None if weights is None else DataFile()
            _Emitter(programs[0], ctx, debug_info, apart, KnownData(known or {})).emit(stream)
            if apart is not None and weights is not None:
                apart.write(weights)
    except FormatError as error:
        raise DiagnosticError(programs[0], f"the program does not fit its format: {error}") from None


@dataclass
class _Pool:
    """Constants that share a segment. Index 0 is reserved: it means "no data"."""

    alignment: int
    data: list[Data] = field(default_factory=list[Data])
    offsets: list[int] = field(default_factory=lambda: [0])
    size: int = 0

    def add(self, data: Data) -> int:
        """The index that the data gets."""
        self.offsets.append(align(self.size, self.alignment))
        self.data.append(data)
        self.size = self.offsets[-1] + data.size
        return len(self.data)

    def segment(self) -> Segment:
        """All of it, with zeros between."""
        return Segment(self.size, self.chunks)

    def chunks(self) -> Iterator[Buffer]:
        position = 0
        for offset, data in zip(self.offsets[1:], self.data, strict=True):
            if offset > position:
                yield bytes(offset - position)
            yield from data.chunks()
            position = offset + data.size


class _Emitter:
    def __init__(self, program: ProgramOp, ctx: XirContext, debug_info: bool, apart: DataFile | None, known: KnownData):
        self.program = program
        self.apart = apart
        self.known = known
        self.ctx = ctx
        self.schema = load_schema("program")
        has_own = any(op.key.data == DEBUG_INFO_KEY for op in program.named_data)
        self.debug_info = DebugInfoWriter() if debug_info and not has_own else None
        self.constants = _Pool(TENSOR_ALIGNMENT)
        self.constant_indices: dict[bytes, int] = {}
        # Initial contents are copied into an arena: it is enough that elements of any type lie where they may.
        self.initial = _Pool(8)
        self.initial_indices: dict[bytes, int] = {}
        self.segments: list[Segment] = []
        self.delegate_segments: dict[bytes, int] = {}
        self.inline_data: list[Tree] = []
        self.named_data: dict[str, Data] = {}

    def emit(self, stream: Sink) -> None:
        # The values first: segments are numbered after the constants and the initial contents, if there are any.
        plans = [_PlanWriter(plan, self) for plan in self.program.plans]
        self.segments.append(self.constants.segment())
        tree: Tree = {
            "version": self.program.version.value.data,
            "constant_buffer": [],
            "constant_segment": {"segment_index": CONSTANTS, "offsets": self.constants.offsets},
        }
        if self.initial.data:
            tree["mutable_data_segments"] = [{"segment_index": 1, "offsets": self.initial.offsets}]
            self.segments.append(self.initial.segment())
        tree["execution_plan"] = [plan.write() for plan in plans]
        tree["backend_delegate_data"] = self.inline_data
        if named_data := self.place_named_data():
            tree["named_data"] = named_data
        write_container(stream, tree, self.segments, self.program.segment_alignment.value.data)

    def constant(self, op: TensorOp, data: DenseData) -> int:
        """The index of a tensor's constant contents; equal bytes are stored once."""
        content = constant_data(data, op.nbytes, self.ctx, op)
        if content.digest not in self.constant_indices:
            self.constant_indices[content.digest] = self.constants.add(content)
        return self.constant_indices[content.digest]

    def initial_contents(self, op: TensorOp, data: DenseData) -> int:
        """The index of what a planned tensor holds when the method is loaded; equal bytes are stored once."""
        content = constant_data(data, op.nbytes, self.ctx, op)
        if content.digest not in self.initial_indices:
            self.initial_indices[content.digest] = self.initial.add(content)
        return self.initial_indices[content.digest]

    def delegate(self, op: DelegateOp) -> Tree:
        """The reference to a delegate's bytes, which get a segment unless an equal delegate has one."""
        if (graph := op.graph) is not None:
            ids = None if op.value_ids is None else [int(id) for id in op.value_ids.get_values()]
            blob = backend_named(graph.BACKEND).write(graph, self.ctx, ids, self.debug_info)
            self.named_data |= blob.named_data
            content = Data.of(blob.content)
        else:
            assert op.processed is not None
            content = self.opaque_data(op.processed, op)
        # ExecuTorch leaves empty delegates in the FlatBuffer.
        if op.inline is not None or content.size == 0:
            self.inline_data.append({"data": b"".join(bytes(chunk) for chunk in content.chunks())})
            return {"location": self.location("Inline"), "index": len(self.inline_data) - 1}
        if content.digest not in self.delegate_segments:
            self.delegate_segments[content.digest] = len(self.segments)
            self.segments.append(Segment(content.size, content.chunks))
        return {"location": self.location("Segment"), "index": self.delegate_segments[content.digest]}

    def location(self, name: str) -> int:
        return self.schema.enums["DataLocation"].members[name]

    def opaque_data(self, attr: DenseData, op: Operation) -> Data:
        """Bytes that mean nothing here, such as another backend's."""
        type = attr.type
        if not isinstance(type, TensorType) or type.element_type != i8:
            raise DiagnosticError(op, f"raw bytes are a tensor of i8, not {type}")
        return constant_data(attr, math.prod(type.get_shape()), self.ctx, op)

    def place_named_data(self) -> list[Tree]:
        """The entries of `Program.named_data`, each with a segment; equal bytes share one.

        Bytes that are a constant's as well, such as an embedding that is also the weight of the last layer, are a part
        of the constants' segment.
        """
        # What a delegate brings along keeps its place among the delegates' data, also if it is listed once more.
        listed = [op for op in self.program.named_data if op.key.data not in self.named_data]
        data = {op.key.data: self.opaque_data(op.data, op) for op in listed}
        if self.debug_info is not None and (content := self.debug_info.encode()):
            data[DEBUG_INFO_KEY] = Data.of(content)
        if SIZES_KEY not in data and (content := encode_sizes(self.program.plans)):
            data[SIZES_KEY] = Data.of(content)
        if self.apart is None:
            data |= {key: entry for key, entry in self.named_data.items() if not self.known.has(key, entry)}
        else:
            for key, entry in self.named_data.items():
                self.apart.add(key, entry)
        places: dict[bytes, int] = {}
        for entry in data.values():
            if entry.digest in places:
                continue
            places[entry.digest] = len(self.segments)
            constant = self.constant_indices.get(entry.digest)
            inside = None if constant is None else (CONSTANTS, self.constants.offsets[constant])
            self.segments.append(Segment(entry.size, entry.chunks, TENSOR_ALIGNMENT, inside))
        return [{"key": key, "segment_index": places[entry.digest]} for key, entry in data.items()]


class _PlanWriter:
    """Writes one plan. The values are written at once, because their constants decide how segments are numbered."""

    def __init__(self, plan: ExecutionPlanOp, emitter: _Emitter):
        if plan.non_const_buffer_sizes is None:
            raise DiagnosticError(plan, "the plan has no arenas; give it some with --plan-memory")
        self.plan = plan
        self.emitter = emitter
        self.arenas = to_tree(plan.non_const_buffer_sizes)
        self.indices: dict[SSAValue, int] = {op.value: index for index, op in enumerate(plan.values)}
        self.operators: dict[tuple[str, str], int] = {}
        self.values = [self.value(op) for op in plan.values]

    def write(self) -> Tree:
        plan = self.plan
        self.delegates = {op.sym_name.data: index for index, op in enumerate(plan.delegates)}
        if self.emitter.debug_info is not None:
            first = next(plan.chains, None)
            self.emitter.debug_info.add_plan([op.location for op in first.instructions] if first is not None else [])
        tree: Tree = {
            "name": plan.sym_name.data,
            "values": self.values,
            "inputs": self.indices_of(plan.signature.inputs),
            "outputs": self.indices_of(plan.signature.outputs),
            "chains": [self.chain(chain) for chain in plan.chains],
            "operators": [{"name": name, "overload": overload} for name, overload in self.operators],
            "delegates": [self.delegate(op) for op in plan.delegates],
            "non_const_buffer_sizes": self.arenas,
        }
        metadata = {
            name: attr.data
            for name in ("encoded_inp_str", "encoded_out_str")
            if isinstance(attr := plan.properties.get(name), StringAttr)
        }
        if metadata:
            tree["container_meta_type"] = metadata
        if plan.non_const_buffer_device is not None:
            tree["non_const_buffer_device"] = [
                {
                    "buffer_idx": device.buffer_idx.data,
                    "device_type": device.device_type.data,
                    "device_index": device.device_index.data,
                }
                for device in plan.non_const_buffer_device
            ]
        return tree

    def indices_of(self, values: Iterable[SSAValue]) -> list[int]:
        return [self.indices[value] for value in values]

    def fields(self, op: ValueOp | InstructionOp) -> Tree:
        """The fields of the op's table that are its properties or operands, under the same names."""
        tree: Tree = {}
        for item in self.emitter.schema.tables[op.MEMBER].fields:
            if item.name in op.properties:
                tree[item.name] = to_tree(op.properties[item.name])
                continue
            operands = getattr(op, item.name, None)
            if isinstance(operands, SSAValue):
                tree[item.name] = self.indices[operands]
            elif operands is not None:
                tree[item.name] = self.indices_of(operands)
        return tree

    def value(self, op: ValueOp) -> Tree:
        if isinstance(op, TensorOp):
            return {"val": Tagged(op.MEMBER, self.tensor(op))}
        tree = self.fields(op)
        if isinstance(op, OptionalTensorListOp):
            items = iter(tree["items"])
            tree = {"items": [next(items) if present else -1 for present in to_tree(op.present)]}
        return {"val": Tagged(op.MEMBER, tree)}

    def tensor(self, op: TensorOp) -> Tree:
        tree: Tree = {
            "scalar_type": scalar_code(op.tensor_type.element_type),
            "sizes": list(op.shape),
            "dim_order": bytes(op.order),
            "data_buffer_idx": 0,
        }
        for name in ("storage_offset", "requires_grad", "layout", "shape_dynamism"):
            tree[name] = to_tree(op.properties[name])
        if op.allocation_info is not None:
            offset = op.allocation_info.offset.data
            tree["allocation_info"] = {
                "memory_id": op.allocation_info.memory_id.data,
                "memory_offset_low": offset & 0xFFFFFFFF,
                "memory_offset_high": offset >> 32,
            }
        key = self.key_apart(op, tree)
        if op.elements is not None and key is None:
            place = self.emitter.constant if op.allocation_info is None else self.emitter.initial_contents
            tree["data_buffer_idx"] = place(op, op.elements)
        if (info := op.extra_tensor_info) is not None:
            extra: Tree = {
                "mutable_data_segments_idx": info.mutable_data_segments_idx.data,
                "location": info.location.data,
                "device_type": info.device_type.data,
                "device_index": info.device_index.data,
            }
            if info.fully_qualified_name.data:
                extra["fully_qualified_name"] = info.fully_qualified_name.data
            tree["extra_tensor_info"] = extra
        if key is not None:
            tree["extra_tensor_info"] = {
                **tree.get("extra_tensor_info", {}),
                "fully_qualified_name": key,
                "location": EXTERNAL,
            }
        return tree

    def key_apart(self, op: TensorOp, tree: Tree) -> str | None:
        """The key of a constant that another file has; None for what is in this one."""
        apart, known = self.emitter.apart, self.emitter.known
        if op.elements is None or op.allocation_info is not None or not op.nbytes:
            return None
        if apart is None and not known.weights:
            return None
        content = constant_data(op.elements, op.nbytes, self.emitter.ctx, op)
        if apart is None:
            return known.key_of_tensor(content, tree)
        return apart.add_tensor(content, tree["scalar_type"], tree["sizes"], tree["dim_order"])

    def delegate(self, op: DelegateOp) -> Tree:
        specs: Iterable[CompileSpecAttr] = op.compile_specs or ()
        return {
            "id": op.id.data,
            "processed": self.emitter.delegate(op),
            # The schema's bytes are unsigned, an i8 array's elements are not.
            "compile_specs": [
                {"key": spec.key.data, "value": bytes(byte & 0xFF for byte in spec.value.get_values())}
                for spec in specs
            ],
        }

    def chain(self, chain: ChainOp) -> Tree:
        instructions = list(chain.instructions)
        tree: Tree = {
            "inputs": self.indices_of(chain.inputs),
            "outputs": self.indices_of(chain.outputs),
            "instructions": [{"instr_args": Tagged(op.MEMBER, self.instruction(op))} for op in instructions],
        }
        frames = [self.frames(op) for op in instructions]
        if any(each is not None for each in frames):
            tree["stacktrace"] = [{"items": each or []} for each in frames]
        return tree

    def frames(self, op: InstructionOp) -> list[Tree] | None:
        """The frames that an instruction has, or those that its location tells; the nodes of a delegate have their own
        origins."""
        if op.frames is not None:
            return [_frame(frame) for frame in op.frames]
        if self.emitter.debug_info is None or isinstance(op, DelegateCallOp):
            return None
        return self.emitter.debug_info.frames(op.location) or None

    def instruction(self, op: InstructionOp) -> Tree:
        tree = self.fields(op)
        if isinstance(op, KernelCallOp):
            tree["op_index"] = self.operators.setdefault(op.operator, len(self.operators))
        elif isinstance(op, DelegateCallOp):
            tree["delegate_index"] = self.delegates[op.delegate.root_reference.data]
        return tree


def _frame(frame: FrameAttr) -> Tree:
    return {
        "filename": frame.filename.data,
        "lineno": frame.lineno.data,
        "name": frame.function.data,
        "context": frame.context.data,
    }
