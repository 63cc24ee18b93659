"""The integers inside a quantised program: what XNNPACK computes, and what PyTorch makes of the same operands."""

# pyright: reportPrivateUsage=false
# torch's trees are in a module whose name begins with an underscore.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Interpreter, Node
from torch.utils._pytree import tree_map_only

from xir import XnnpackPartitioner, to_edge
from xir.runtime import Method, Runtime

QUANTIZE = torch.ops.quantized_decomposed.quantize_per_tensor.default


def is_quantize(node: Node) -> bool:
    """Whether a node rounds to integers with parameters known before."""
    return node.op == "call_function" and node.target is QUANTIZE


def graph_of(program: ExportedProgram) -> GraphModule:
    """The program's graph without the checks of its inputs."""
    module = program.module()
    assert isinstance(module, GraphModule)
    graph, copies = Graph(), dict[Node, Node]()
    for node in module.graph.nodes:
        if node.op != "call_module":
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return GraphModule(module, graph)


def method_of(program: ExportedProgram) -> Method:
    """The program lowered, in xir's runtime."""
    file = to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer
    return Runtime.get().load_program(file).load_method("forward")


@dataclass
class Agreement:
    """One tensor of integers, as XNNPACK computes it from its own operands and as PyTorch does from the same."""

    name: str
    elements: int = 0
    different: int = 0
    largest: int = 0
    """The largest difference, in steps."""

    def add(self, computed: Tensor, expected: Tensor) -> None:
        """Take in the tensor for one input."""
        distance = (computed.int() - expected.int()).abs()
        self.elements += distance.numel()
        self.different += int((distance > 0).sum())
        self.largest = max(self.largest, int(distance.max()))


class _InStep(Interpreter):
    """Runs the quantised graph in PyTorch; each tensor of integers is compared, and XNNPACK's goes on."""

    def __init__(self, graph: GraphModule, computed: dict[str, Tensor], found: dict[str, Agreement]):
        super().__init__(graph)
        self._computed, self._found = computed, found

    def run_node(self, n: Node) -> Any:
        """XNNPACK's integers, or the node's result."""
        result = super().run_node(n)
        if n.name not in self._computed:
            return result
        computed = self._computed[n.name].reshape(result.shape)
        self._found.setdefault(n.name, Agreement(n.name)).add(computed, result)
        return computed


def agreements(program: ExportedProgram, inputs: Sequence[tuple[Tensor, ...]]) -> list[Agreement]:
    """How far each layer alone is from its form in PyTorch: both get the same integers.

    The program is lowered with all its tensors of integers as further outputs.
    """
    graph, tapped = graph_of(program), graph_of(program)
    taps = [node for node in tapped.graph.nodes if is_quantize(node)]
    (output,) = tapped.graph.find_nodes(op="output")
    outputs = output.args[0]
    output.args = ((*outputs, *taps),)
    tapped.recompile()
    method = method_of(torch.export.export(tapped, inputs[0]))
    found: dict[str, Agreement] = {}
    with torch.no_grad():
        for sample in inputs:
            results = [torch.as_tensor(each).clone() for each in method.execute(list(sample))]
            computed = dict(zip((tap.name for tap in taps), results[len(outputs) :], strict=True))
            _InStep(graph, computed, found).run(*sample)
    return list(found.values())


def output_step(graph: GraphModule) -> float:
    """The scale of the first output's integers."""
    (output,) = graph.graph.find_nodes(op="output")
    return float(output.args[0][0].args[1])


class InDoublePrecision(Interpreter):
    """Runs a quantised graph with fp64 between conversions: what PyTorch would compute but for its own roundings."""

    def run_node(self, n: Node) -> Any:
        """The node's result."""
        if n.op != "call_function":
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        dtype = torch.float32 if "quantize" in str(n.target) else torch.float64
        args, kwargs = tree_map_only(torch.Tensor, lambda each: _as(each, dtype), (args, kwargs))
        assert callable(n.target)
        return n.target(*args, **kwargs)


def _as(value: Tensor, dtype: torch.dtype) -> Tensor:
    return value.to(dtype) if value.is_floating_point() else value
