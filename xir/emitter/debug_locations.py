"""Debug information back into the IR: the locations of what was read from a `.pte` file, as the file tells them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseIntOrFPElementsAttr, IntegerAttr, LocationAttr, ModuleOp

from xir.dialects.pte import DEBUG_INFO_KEY, ExecutionPlanOp, InstructionOp, ProgramOp
from xir.emitter.codec import Tree, decode
from xir.emitter.errors import FormatError
from xir.emitter.fbs import load_schema
from xir.ir.context import XirContext
from xir.ir.location import call_location, file_location, fused_location, name_location

MOST_PLACES = 1 << 20
"""A handle names few places; a file that has more in all is not worth the memory."""


def locate(module: ModuleOp, ctx: XirContext) -> None:
    """Give nodes and instructions of programs the locations that debug information or stack traces tell.

    As at run time, what is damaged in it is unknown, and no error.
    """
    for program in module.body.block.ops:
        if not isinstance(program, ProgramOp):
            continue
        handles, plans = _debug_info(program, ctx)
        for index, plan in enumerate(program.plans):
            _locate_plan(plan, handles, plans[index] if index < len(plans) else ())


def name_nodes(module: ModuleOp) -> None:
    """Give nodes that no debug information tells of a name, by their kind and place: "conv2d_3" is the third.

    What passes make of a node is then known to belong together.
    """
    for program in module.body.block.ops:
        for plan in program.plans if isinstance(program, ProgramOp) else ():
            counts: Counter[str] = Counter()
            for delegate in plan.delegates:
                for op in () if delegate.graph is None else delegate.graph.block.ops:
                    kind = op.name.partition(".")[2]
                    counts[kind] += 1
                    if op.location == UNKNOWN_LOC:
                        op.location = name_location(f"{kind}_{counts[kind]}")


def _locate_plan(plan: ExecutionPlanOp, handles: Sequence[LocationAttr], instructions: Sequence[int]) -> None:
    for number, chain in enumerate(plan.chains):
        for index, op in enumerate(chain.instructions):
            if number == 0 and index < len(instructions) and instructions[index] < len(handles):
                op.location = handles[instructions[index]]
            else:
                _locate_by_frames(op)
    for delegate in plan.delegates:
        for op in () if delegate.graph is None else delegate.graph.block.ops:
            handle = op.properties.get("debug_handle")
            if isinstance(handle, IntegerAttr) and 0 <= handle.value.data < len(handles):
                op.location = handles[handle.value.data]


def _locate_by_frames(op: InstructionOp) -> None:
    """What stock ExecuTorch writes: files, lines and a text each; a frame of ours has the module and the operator."""
    frames = () if op.frames is None else op.frames.data
    op.location = fused_location(
        *(
            call_location(file_location(frame.filename, frame.lineno.data), frame.context.data, frame.function.data)
            for frame in frames
        )
    )


def _debug_info(program: ProgramOp, ctx: XirContext) -> tuple[list[LocationAttr], list[list[int]]]:
    """The location of each handle, and the handles of each plan's instructions."""
    data = next((each.data for each in program.named_data if each.key.data == DEBUG_INFO_KEY), None)
    if data is None:
        return [], []
    try:
        if isinstance(data, DenseIntOrFPElementsAttr):
            content = data.data.data
        else:
            content = ctx.blobs.get(data.resource_handle.data).tobytes()
        tree = decode(load_schema("debug"), content)
    except (FormatError, KeyError, TypeError):
        return [], []
    strings: list[str] = tree.get("strings", [])
    origins = [_location(origin, strings) for origin in tree.get("origins", ())]
    items = [handle.get("items", ()) for handle in tree.get("handles", ())]
    if sum(map(len, items)) > MOST_PLACES:
        return [], []
    handles = [fused_location(*(origins[i] for i in each if i < len(origins))) for each in items]
    return handles, [plan.get("instructions", []) for plan in tree.get("plans", ())]


def _location(origin: Tree, strings: Sequence[str]) -> LocationAttr:
    """A location as the importer makes them."""
    file, module, op, name = (_string(strings, origin[field]) for field in ("file", "module", "op", "name"))
    place = call_location(file_location(file, origin["line"]), op, module) if file else name_location(op or module)
    return name_location(name, place) if name else place


def _string(strings: Sequence[str], number: int) -> str:
    return strings[number] if number < len(strings) else ""
