"""The picture of a module: which ops are nodes, which hold others, and which value goes where.

Constants are left out; what reads them tells them. Functions, methods of a file and delegates are boxes. In a file an
instruction reads what was written last, and a delegate's box is its first call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from xir.dialects.pte import (
    ChainOp,
    DelegateCallOp,
    DelegateOp,
    ExecutionPlanOp,
    InstructionOp,
    KernelCallOp,
    MoveOp,
    NamedDataOp,
    ProgramOp,
)
from xir.dialects.pte.values import TensorListOp, ValueOp
from xir.explore.layout import Layout, Point, layered
from xir.explore.snapshot import is_constant

TITLE = 28.0
"""The height of a box's title."""
MARGIN = 16.0

Key = Operation | BlockArgument


@dataclass(eq=False)
class Node:
    """An op or an argument; one with nodes inside is a box."""

    key: Key
    parent: Node | None
    order: int
    """Of all nodes, in the order in which things run."""
    inner: list[Node] = field(default_factory=list["Node"])
    edges: list[tuple[Node, Node, SSAValue]] = field(default_factory=list[tuple["Node", "Node", SSAValue]])
    """Between the nodes inside."""


@dataclass(frozen=True)
class Placed:
    """A node with its place in the whole picture, in pixels."""

    node: Node
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Edge:
    """A value on its way from one node to another."""

    source: Node
    target: Node
    value: SSAValue
    path: list[Point]


@dataclass(frozen=True)
class Picture:
    """A module's graph, ready to be drawn; a box comes before what is in it."""

    nodes: list[Placed]
    edges: list[Edge]
    width: float
    height: float


def draw(module: ModuleOp, size: Callable[[Key], Point]) -> Picture:
    """The picture of a module, in which a node that is no box has the size that `size` says."""
    root = _Builder().build(module)
    picture = Picture([], [], 0.0, 0.0)
    layouts: dict[Node, tuple[Layout, Point]] = {}
    width, height = _measure(root, size, layouts)
    _put(root, -MARGIN, -TITLE, layouts, picture)
    return Picture(picture.nodes, picture.edges, width - 2 * MARGIN, height - TITLE - MARGIN)


# --- Nodes -------------------------------------------------------------------------------------------------------


class _Builder:
    def __init__(self) -> None:
        self._nodes: dict[Key, Node] = {}
        self._order = count()

    def build(self, module: ModuleOp) -> Node:
        root = self._new(module, None)
        for block in module.body.blocks:
            self._block(block, root)
        return root

    def _new(self, key: Key, parent: Node | None) -> Node:
        node = self._nodes[key] = Node(key, parent, next(self._order))
        if parent is not None:
            parent.inner.append(node)
        return node

    def _block(self, block: Block, parent: Node) -> None:
        for argument in block.args:
            self._new(argument, parent)
        for op in block.ops:
            if is_constant(op) or isinstance(op, NamedDataOp):
                continue
            if isinstance(op, ProgramOp):
                for plan in op.plans:
                    self._plan(plan, parent)
                continue
            node = self._new(op, parent)
            self._regions(op, node)
            for value in op.operands:
                source = value.owner if isinstance(value, OpResult) else value
                if isinstance(source, Key):
                    self._connect(source, node, value)

    def _regions(self, op: Operation, node: Node) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._block(block, node)

    def _connect(self, source: Key, target: Node, value: SSAValue) -> None:
        """An edge between the two boxes or nodes that stand side by side and hold source and target."""
        found = self._nodes.get(source)
        if found is None:
            return
        above = {id(each.parent): each for each in _outwards(found)}
        for each in _outwards(target):
            beside = above.get(id(each.parent))
            if beside is not None and each.parent is not None:
                # A graph without order, or a loop, may read what comes later: that edge is not drawn.
                if beside is not each and beside.order < each.order:
                    each.parent.edges.append((beside, each, value))
                return

    # A method of a file.

    def _plan(self, plan: ExecutionPlanOp, parent: Node) -> None:
        box = self._new(plan, parent)
        delegates = {op.sym_name.data: op for op in plan.delegates}
        written: dict[SSAValue, Node] = {}
        for value in plan.signature.inputs:
            if value not in written and isinstance(value.owner, Operation):
                written[value] = self._new(value.owner, box)
        for chain in plan.chains:
            for op in chain.instructions:
                node = self._new(op, box)
                called = None
                if isinstance(op, DelegateCallOp):
                    called = delegates.get(op.delegate.root_reference.data)
                    if called is not None and called not in self._nodes:
                        self._nodes[called] = node
                        self._delegate(called, node)
                reads, writes = _accesses(op, called, written)
                for value in reads:
                    self._read(written, value, node, box)
                for value in writes:
                    written[value] = node
        signature = self._new(plan.signature, box)
        for value in plan.signature.outputs:
            self._read(written, value, signature, box)

    def _delegate(self, delegate: DelegateOp, node: Node) -> None:
        if delegate.graph is not None:
            for region in delegate.graph.regions:
                for block in region.blocks:
                    self._block(block, node)

    def _read(self, written: dict[SSAValue, Node], value: SSAValue, node: Node, box: Node) -> None:
        source = written.get(value)
        if source is not None and source is not node:
            box.edges.append((source, node, value))


def _outwards(node: Node) -> Iterator[Node]:
    """The node and the boxes around it."""
    while True:
        yield node
        if node.parent is None:
            return
        node = node.parent


def _accesses(
    op: InstructionOp, called: DelegateOp | None, written: dict[SSAValue, Node]
) -> tuple[list[SSAValue], list[SSAValue]]:
    """The values that an instruction reads, and those that it writes."""
    if isinstance(op, KernelCallOp):
        # What the kernel returns comes last: its out tensor, or a list of them.
        writes = list(_tensors(op.args[-1:]))
        in_place = op.operator[0].endswith("_")
        return [value for value in _tensors(op.args[:-1]) if in_place or value not in writes], writes
    if isinstance(op, DelegateCallOp):
        if called is not None and called.graph is not None:
            inputs = len(called.graph.operands)
            return list(op.args[:inputs]), list(op.args[inputs:])
        return [v for v in op.args if v in written], [v for v in op.args if v not in written]
    if isinstance(op, MoveOp):
        return [op.move_from], [op.move_to]
    return list(op.operands), []


def _tensors(values: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """The values, and instead of a list of tensors those in it."""
    for value in values:
        if isinstance(value.owner, TensorListOp):
            yield from value.owner.operands
        else:
            yield value


def is_structure(op: Operation) -> bool:
    """Whether an op has no node because it only holds others, or is data."""
    inside = op.parent_op()
    return (
        is_constant(op)
        or isinstance(op, ModuleOp | ProgramOp | NamedDataOp | DelegateOp | ChainOp | ValueOp)
        or isinstance(inside, DelegateOp)
    )


# --- Places ------------------------------------------------------------------------------------------------------


def _measure(node: Node, size: Callable[[Key], Point], layouts: dict[Node, tuple[Layout, Point]]) -> Point:
    """Lay out what is in a node; the node's size."""
    if not node.inner:
        return size(node.key)
    sizes = [_measure(inner, size, layouts) for inner in node.inner]
    number = {inner: index for index, inner in enumerate(node.inner)}
    layout = layered(sizes, [(number[source], number[target]) for source, target, _ in node.edges])
    least, _ = size(node.key)
    width = max(layout.width + 2 * MARGIN, least)
    layouts[node] = layout, (width, layout.height + TITLE + MARGIN)
    for inner, inner_size in zip(node.inner, sizes, strict=True):
        layouts.setdefault(inner, (Layout([], [], 0.0, 0.0), inner_size))
    return layouts[node][1]


def _put(node: Node, x: float, y: float, layouts: dict[Node, tuple[Layout, Point]], picture: Picture) -> None:
    """Put what is in a node that stands at (x, y) into the picture."""
    layout, (width, _) = layouts.get(node, (Layout([], [], 0.0, 0.0), (0.0, 0.0)))
    x, y = x + (width - layout.width) / 2, y + TITLE
    for inner, (left, top) in zip(node.inner, layout.positions, strict=False):
        inner_width, inner_height = layouts[inner][1]
        picture.nodes.append(Placed(inner, x + left, y + top, inner_width, inner_height))
        _put(inner, x + left, y + top, layouts, picture)
    for (source, target, value), path in zip(node.edges, layout.paths, strict=False):
        picture.edges.append(Edge(source, target, value, [(x + left, y + top) for left, top in path]))
