"""What a profile counts: the nodes of a program's delegates, and its instructions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from xir.dialects.delegate import GraphOp
from xir.dialects.pte import ExecutionPlanOp, ProgramOp
from xir.explore.profile import Counted, ProfiledNode, called
from xir.explore.snapshot import is_constant, label_of, symbol_of
from xir.ir.functions import methods_of
from xir.ir.location import origins_of
from xir.transforms.analysis.cost import tensor_bytes


@dataclass(frozen=True)
class Runnable:
    """The parts of a module that take time."""

    methods: list[str]
    nodes: dict[tuple[str, int, int], Operation]
    """By method, and number of the delegate and of the node in it."""
    calls: dict[tuple[str, int], Operation]
    """By method and number of the instruction."""

    def counted(self) -> Counted:
        """What a profile of it has."""
        nodes = {key: _node(op) for key, op in self.nodes.items()}
        return Counted(self.methods, nodes, {key: called(label_of(op)) for key, op in self.calls.items()})


def _node(op: Operation) -> ProfiledNode:
    return ProfiledNode(_operators(op), _bytes(op.results), _bytes(_constants(op)))


def _operators(op: Operation) -> frozenset[str]:
    """The ATen operators that a node computes, as profiles name them."""
    return frozenset(origin.op.removeprefix("aten::") for origin in origins_of(op.location) if origin.op)


def _constants(op: Operation) -> Iterable[SSAValue]:
    """The constants that a node reads, each once."""
    return [each for each in dict.fromkeys(op.operands) if isinstance(each, OpResult) and is_constant(each.owner)]


def _bytes(values: Iterable[SSAValue]) -> int | None:
    """What the values take, as profiles count it; None if that is open."""
    sizes = [tensor_bytes(value.type) for value in values]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def runnable(module: ModuleOp) -> Runnable:
    """The parts of a module that a profile counts, by how it counts them."""
    found = Runnable([], {}, {})
    methods = [plan for op in module.body.block.ops if isinstance(op, ProgramOp) for plan in op.plans]
    methods += methods_of(module)
    for method in methods:
        name = symbol_of(method)
        found.methods.append(name)
        if isinstance(method, ExecutionPlanOp):
            graphs = [delegate.graph for delegate in method.delegates]
            chains = list(method.chains)[:1]
            found.calls.update({(name, index): op for chain in chains for index, op in enumerate(chain.instructions)})
        else:
            graphs = [op for op in method.walk() if isinstance(op, GraphOp)]
        for number, graph in enumerate(graphs):
            # The last is the terminator.
            inside = [] if graph is None else [op for op in graph.block.ops if not is_constant(op)][:-1]
            found.nodes.update({(name, number, index): op for index, op in enumerate(inside)})
    return found
