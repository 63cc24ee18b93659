"""What the inputs and outputs of an exported program are."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._pytree import TreeSpec
from xdsl.dialects.builtin import LocationAttr

from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import place


def constant_tensor(program: ExportedProgram, spec: InputSpec) -> torch.Tensor:
    """The parameter, buffer or lifted constant that an input stands for."""
    target = spec.target
    assert target is not None
    value = program.state_dict.get(target)
    if value is None:
        value = program.constants.get(target)
    if not isinstance(value, torch.Tensor):
        raise DiagnosticError(
            place(f"constant '{target}'"), f"it is a {type(value).__name__}; only tensors can be constants"
        )
    return value


def input_names(program: ExportedProgram) -> Mapping[str, str]:
    """What the user calls each input, by the name of its node: `x[0]` or `x['mask']` for a part of the argument `x`.

    Nodes are left out whose argument torch has not kept.
    """
    spec, names = program.call_spec.in_spec, program.module_call_graph[0].signature
    arguments = None if names is None else names.forward_arg_names
    nodes = [each.arg.name for each in program.graph_signature.input_specs if each.kind is InputKind.USER_INPUT]
    if spec is None or arguments is None or spec.num_leaves != len(nodes):
        return {}
    leaves, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(nodes, spec))
    found: dict[str, str] = {}
    for (_, argument, *inside), node in leaves:  # the first key says whether it is of args or of kwargs
        if isinstance(argument, pytree.SequenceKey):
            found[node] = arguments[argument.idx] + pytree.keystr(tuple(inside))
        elif isinstance(argument, pytree.MappingKey):
            found[node] = str(argument.key) + pytree.keystr(tuple(inside))
    return found


def has_wrapped_tensors(program: ExportedProgram) -> bool:
    """Whether some weights are of a tensor class that computes with several tensors, as torchao's quantised ones do."""
    return any(map(is_traceable_wrapper_subclass, (*program.state_dict.values(), *program.constants.values())))


def check_kinds(program: ExportedProgram, locate: Any, *, inputs_change: bool) -> None:
    """Refuse what a compiled program has no place for: tokens, custom objects, inputs that change unless they may.

    `locate` gives the location of the node of a name.
    """
    for spec in program.graph_signature.input_specs:
        if spec.kind in (InputKind.TOKEN, InputKind.CUSTOM_OBJ):
            name = spec.target or spec.arg.name
            raise DiagnosticError(
                place(f"input '{name}'"), f"input '{name}' is a {spec.kind.name.lower()}; only tensors are supported"
            )
    for spec in program.graph_signature.output_specs:
        if spec.kind is OutputKind.USER_INPUT_MUTATION and not inputs_change:
            raise mutation_error(locate(spec.arg.name), "input", spec.target or "")
        if spec.kind not in (OutputKind.USER_OUTPUT, OutputKind.USER_INPUT_MUTATION, *BUFFER_UPDATES):
            raise DiagnosticError(locate(spec.arg.name), f"output '{spec.arg.name}' is a {spec.kind.name.lower()}")


BUFFER_UPDATES = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
"""Outputs that are what a buffer or parameter becomes."""


def mutation_error(location: LocationAttr, kind: str, name: str, operator: str | None = None) -> DiagnosticError:
    """The program would have to change what is not its own."""
    subject = f"'{operator}'" if operator else "this operation"
    remedy = ", or have its new value as an output, xir.to_edge(..., return_changed_inputs=True)"
    return DiagnosticError(
        location,
        f"{subject} changes {kind} '{name}' in place, and a compiled program changes its buffers alone: "
        f"work on a copy (x.clone()){remedy if kind == 'input' else ''}",
    )


def tree_text(spec: TreeSpec | None) -> str:
    """A pytree in ExecuTorch's notation (extension/pytree/pytree.h): `T2#1#0(T1#1($),D0())`; `$` is a leaf.

    Each container is its letter, its child count, and each child's leaf count. Containers of other types are shown as
    tuples.
    """
    if spec is None or spec.is_leaf():
        return "$"
    children = spec.children()
    letter = {tuple: "T", list: "L", dict: "D"}.get(spec.type, "T")
    counts = "".join(f"#{child.num_leaves}" for child in children)
    texts = [tree_text(child) for child in children]
    if letter == "D":
        keys = [f"'{key}'" if isinstance(key, str) else str(key) for key in spec.context]
        texts = [f"{key}:{text}" for key, text in zip(keys, texts, strict=True)]
    return f"{letter}{len(children)}{counts}({','.join(texts)})"


def with_changed_inputs(text: str, results: int, changed: int) -> str:
    """The pytree of a pair: what the program returns, by its `text`, and its changed inputs."""
    inputs = f"T{changed}{'#1' * changed}({','.join('$' * changed)})"
    return f"T2#{results}#{changed}({text},{inputs})"


def arguments_by_name(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments by the names of the function's parameters, as the keys of `dynamic_shapes` are."""
    return inspect.signature(function).bind(*args, **kwargs).arguments
