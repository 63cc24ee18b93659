"""The cost report: what a program is predicted to take, node by node, by a cost profile and without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from xir.cost.profile import CostProfile
from xir.cost.work import Work
from xir.dialects import xnnpack
from xir.dialects.edge import EdgeOp
from xir.files import size_text
from xir.ir.annotations import COMPOSED
from xir.ir.context import XirContext
from xir.ir.location import format_location
from xir.ir.walking import functions_in, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.delegate._check import at_bounds
from xir.transforms.delegate._marks import computes_sizes
from xir.transforms.xnnpack._backend import XnnpackBackend
from xir.transforms.xnnpack._liveness import activation_bytes, alive_bytes, given_to, steps_of, stored
from xir.transforms.xnnpack._node_costs import weight_bytes, work_of


@dataclass(frozen=True)
class Line:
    """A node, or the nodes that compute one op together."""

    op: str
    """The node's name, without its dialect, and its operator; how the op is composed, if it is."""
    nodes: int
    microseconds: float
    place: str
    """The source line, as diagnostics write it."""


@dataclass(frozen=True)
class Peak:
    """Where most bytes of tensors are needed at once, in a delegate: constants apart, and as if none had gaps."""

    bytes: int
    op: str
    """The node that runs then."""
    place: str


@dataclass(frozen=True)
class MethodCost:
    """What one method takes on one thread, with every open size at its largest."""

    method: str
    lines: tuple[Line, ...]
    """As they run."""
    unknown: tuple[tuple[str, int], ...]
    """The ops that the prediction leaves out, by name, and how many there are of each."""
    peak: Peak | None = None
    """None without a node."""

    @property
    def microseconds(self) -> float:
        """Of all nodes that are known."""
        return sum(line.microseconds for line in self.lines)


@dataclass(frozen=True)
class CostReport:
    """What the methods of a program take."""

    processor: str
    methods: tuple[MethodCost, ...]

    @property
    def microseconds(self) -> float:
        """Of all methods together."""
        return sum(method.microseconds for method in self.methods)

    def text(self) -> str:
        """The tables for people, what takes the longest first."""
        return "\n".join(line for method in self.methods for line in self._table(method)) + "\n"

    def _table(self, method: MethodCost) -> Iterator[str]:
        total = method.microseconds
        yield f"{method.method}: {total / 1000:.2f} ms predicted on one thread of {self.processor}"
        if method.unknown:
            names = ", ".join(f"{count} × {name}" for name, count in method.unknown)
            yield f"    not predicted: {names}"
        if method.peak is not None:
            peak = method.peak
            yield f"    {size_text(peak.bytes)} of tensors at most in a delegate, when {peak.op} runs, {peak.place}"
        if not method.lines:
            return
        width = max(len(line.op) for line in method.lines)
        yield f"    {'us':>9}  share  {'node':{width}}  source"
        for line in sorted(method.lines, key=lambda line: -line.microseconds):
            share = line.microseconds / total if total else 0.0
            yield f"    {line.microseconds:9.1f} {share:6.1%}  {line.op:{width}}  {line.place}"


def cost_report(module: ModuleOp, ctx: XirContext, profile: CostProfile) -> CostReport:
    """Predict a lowered program, as `EdgeProgram.to_backend` gives it."""
    return CostReport(profile.processor, tuple(_method(each, ctx, profile) for each in functions_in(module)))


def _method(function: FuncOp, ctx: XirContext, profile: CostProfile) -> MethodCost:
    unknown: Counter[str] = Counter()
    lines: dict[tuple[object, ...], Line] = {}
    nodes = list(_nodes(function, ctx, unknown))
    streaming = profile.of_program(weight_bytes(function))
    for index, (node, work) in enumerate(_works(nodes)):
        if work is None:
            unknown[node.name] += 1
            continue
        took = streaming.nanoseconds(work)
        form = node.attributes.get(COMPOSED)
        place = format_location(node.location)
        key: tuple[object, ...] = (form, place) if isinstance(form, StringAttr) else (index,)
        op = form.data if isinstance(form, StringAttr) else _name(node)
        before = lines.get(key, Line(op, 0, 0.0, place))
        lines[key] = Line(op, before.nodes + 1, before.microseconds + took / 1e3, place)
    named = (
        Line(f"{line.op}, {line.nodes} nodes", line.nodes, line.microseconds, line.place) if line.nodes > 1 else line
        for line in lines.values()
    )
    return MethodCost(function.sym_name.data, tuple(named), tuple(sorted(unknown.items())), _peak(nodes))


def _works(nodes: Sequence[xnnpack.NodeOp]) -> Iterator[tuple[xnnpack.NodeOp, Work | None]]:
    """What each node that takes time does, with the bytes moved since its operands were last read or written."""
    moved = 0
    touched: dict[SSAValue, int] = {}
    for node in nodes:
        if isinstance(node, xnnpack.StaticReshapeOp):
            continue  # the result lies where its operand does
        work = work_of(node)
        if work is not None:
            tensors = {stored(value) for value in node.operands if not isinstance(value.owner, xnnpack.ConstantOp)}
            since = moved - min((touched.get(value, 0) for value in tensors), default=moved)
            work = replace(work, since=since)
            moved += work.traffic + work.weights
            touched |= dict.fromkeys((*tensors, *node.results), moved)
        yield node, work


def _peak(nodes: Sequence[xnnpack.NodeOp]) -> Peak | None:
    """The node with most bytes alive: tensors are from the node that computes them to the last that reads them.

    What a delegate is given is there from its beginning to the last reader, what it yields to its end. A reshaped
    tensor lies where it lay before.
    """
    peak: Peak | None = None
    for node_block in dict.fromkeys(node.parent for node in nodes):
        assert isinstance(node_block, Block)
        alive = alive_bytes(steps_of(node_block), given_to(node_block), activation_bytes)
        for op, size in zip(node_block.ops, alive, strict=True):
            if isinstance(op, xnnpack.NodeOp) and (peak is None or size > peak.bytes):
                peak = Peak(size, _name(op), format_location(op.location))
    return peak


def _nodes(function: FuncOp, ctx: XirContext, unknown: Counter[str]) -> Iterator[xnnpack.NodeOp]:
    """The nodes of a function's subgraphs at their largest sizes; what is outside is counted as unknown."""
    sizes = ctx.analyses.get(SymbolicSizes, function)
    backend = XnnpackBackend()
    for op in function.body.walk():
        if isinstance(op, xnnpack.SubgraphOp):
            largest = at_bounds(op, backend, sizes)
            yield from ops_in(op if largest is None else largest, xnnpack.NodeOp)
        elif isinstance(op, EdgeOp) and not computes_sizes(op):
            unknown[op.name] += 1


def _name(node: Operation) -> str:
    kind = node.member_key if isinstance(node, xnnpack.NodeOp) else None
    name = node.name.removeprefix("xnnpack.")
    return f"{name} {kind}" if isinstance(kind, str) else name
