"""The facts of a program, as its `.pte` file has them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerType, LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xir.cost_report import nodes_cost, peak_of
from xir.dialects import pte, xnnpack
from xir.emitter import emit
from xir.emitter.codec import Buffer
from xir.emitter.debug_info import shown_path
from xir.ir.location import find_file_location, origins_of
from xir.ir.walking import ops_in
from xir.lock.kinds import Key
from xir.lock.layers import NO_MODULE, is_float, layers_of, total_multiply_adds
from xir.transforms.analysis.cost import bytes_moved, tensor_bytes

if TYPE_CHECKING:
    from xir.api import ExecutorchProgram
    from xir.cost.profile import CostProfile


@dataclass(frozen=True)
class Facts:
    """What a file is."""

    values: Mapping[Key, str]
    places: Mapping[Key, Sequence[Operation]] = field(default_factory=dict[Key, Sequence[Operation]])
    """The ops that a fact is about, where it is about some; a lock has none."""


def facts_of(
    program: ExecutorchProgram, profile: CostProfile | None, accuracy: Mapping[str, float], *, weights_apart: bool
) -> Facts:
    """The facts of a program, and of its file; with `weights_apart` of the two that it is."""
    # What a file that was read brings along is written again either way.
    own = sum(_data_bytes(op) for op in ops_in(program.module, pte.NamedDataOp) if op.key.data == pte.DEBUG_INFO_KEY)
    stripped = _file_bytes(program, False, weights_apart)
    written = _file_bytes(program, True, weights_apart) if program.debug_info else stripped
    found = program_facts(program, profile)
    values: dict[Key, str] = {("bytes",): str(stripped - own), ("bytes-written",): str(written)}
    values |= {("accuracy", name): f"{number:.6g}" for name, number in accuracy.items()}
    return Facts({**values, **found.values}, found.places)


def program_facts(program: ExecutorchProgram, profile: CostProfile | None) -> Facts:
    """The facts of a program alone."""
    values: dict[Key, str] = {}
    places: dict[Key, list[Operation]] = {}
    for name, options in _passes(program.passes).items():
        values["pass", name] = ", ".join([str(len(options)), *dict.fromkeys(filter(None, options))])
    for plan in ops_in(program.module, pte.ExecutionPlanOp):
        _add_signature(plan, values)
        _add_memory(plan, values, places)
        _add_calls(plan, values, places)
        _add_delegates(plan, profile, values, places)
    return Facts(values, places)


def _passes(texts: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The options of each run of a pass, by its name. What is in another folder goes by its name alone."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, _, options = text.partition("{")
        short = re.sub(r"[^\s=,{}]*/", "", options.removesuffix("}"))
        found.setdefault(name, []).append(_plain(short.replace(",", ";")))
    return found


class _Counter:
    """A stream that keeps no more than how much was written."""

    nbytes = 0

    def write(self, data: Buffer, /) -> int:
        size = memoryview(data).nbytes
        self.nbytes += size
        return size


def _file_bytes(program: ExecutorchProgram, debug_info: bool, weights_apart: bool) -> int:
    """The size of a program's file, or files."""
    sink = _Counter()
    emit(program.module, program.ctx, sink, debug_info=debug_info, weights=sink if weights_apart else None)
    return sink.nbytes


def _data_bytes(op: pte.NamedDataOp) -> int:
    """The size of named data."""
    return tensor_bytes(op.data.type) or 0


def _add_signature(plan: pte.ExecutionPlanOp, values: dict[Key, str]) -> None:
    method = plan.sym_name.data
    inputs, outputs = plan.signature.inputs, plan.signature.outputs
    values["method", method] = f"{_counted(len(inputs), 'input')}, {_counted(len(outputs), 'output')}"
    sizes = [] if plan.input_sizes is None else [[text.data for text in each] for each in plan.input_sizes]
    for index, value in enumerate(inputs):
        values["input", method, str(index)] = type_text(value, sizes[index] if index < len(sizes) else [])
    is_constant = not any(True for chain in plan.chains for _ in chain.instructions)
    for index, value in enumerate(outputs):
        values["output", method, str(index)] = _constant(value) if is_constant else type_text(value)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _constant(value: SSAValue) -> str:
    """The type and the value of what a constant method answers."""
    match value.owner:
        case pte.IntOp() as op:
            return f"int {op.int_val.value.data}"
        case pte.BoolOp() as op:
            return f"bool {bool(op.bool_val.value.data)}"
        case pte.DoubleOp() as op:
            return f"double {op.double_val.value.data!r}"
        case pte.StringOp() as op:
            return f"string {op.string_val.data!r}"
        case _:
            return type_text(value)


def type_text(value: SSAValue, sizes: Sequence[str] = ()) -> str:
    """The type of a value: `f32[1x3x8x8]`, `f32[1..16x8]` where the first size is open, or an element's name alone."""
    op = value.owner
    if not isinstance(op, pte.TensorOp):
        return str(value.type).removeprefix("!pte.")
    dims = list(map(str, op.shape))
    for index, size in enumerate(sizes):
        if size:
            dims[index] = f"{size.partition('>=')[2]}..{op.shape[index]}"
    is_open = op.shape_dynamism.value.data != 0 and not any(sizes)
    order = "" if op.order == tuple(range(len(op.shape))) else f" in the order {' '.join(map(str, op.order))}"
    return f"{_element(op.tensor_type.element_type)}[{'up to ' if is_open else ''}{'x'.join(dims)}]{order}"


def _element(element: Attribute) -> str:
    """An element type's name; `bool` is more than an integer of one bit."""
    return "bool" if isinstance(element, IntegerType) and element.width.data == 1 else str(element)


def _add_memory(plan: pte.ExecutionPlanOp, values: dict[Key, str], places: dict[Key, list[Operation]]) -> None:
    if plan.non_const_buffer_sizes is not None:
        for index, size in enumerate(plan.non_const_buffer_sizes.get_values()):
            if size:
                key = ("arena", plan.sym_name.data, str(index))
                values[key], places[key] = str(int(size)), [plan]
    for op in plan.values:
        if isinstance(op, pte.TensorOp) and op.buffer is not None:
            values["state", op.buffer] = type_text(op.value, [])


def _add_calls(plan: pte.ExecutionPlanOp, values: dict[Key, str], places: dict[Key, list[Operation]]) -> None:
    """Add the kernels outside: how many calls come from each module, and from which lines."""
    for call in ops_in(plan, pte.KernelCallOp):
        origin = next(iter(origins_of(call.location)), None)
        module = NO_MODULE if origin is None or not origin.module else origin.module
        places.setdefault(("outside", plan.sym_name.data, call.kernel.data, module), []).append(call)
    for key, calls in places.items():
        if key[:2] == ("outside", plan.sym_name.data):
            lines = dict.fromkeys(line for call in calls if (line := line_of(call)))
            values[key] = ", ".join([str(len(calls)), *lines])


def line_of(op: Operation | LocationAttr) -> str:
    """The line of the model that an op or a location comes from, `net.py:7`; nothing if that is unknown.

    A file outside of the current folder goes by its name alone: where it lies is a matter of the machine.
    """
    found = find_file_location(op if isinstance(op, LocationAttr) else op.location)
    if found is None:
        return ""
    path = shown_path(found.filename.data)
    shown = os.path.basename(path) if os.path.isabs(path) else path
    return f"{_plain(shown.replace(',', ';'))}:{found.line.data}"


def _plain(text: str) -> str:
    """A text that is one line, and that a file can hold."""
    return "".join(each if each.isprintable() else "?" for each in text)


def _add_delegates(
    plan: pte.ExecutionPlanOp,
    profile: CostProfile | None,
    values: dict[Key, str],
    places: dict[Key, list[Operation]],
) -> None:
    method = plan.sym_name.data
    delegates = list(plan.delegates)
    for name, count in Counter(delegate.id.data for delegate in delegates).items():
        values["delegates", method, name] = str(count)
    graphs = [each.graph for each in delegates if isinstance(each.graph, xnnpack.SubgraphOp)]
    if not graphs:
        return
    layers = layers_of(method, graphs)
    for key, (layer, node) in layers.items():
        values[key], places[key] = str(layer), [node]
    quantized = sum(layer.is_quantized for layer, _ in layers.values())
    if quantized:
        computing = quantized + sum(is_float(layer) for layer, _ in layers.values())
        values["quantised", method] = f"{quantized} of {computing}"
    nodes = list(_nodes(graphs))
    values["multiply-adds", method] = str(total_multiply_adds(nodes))
    values["bytes-moved", method] = str(sum(bytes_moved(node) or 0 for node in nodes))
    if (peak := peak_of(nodes)) is not None:
        values["memory", method] = str(peak.bytes)
    if profile is not None:
        values["microseconds", method, profile.processor] = f"{nodes_cost(method, nodes, profile).microseconds:.1f}"


def _nodes(graphs: Sequence[xnnpack.SubgraphOp]) -> Iterator[xnnpack.NodeOp]:
    for graph in graphs:
        yield from ops_in(graph, xnnpack.NodeOp)
