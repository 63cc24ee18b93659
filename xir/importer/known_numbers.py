"""Numbers that a program reads of its own constants: known when it is imported.

`x.reshape(self.heads.item(), -1)` reads a buffer that nothing writes to. torch takes the number for one that depends on
data, and sizes with it have no form here. It stands in the buffer, though, so the call is replaced by it, and what is
computed of it is worked out anew.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's schema begin with an underscore.

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from .aliasing import Operator, mutated_argument
from .signature import constant_tensor
from .static_values import evaluate, is_static

_ITEMS = (torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default)


def with_known_numbers(program: ExportedProgram) -> ExportedProgram:
    """The program with the elements of its constants as numbers; itself where it reads none."""
    items = [node for node in program.graph.nodes if node.target in _ITEMS]
    known = _known(program, items) if items else {}
    if not known:
        return program
    module = copy.copy(program.graph_module)
    graph = Graph()
    copied: dict[Node, Node] = {}
    output = graph.graph_copy(program.graph, copied)
    graph.output(output)
    numbers: dict[str, Any] = {}
    for node, number in known.items():
        _replace(copied[node], number, numbers)
    module.graph = graph
    try:
        _propagate(module)
    except Exception:  # whatever torch raises: the program then stays as it is, and is refused for its sizes
        return program
    return ExportedProgram(
        module,
        graph,
        _signature(program, numbers),
        program.state_dict,
        program.range_constraints,
        program.module_call_graph,
        program.example_inputs,
        program.constants,
        verifiers=program.verifiers,
    )


def _signature(program: ExportedProgram, known: Mapping[str, Any]) -> ExportGraphSignature:
    """The program's signature, in which outputs of these names are numbers."""
    signature = program.graph_signature
    outputs = [
        replace(spec, arg=ConstantArgument(spec.arg.name, known[spec.arg.name])) if spec.arg.name in known else spec
        for spec in signature.output_specs
    ]
    return ExportGraphSignature(signature.input_specs, outputs)


def _known(program: ExportedProgram, items: list[Node]) -> dict[Node, Any]:
    """The numbers that items are, of those that depend on constants alone."""
    signature = program.graph_signature
    changes = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)
    written = {spec.target for spec in signature.output_specs if spec.kind in changes}
    targets = (mutated_argument(node) for node in program.graph.nodes if isinstance(node.target, Operator))
    changed = _ancestors(target for target in targets if target is not None)
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    values: dict[Node, Any] = {}
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind is not InputKind.USER_INPUT and spec.target not in written and node not in changed:
            values[node] = None
    constants = {node: spec for node, spec in zip(placeholders, signature.input_specs, strict=True) if node in values}
    known: dict[Node, Any] = {}
    for item in items:
        needed = _ancestors([item])
        if needed & changed:
            continue
        found = {node: constant_tensor(program, constants[node]) for node in needed if node in constants}
        with torch.no_grad():
            for node in (each for each in program.graph.nodes if each in needed):
                if is_static(node, found):
                    found[node] = evaluate(node, found)
        if isinstance(found.get(item), bool | int | float):
            known[item] = found[item]
    return known


def _ancestors(nodes: Iterable[Node]) -> set[Node]:
    """Nodes, and what they are computed of."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found


def _replace(node: Node, number: Any, replaced: dict[str, Any]) -> None:
    """Put a number in the place of a node, and of those that Python computes of it; note them by name."""
    replaced[node.name] = number
    for user in list(node.users):
        user.replace_input_with(node, number)
        if user.op == "call_function" and not user.all_input_nodes and not isinstance(user.target, Operator):
            assert callable(user.target)
            _replace(user, user.target(*user.args, **user.kwargs), replaced)
    node.graph.erase_node(node)


def _propagate(module: GraphModule) -> None:
    """Give the nodes of a graph the shapes that follow from those of its placeholders."""
    inputs = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
    mode = next(value.fake_mode for value in inputs if isinstance(value, FakeTensor))
    with torch.no_grad(), enable_python_dispatcher():
        FakeTensorProp(module, mode).propagate_dont_convert_inputs(*inputs)
