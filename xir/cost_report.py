"""The cost report: what a program is predicted to take, node by node, by a cost profile and without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from xir.backend.registry import backend_named
from xir.cost.profile import CostProfile, threads_text
from xir.cost.work import Work
from xir.dialects import xnnpack
from xir.dialects.edge import EdgeOp
from xir.dialects.xnnpack.base import shape_of
from xir.files import size_text
from xir.ir.annotations import COMPOSED
from xir.ir.context import XirContext
from xir.ir.location import format_location, origins_of
from xir.ir.walking import functions_in, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.delegate.forming.graph_checks import at_bounds
from xir.transforms.delegate.forming.marks import computes_sizes
from xir.transforms.xnnpack.analysis.liveness import activation_bytes, alive_bytes, given_to, steps_of, stored
from xir.transforms.xnnpack.analysis.node_costs import is_copied, looked_up, work_of
from xir.transforms.xnnpack.analysis.tables import tables

WorkOf = Callable[[xnnpack.NodeOp], Work | None]
"""What a node does; None for one that is not predicted."""


@dataclass(frozen=True)
class Line:
    """A node, or the nodes that compute one op together."""

    op: str
    """The node's name, without its dialect, and its operator; how the op is composed, if it is."""
    nodes: int
    microseconds: float
    place: str
    """The source line, as diagnostics write it."""
    names: tuple[str, ...] = ()
    """The nodes of the exported graph that it comes from."""


@dataclass(frozen=True)
class Peak:
    """Where most bytes of tensors are needed at once, in a delegate: constants apart, and as if none had gaps."""

    bytes: int
    op: str
    """The node that runs then."""
    place: str


@dataclass(frozen=True)
class MethodCost:
    """The predicted time of one method, with every dynamic size at its largest."""

    method: str
    lines: tuple[Line, ...]
    """The nodes, in the order in which they run."""
    unknown: tuple[tuple[str, int], ...]
    """The ops without a prediction: name and number."""
    peak: Peak | None = None
    """Where a delegate needs the most memory for tensors; None if there is no node."""

    @property
    def microseconds(self) -> float:
        """The time of all predicted nodes."""
        return sum(line.microseconds for line in self.lines)


@dataclass(frozen=True)
class CostReport:
    """The predicted times of a program's methods."""

    processor: str
    methods: tuple[MethodCost, ...]
    threads: int = 1
    """That the times are predicted on."""

    @property
    def microseconds(self) -> float:
        """The time of all methods together."""
        return sum(method.microseconds for method in self.methods)

    def text(self) -> str:
        """The report as text, the longest node first."""
        return "\n".join(line for method in self.methods for line in self._table(method)) + "\n"

    def _table(self, method: MethodCost) -> Iterator[str]:
        total = method.microseconds
        yield f"{method.method}: {total / 1000:.2f} ms predicted on {threads_text(self.threads)} of {self.processor}"
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
    """Predict the time of a delegated program, a result of `EdgeProgram.to_backend`."""
    methods = tuple(_method(each, ctx, profile) for each in functions_in(module))
    return CostReport(profile.processor, methods, profile.threads)


def _method(function: FuncOp, ctx: XirContext, profile: CostProfile) -> MethodCost:
    unknown: Counter[str] = Counter()
    nodes = list(_nodes(function, ctx, unknown))
    return nodes_cost(function.sym_name.data, nodes, profile, unknown)


def nodes_cost(
    method: str,
    nodes: Sequence[xnnpack.NodeOp],
    profile: CostProfile,
    unknown: Counter[str] | None = None,
    *,
    work: WorkOf = work_of,
) -> MethodCost:
    """The predicted time of a method's nodes, whose sizes are known. `unknown` counts its other ops, `work` tells what
    a node does."""
    unknown = Counter(unknown)
    lines: dict[tuple[object, ...], Line] = {}
    for index, step in enumerate(_timed(list(_steps(nodes, work)))):
        if step.work is None or not profile.knows(step.work):
            unknown[step.node.name] += 1
            continue
        took = profile.nanoseconds(step.work)
        form = step.node.attributes.get(COMPOSED)
        place = format_location(step.node.location)
        key: tuple[object, ...] = (form, place) if isinstance(form, StringAttr) else (index,)
        op = form.data if isinstance(form, StringAttr) else _name(step.node)
        names = tuple(origin.name for origin in origins_of(step.node.location) if origin.name)
        before = lines.get(key, Line(op, 0, 0.0, place, names))
        lines[key] = replace(before, nodes=before.nodes + 1, microseconds=before.microseconds + took / 1e3)
    named = (replace(line, op=f"{line.op}, {line.nodes} nodes") if line.nodes > 1 else line for line in lines.values())
    return MethodCost(method, tuple(named), tuple(sorted(unknown.items())), peak_of(nodes))


@dataclass(frozen=True)
class _Step:
    """What runs at once: a node, or a chain of them that is one table of integers."""

    node: xnnpack.NodeOp
    """Of a chain the one that computes first."""
    work: Work | None
    reads: Sequence[SSAValue]
    writes: Sequence[SSAValue]


def _steps(nodes: Sequence[xnnpack.NodeOp], work_of: WorkOf) -> Iterator[_Step]:
    """What takes time. A node of a chain runs by itself only if others read its result."""
    chains = [chain for block in _blocks(nodes) for chain in tables(block)]
    inside = {node for chain in chains for node in chain}
    ends = {chain[-1]: chain for chain in chains}
    for node in nodes:
        if isinstance(node, xnnpack.StaticReshapeOp) and not is_copied(node):
            continue  # the result lies where its operand does
        if (chain := ends.get(node)) is not None:
            yield _Step(chain[1], looked_up(shape_of(node.results[0])), chain[0].operands, node.results)
        elif node not in inside or any(use.operation not in inside for use in node.results[0].uses):
            yield _Step(node, work_of(node), node.operands, node.results)


def _timed(steps: Sequence[_Step]) -> Iterator[_Step]:
    """The same, with the bytes moved since what is read was last read or written; weights in the execution before."""
    total = 0
    read: dict[SSAValue, int] = {}
    for step in steps:
        total += _moved(step)
        read |= dict.fromkeys(_constants(step), total)
    touched: dict[SSAValue, int] = {value: at - total for value, at in read.items()}
    moved = 0
    for step in steps:
        if (work := step.work) is not None:
            constants = _constants(step)
            tensors = {stored(value) for value in step.reads} - constants
            since = moved - min((touched.get(value, 0) for value in tensors), default=moved)
            moved += _moved(step)
            apart = max((moved - touched[value] for value in constants), default=0)
            touched |= dict.fromkeys((*tensors, *constants, *step.writes), moved)
            step = replace(step, work=replace(work, since=since, apart=apart))
        yield step


def _moved(step: _Step) -> int:
    """The bytes that it reads and writes."""
    return 0 if step.work is None else step.work.traffic + step.work.weights


def _constants(step: _Step) -> set[SSAValue]:
    """Those that it reads."""
    return {value for value in step.reads if isinstance(value.owner, xnnpack.ConstantOp)}


def _blocks(nodes: Sequence[xnnpack.NodeOp]) -> list[Block]:
    """The graphs that nodes are in."""
    return list(dict.fromkeys(block for node in nodes if (block := node.parent) is not None))


def peak_of(nodes: Sequence[xnnpack.NodeOp]) -> Peak | None:
    """The node with most bytes alive: tensors are from the node that computes them to the last that reads them.

    What a delegate is given is there from its beginning to the last reader, what it yields to its end. A reshaped
    tensor lies where it lay before.
    """
    peak: Peak | None = None
    for block in _blocks(nodes):
        alive = alive_bytes(steps_of(block), given_to(block), activation_bytes)
        for op, size in zip(block.ops, alive, strict=True):
            if isinstance(op, xnnpack.NodeOp) and (peak is None or size > peak.bytes):
                peak = Peak(size, _name(op), format_location(op.location))
    return peak


def _nodes(function: FuncOp, ctx: XirContext, unknown: Counter[str]) -> Iterator[xnnpack.NodeOp]:
    """The nodes of a function's subgraphs at their largest sizes; what is outside is counted as unknown."""
    sizes = ctx.analyses.get(SymbolicSizes, function)
    backend = backend_named("xnnpack")
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
