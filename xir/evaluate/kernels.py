"""Finding in the program that a module becomes what computes something else than the module says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import edge, pte, xnnpack
from xir.dialects.xnnpack import DynamicType
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.subgraph import outside_type
from xir.evaluate import quantized
from xir.evaluate.bounds import PORTABLE, UNIT, UNITS, bound_of, finite, largest, of_portable, picks_alike
from xir.evaluate.comparison import AMPLIFIED, COPIED, FLIPPED, SAMPLES, Difference, largest_difference
from xir.evaluate.evaluator import Evaluator, Noise, widened
from xir.evaluate.execution import run_program
from xir.evaluate.trace import CALLS, updates_of
from xir.importer.dtypes import DTYPES
from xir.ir.context import XirContext
from xir.ir.diagnostics import op_name
from xir.ir.functions import methods_of
from xir.ir.passes import XirPass


def overwriting(plan: pte.ExecutionPlanOp) -> Operation | None:
    """The first instruction that names a tensor in the bytes of another one that was named before and will be again.

    None if there is none, and for plans with jumps: their text is not the order of execution.
    """
    instructions = [op for chain in plan.chains for op in chain.instructions]
    if any(isinstance(op, pte.JumpFalseOp) for op in instructions):
        return None
    places: list[Operation] = [plan, *instructions, plan]
    steps: list[list[SSAValue]] = [
        list(plan.signature.inputs),
        *(list(pte.named_values(op.operands)) for op in instructions),
        list(plan.signature.outputs),
    ]
    last = {value: number for number, step in enumerate(steps) for value in step}
    alive: dict[pte.TensorOp, tuple[int, int, int]] = {}
    for number, step in enumerate(steps):
        for value in step:
            op = value.owner
            if not isinstance(op, pte.TensorOp) or op in alive or op.buffer is not None or op.allocation_info is None:
                continue
            arena, start = op.allocation_info.memory_id.data, op.allocation_info.offset.data
            end = start + op.nbytes
            if any(arena == other and start < stop and begin < end for other, begin, stop in alive.values()):
                return places[number]
            if start < end:
                alive[op] = arena, start, end
        alive = {op: place for op, place in alive.items() if last[op.value] > number}
    return None


@dataclass(frozen=True)
class WrongKernel:
    """An op whose kernel computed something else than the op means."""

    op: Operation
    name: str
    """What is wrong, as messages call it."""
    found: Difference
    """Between the meaning and the kernel."""
    allowed: float
    """How far the kernel might have been from it at that place, in the result's unit."""


@dataclass(frozen=True)
class NodeByNode:
    """A program whose ops were compared one by one, each on the operands that its kernel had."""

    wrong: WrongKernel | None
    """The first one; None if there is none."""
    outputs: dict[str, list[Any]]
    """What each method computed, and its buffers hold, as `run_program` gives it."""
    error: float
    """The largest one of an op, relative to the largest magnitude of its result and operands."""


def node_by_node(
    module: ModuleOp,
    ctx: XirContext,
    lowering: XirPass,
    given: tuple[Mapping[str, Sequence[Any]], Mapping[str, Sequence[Any]]],
) -> NodeByNode:
    """Compare each op of a module's functions with what it computes in the program that `lowering` makes of them.

    `given` are the inputs as the functions take them, and as a caller of the program has them. All values are made
    outputs, those of delegates too, and each op is evaluated on the operands that its kernel had: what is left are the
    roundings of one kernel (`bounds`). Raises as `run_program` if that program does not run.
    """
    stored, called = given
    watched = module.clone()
    ctx = ctx.clone()
    functions = methods_of(watched)
    values = {function.sym_name.data: watch(function) for function in functions}
    lowered = watched.clone()
    lowering.apply(ctx, lowered)
    updates = {function.sym_name.data: updates_of(function) for function in functions}
    written = {name: [op.declared.buffer.data for op in each] for name, each in updates.items()}
    outputs = run_program(lowered, ctx, {name: called[name] for name in written}, written)
    computed: dict[str, list[Any]] = {}
    wrong: list[WrongKernel] = []
    error = 0.0
    for function in functions:
        name = function.sym_name.data
        calls = CALLS if written[name] else 1
        size = len(outputs[name]) // calls
        count = size - len(values[name]) - len(written[name])
        computed[name] = []
        state: dict[str, Any] = {}
        for call in range(calls):
            found = outputs[name][call * size : (call + 1) * size]
            held = found[count + len(values[name]) :]
            computed[name] += [*found[:count], *held]
            comparison = Comparison(ctx, dict(zip(values[name], found[count:], strict=False)))
            comparison.run(function, stored[name], state)
            wrong += comparison.wrong
            error = max(error, comparison.error)
            for op, value in zip(updates[name], held, strict=True):
                buffer = op.declared.buffer.data
                difference = largest_difference([state[buffer]], [value])
                if difference is not None and difference.error > COPIED:
                    what = f"buffer '{buffer}'" + (f" of call {call + 1}" if call else "")
                    wrong.append(WrongKernel(op, what, difference, 0.0))
                state[buffer] = widened(value)
    return NodeByNode(wrong[0] if wrong else None, computed, error)


class Comparison(Evaluator):
    """Evaluates each op on what the kernels of a program computed, and compares."""

    def __init__(self, ctx: XirContext, found: Mapping[SSAValue, Any]):
        """`found` is what the program computed for values."""
        # Quantised results keep their fractions, to tell how near to a tie each of them is.
        super().__init__(ctx, rounds=False)
        self.found = found
        self.wrong: list[WrongKernel] = []
        self.error = 0.0
        self._rows: dict[SSAValue, quantized.Rows] = {}

    def computed(self, op: Operation, values: dict[SSAValue, Any]) -> Sequence[Any]:
        results = [self._compared(op, *each, values) for each in zip(op.results, self._op(op, values), strict=True)]
        if isinstance(op, xnnpack.ConvertOp) and isinstance(element := element_type(op.output), DynamicType):
            unit = UNITS.get(type(element_type(op.input)), UNIT)
            self._rows[op.output] = quantized.roundings_of_rows(values[op.input], element.row_rank.data, unit)
        return results

    def beyond(self, op: edge.EdgeOp) -> float:
        return 0.0

    def stored(self, op: xnnpack.NodeOp, value: torch.Tensor, element: Attribute) -> torch.Tensor:
        return quantized.stored(value, element, rounds=isinstance(element, DynamicType))

    def _compared(self, op: Operation, value: SSAValue, expected: Any, values: Mapping[SSAValue, Any]) -> Any:
        """What the kernel computed, if that is known."""
        actual = self.found.get(value)
        if actual is None or not isinstance(expected, torch.Tensor):
            return expected
        if op.operands and picks_alike(op, values.get(op.operands[0]), actual, expected):
            return widened(actual)
        operands: list[Any] = []
        if isinstance(op, xnnpack.NodeOp):
            operands = quantized.operands_of(op, values)
        found, allowed = compare(op, actual, expected, operands, [self._rows.get(each) for each in op.operands])
        if found is not None and allowed is not None and isinstance(op, edge.EdgeOp) and isfinite(found.error):
            reach = self._reach(op, values, op.results.index(value), expected)  # pyright: ignore[reportArgumentType]
            if abs(found.after - found.before) <= allowed + reach:
                allowed = None
        if found is not None:
            self.error = max(self.error, found.error * self._weight_of(op, expected, values))
            if allowed is not None:
                self.wrong.append(WrongKernel(op, f"the result of '{op_name(op)}'", found, allowed))
        return widened(actual)

    def _weight_of(self, op: Operation, expected: torch.Tensor, values: Mapping[SSAValue, Any]) -> float:
        """The largest magnitude of a result, relative to that of its operands if they are larger.

        Where terms cancel, as in the mean of what a norm has centred, a result is hardly more than its own roundings.
        """
        if not expected.is_floating_point():
            return float(bool(expected.any()))
        size = largest(finite(expected.abs()))
        taken = [values.get(each) for each in op.operands]
        tensors = [each for each in taken if isinstance(each, torch.Tensor) and each.is_floating_point()]
        return size / max([size, 1e-30, *(largest(finite(each.abs())) for each in tensors)])

    def _reach(self, op: edge.EdgeOp, values: Mapping[SSAValue, Any], number: int, expected: torch.Tensor) -> float:
        """How far a kernel may be off whose terms cancel, as in the mean of what a norm has centred: as far as operands
        take the result that are as far off as a result may be.
        """
        furthest = 0.0
        for sample in range(SAMPLES if expected.is_floating_point() else 0):
            noise = Noise(relative=PORTABLE)
            noise.generator.manual_seed(sample)
            moved = {each: noise.of(values[each]) for each in op.operands}
            result = self._edge(op, {**values, **moved})[number]
            furthest = max(furthest, largest(finite((result - expected).abs())))
        return AMPLIFIED * furthest


def compare(
    op: Operation,
    actual: torch.Tensor,
    expected: torch.Tensor,
    operands: Sequence[Any],
    rows: Sequence[quantized.Rows | None],
) -> tuple[Difference | None, float | None]:
    """The largest difference of a kernel's result from what the op means, and how far it may be where it is too far.

    `expected` is in fp64, and in steps that are not rounded where the result is quantised; `operands` are numbers.
    """
    if actual.shape != expected.shape:
        return largest_difference([expected], [actual]), 0.0
    if isinstance(op, xnnpack.NodeOp):
        bound = bound_of(op, operands, expected, rows)
    else:
        bound = of_portable(expected, op.results[0].type)
    x, y = expected.double(), actual.double()
    if actual.dtype in (torch.float16, torch.bfloat16, torch.float32):
        # What is beyond the largest number of the type is infinite.
        x = torch.where(x.abs() > torch.finfo(actual.dtype).max, x.to(actual.dtype).double(), x)
    is_equal = (x == y) | (x.isnan() & y.isnan())
    distance = torch.where(is_equal, 0.0, (x - y).abs()).nan_to_num(nan=float("inf"), posinf=float("inf"))
    over = distance - bound
    if not over.numel() or not bool((over > 0).any()):
        return largest_difference([expected], [actual]), None
    if not actual.is_floating_point() and not expected.is_floating_point():
        found = largest_difference([expected], [actual])
        return found, (0.0 if found is not None and found.error > FLIPPED else None)
    place = int(over.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), x.shape)) if x.ndim else ()
    size = float(x[x.isfinite()].abs().max()) if bool(x.isfinite().any()) else 0.0
    error = float(distance[index]) / max(size, 1e-30)
    return Difference(0, error, index, float(x[index]), float(y[index]), False), float(bound.expand_as(x)[index])


def watch(function: FuncOp) -> list[SSAValue]:
    """Let a function return all that its ops compute, behind its results; the values in that order."""
    block = function.body.block
    last = block.last_op
    assert isinstance(last, ReturnOp)
    watched: list[SSAValue] = []
    values: list[SSAValue] = []
    for op in list(block.ops):
        if isinstance(op, xnnpack.SubgraphOp):
            inside, outside = _watch_graph(op)
            watched += inside
            values += outside
        elif isinstance(op, edge.EdgeOp | edge.ControlFlowOp):
            found = [result for result in op.results if may_leave(result)]
            watched += found
            values += found
    last.operands = [*last.operands, *values]
    function.properties["function_type"] = FunctionType.from_lists(
        [argument.type for argument in block.args], [value.type for value in last.operands]
    )
    for name in ("xir.in_spec", "xir.out_spec"):
        function.attributes.pop(name, None)
    if function.res_attrs is not None:
        function.res_attrs = ArrayAttr([*function.res_attrs, *(DictionaryAttr({}) for _ in values)])
    return watched


def _watch_graph(op: xnnpack.SubgraphOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """Let a graph yield what its nodes compute; the values inside, and the graph's results that hold them."""
    yielded = list(op.yield_op.operands)
    nodes = [node for node in op.body.block.ops if isinstance(node, xnnpack.NodeOp)]
    nodes = [node for node in nodes if not (isinstance(node, xnnpack.ConvertOp) and node.is_mistaken_as_output)]
    inside: list[SSAValue] = [result for node in nodes for result in node.results if may_leave(result)]
    added = [value for value in inside if value not in yielded]
    made = with_results(op, [*yielded, *added])
    places = {value: number for number, value in enumerate([*yielded, *added])}
    return inside, [made.results[places[value]] for value in inside]


def with_results(op: xnnpack.SubgraphOp, values: Sequence[SSAValue]) -> xnnpack.SubgraphOp:
    """Let a graph yield other values, of which the first replace its results. The new op stands in its place."""
    op.yield_op.operands = list(values)
    made = xnnpack.SubgraphOp.create(
        operands=list(op.operands),
        result_types=[outside_type(value.type) for value in values],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[op.detach_region(0)],
    )
    made.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(made, op)
    for old, new in zip(op.results, made.results, strict=False):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
    return made


def may_leave(value: SSAValue) -> bool:
    """Whether a value may be an output, for which it must be a tensor of an ordinary type."""
    type = outside_type(value.type)
    return isinstance(type, TensorType) and type.element_type in DTYPES
