"""An `ExportedProgram` as a module of edge ops: its inputs, outputs and buffers, and its nodes by `steps.py`."""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type and schema begin with an underscore.

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind
from torch.fx import Graph, Node
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    LocationAttr,
    ModuleOp,
    NoneType,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region, SSAValue

from xir.dialects import edge
from xir.dialects.edge.attributes import int_array
from xir.importer.training import warn_of_training
from xir.ir.annotations import DIM_ORDER, IN_SPEC, OUT_SPEC, VALUE
from xir.ir.constants import DenseAttr, dense_of_storage, make_dense
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import Fixed, fixed_attribute
from xir.ir.location import name_location, place

from .aliasing import (
    Operator,
    functional_form,
    mutated_argument,
    needs_functionalization,
    overwritten_placeholders,
)
from .bounds import bounded, input_bounds
from .complex_numbers import ComplexValue, is_complex
from .decompose import functionalize
from .dim_order import in_memory
from .dtypes import ELEMENT_TYPES, import_type, number_type, numpy_view
from .known_numbers import with_known_numbers
from .signature import (
    BUFFER_UPDATES,
    check_kinds,
    constant_tensor,
    has_wrapped_tensors,
    input_names,
    mutation_error,
    tree_text,
    with_changed_inputs,
)
from .source import name_hint, node_location
from .static_values import memory_of, static_values
from .steps import StepImporter

LARGE_BUFFER = 1 << 16
"""From how many bytes on a buffer of zeros is no copy of them."""


def import_exported_program(
    program: ExportedProgram,
    ctx: XirContext,
    entry: str = "forward",
    max_size: int | None = None,
    *,
    return_changed_inputs: bool = False,
) -> ModuleOp:
    """Import a program as `func.func @entry`, its weights into the context's blob store without copying them.

    Numbers, None and texts among the program's inputs are what it was exported for: arguments that nothing reads.

    `max_size` bounds the open sizes that the program has no bound for.

    Buffers that the program writes to are `edge.mutable_buffer`s, which begin as the program has them. With
    `return_changed_inputs`, what inputs become that the program writes to are further outputs, in the inputs' order.

    DiagnosticError, at the line of the user's Python, where the program changes an input otherwise, has shapes that
    depend on data, or calls what has no form in the IR.
    """
    return import_with_nodes(program, ctx, entry, max_size, return_changed_inputs=return_changed_inputs).module


@dataclass(frozen=True)
class Imported:
    """A module, and which of its values the nodes of the program became."""

    module: ModuleOp
    program: ExportedProgram
    """The program that was walked: the one given, or one that torch has made functional."""
    values: Mapping[Node, Any]
    """The SSA value of each node, a list of them for several results. Nodes that others overwrite are left out."""


def import_with_nodes(
    program: ExportedProgram,
    ctx: XirContext,
    entry: str = "forward",
    max_size: int | None = None,
    *,
    return_changed_inputs: bool = False,
) -> Imported:
    """Also returns the map from nodes of the exported graph to values."""
    program = with_known_numbers(program)
    wrapped = _has_higher_order(program.graph) or has_wrapped_tensors(program)
    static = {} if wrapped else static_values(program)
    if wrapped or needs_functionalization(program.graph, static):
        program, static = functionalize(program), {}
    warn_of_training(program, ctx.diagnostics)
    importer = _Importer(program, ctx, entry, static, max_size, return_changed_inputs=return_changed_inputs)
    module = importer.run()
    overwritten = set(importer.renamed.values())
    kept = {node: value for node, value in importer.values.items() if node not in overwritten}
    return Imported(module, program, kept)


def _has_higher_order(graph: Graph) -> bool:
    return any(isinstance(n.target, torch._ops.HigherOrderOperator) for n in graph.nodes)


class _Importer:
    """Imports one program."""

    def __init__(
        self,
        program: ExportedProgram,
        ctx: XirContext,
        entry: str,
        static: Mapping[Node, Any],
        max_size: int | None = None,
        *,
        return_changed_inputs: bool = False,
    ):
        self.program = program
        self.static = static
        """The nodes whose values are known."""
        self.steps = StepImporter(ctx, entry, bounded(program.range_constraints, max_size))
        self.entry = entry
        self.values: dict[Node, Any] = {}
        """What nodes became, as `StepImporter` has it."""
        self.constants: dict[Node, tuple[str, str]] = {}
        """Kind and name of the parameters, buffers and inputs."""
        self.buffers: dict[Node, edge.MutableBufferOp] = {}
        """The placeholders of buffers that the program writes to."""
        self.return_changed_inputs = return_changed_inputs
        self.changed: dict[Node, SSAValue] = {}
        """The placeholders of inputs that the program writes to, as the caller has given them."""
        self.renamed: dict[Node, Node] = {}
        """In-place results, each to the node that it has overwritten."""
        self.names: dict[Node, list[Node]] = {}
        """The other way round: the in-place results that mean the same as a node."""

    def run(self) -> ModuleOp:
        nodes = {node.name: node for node in self.program.graph.nodes}
        check_kinds(self.program, lambda name: node_location(nodes[name]), inputs_change=self.return_changed_inputs)
        arg_attrs = self._import_inputs()
        for node in self.program.graph.nodes:
            self._import_node(node)
        results = self._import_outputs(nodes)
        changed = self._changed_inputs(nodes)
        self._update_buffers(nodes)
        self.steps.block.add_op(ReturnOp(*results, *changed))
        func = FuncOp(
            self.entry,
            ([a.type for a in self.steps.block.args], [r.type for r in (*results, *changed)]),
            Region(self.steps.block),
            arg_attrs=ArrayAttr(arg_attrs) if any(a.data for a in arg_attrs) else None,
        )
        func.attributes[IN_SPEC] = StringAttr(tree_text(self.program.call_spec.in_spec))
        outputs = tree_text(self.program.call_spec.out_spec)
        func.attributes[OUT_SPEC] = StringAttr(
            with_changed_inputs(outputs, len(results), len(changed)) if changed else outputs
        )
        return ModuleOp([func, *self.steps.functions.values()])

    def _import_inputs(self) -> list[DictionaryAttr]:
        """Constants for weights, block arguments for the user's inputs; the arguments' attributes."""
        attributes: list[DictionaryAttr] = []
        signature, names = self.program.graph_signature, input_names(self.program)
        written = overwritten_placeholders(self.program.graph, self.static)
        updated = {spec.target for spec in signature.output_specs if spec.kind in BUFFER_UPDATES}
        written_in_signature = {
            spec.target for spec in signature.output_specs if spec.kind is OutputKind.USER_INPUT_MUTATION
        }
        placeholders = [n for n in self.program.graph.nodes if n.op == "placeholder"]
        for node, spec in zip(placeholders, signature.input_specs, strict=True):
            if spec.kind is not InputKind.USER_INPUT:
                self.constants[node] = (spec.kind.name, spec.target or node.name)
                if node in written or spec.target in updated:
                    self.values[node] = self._mutable_buffer(node, spec)
                elif self._is_read(node) or any(
                    o.arg.name == node.name for o in self.program.graph_signature.output_specs
                ):
                    self.values[node] = self.steps.constant(
                        constant_tensor(self.program, spec), spec.target or node.name
                    )
                continue
            self.constants[node] = (spec.kind.name, node.name)
            if isinstance(spec.arg, ConstantArgument):
                attributes.append(self._fixed_input(node, spec.arg.value))
                continue
            value, order = in_memory(node.meta["val"])
            location, name = name_location(node.name), names.get(node.name, node.name)
            where = place(f"input '{name}'")
            if is_complex(value):
                raise DiagnosticError(
                    where,
                    f"input '{name}' is complex, which no file can say: take torch.view_as_real(x), and make it "
                    "complex in the program (torch.view_as_complex)",
                )
            argument = self.steps.block.insert_arg(import_type(value, where), len(self.steps.block.args))
            argument.location = location
            argument.name_hint = name_hint(node.name)
            bounds = input_bounds(name, value, self.steps.ranges, where)
            layout = {} if order is None else {DIM_ORDER: int_array(order)}
            attributes.append(DictionaryAttr({**bounds.data, **layout}))
            self.values[node] = argument if order is None else self._in_order(argument, order, location)
            if self.return_changed_inputs and (node in written or node.name in written_in_signature):
                self.changed[node] = self.values[node]
        return attributes

    def _fixed_input(self, node: Node, value: Fixed) -> DictionaryAttr:
        """An input that the program was exported for: its nodes hold the value. The argument's attributes."""
        type = NoneType() if value is None or isinstance(value, str) else number_type(value)
        argument = self.steps.block.insert_arg(type, len(self.steps.block.args))
        argument.location = name_location(node.name)
        argument.name_hint = name_hint(node.name)
        return DictionaryAttr({VALUE: fixed_attribute(value)})

    def _in_order(self, argument: SSAValue, order: tuple[int, ...], location: LocationAttr) -> SSAValue:
        """An argument as the program sees it."""
        undone = tuple(order.index(dim) for dim in range(len(order)))
        permute = edge.OPS["edge.permute"].build_from({"self": argument, "dims": undone}, location=location)
        return self.steps.add(permute).results[0]

    def _import_outputs(self, nodes: Mapping[str, Node]) -> list[SSAValue]:
        results: list[SSAValue] = []
        changes = (OutputKind.USER_INPUT_MUTATION, *BUFFER_UPDATES)
        outputs = (spec for spec in self.program.graph_signature.output_specs if spec.kind not in changes)
        for index, spec in enumerate(outputs):
            if isinstance(spec.arg, ConstantArgument):
                results.append(self._constant_output(spec.arg.value, f"output #{index}"))
                continue
            value = self.values[nodes[spec.arg.name]]
            if isinstance(value, bool | int | float):
                value = self._constant_output(value, f"output #{index}")
            if isinstance(value, ComplexValue):
                raise DiagnosticError(
                    node_location(nodes[spec.arg.name]),
                    f"output #{index} is complex, which no file can say: return torch.view_as_real(x)",
                )
            results.append(value)
        return results

    def _constant_output(self, value: object, name: str) -> SSAValue:
        """What the program returns in any case: None, or a number, as the element of a constant.

        DiagnosticError for anything else.
        """
        location = name_location(name)
        if value is None:
            return self.steps.add(edge.NoneOp(location)).results[0]
        if not isinstance(value, bool | int | float):
            raise DiagnosticError(
                place(name), f"{name} is the constant {value!r}: return tensors, numbers and None only"
            )
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise DiagnosticError(place(name), f"{name} is the constant {value}, which has more than 64 bits")
        constant = make_dense(np.array(value), self.steps.ctx, "number", number_type(value))
        tensor = self.steps.add(edge.ConstantOp(constant, location)).results[0]
        op_class = edge.op("_local_scalar_dense")
        return self.steps.add(op_class.build_from({"self": tensor}, [number_type(value)], location)).results[0]

    def _mutable_buffer(self, node: Node, spec: InputSpec) -> SSAValue:
        """A buffer that the program writes to. Its initial value is copied: the model may run meanwhile."""
        tensor, name = constant_tensor(self.program, spec), spec.target or node.name
        location = name_location(name)
        for other in self.program.graph_signature.input_specs:
            if other.kind is InputKind.USER_INPUT or other.target in (None, spec.target):
                continue
            if memory_of(tensor) == memory_of(constant_tensor(self.program, other)):
                raise DiagnosticError(
                    place(f"buffer '{name}'"),
                    f"'{name}' is written to and shares its memory with '{other.target}': give each memory of its own "
                    "(buffer.clone())",
                )
        elements = self._zeros(tensor, name) or self.steps.elements(tensor.clone(), name)
        op = self.buffers[node] = edge.MutableBufferOp(name, elements, location)
        return self.steps.add(op).results[0]

    def _zeros(self, tensor: torch.Tensor, name: str) -> DenseAttr | None:
        """A tensor of zeros that is worth it, such as a cache, as one number; None for others."""
        if tensor.dtype not in ELEMENT_TYPES or tensor.is_complex() or tensor.nbytes < LARGE_BUFFER:
            return None
        array = numpy_view(tensor)
        if not array.flags.c_contiguous or array.reshape(-1).view(np.uint8).any():
            return None  # -0.0 has a bit that is not 0
        zeros = np.broadcast_to(np.zeros((), array.dtype), array.shape)
        return dense_of_storage(zeros, ELEMENT_TYPES[tensor.dtype], self.steps.ctx, name)

    def _changed_inputs(self, nodes: Mapping[str, Node]) -> list[SSAValue]:
        """What inputs become: operators have written to them, or the signature names their new values."""
        after = {node: self.values[node] for node in self.changed}
        for spec in self.program.graph_signature.output_specs:
            if spec.kind is OutputKind.USER_INPUT_MUTATION:
                after[nodes[spec.target or ""]] = self.values[nodes[spec.arg.name]]
        for node, value in after.items():
            _check_written(node.name, value, self.changed[node], name_location(node.name))
        return list(after.values())

    def _update_buffers(self, nodes: Mapping[str, Node]) -> None:
        """What buffers hold after a call: operators have written to them, or the signature names their new values."""
        after = {node: self.values[node] for node in self.buffers}
        by_target = {self.constants[node][1]: node for node in self.buffers}
        for spec in self.program.graph_signature.output_specs:
            if spec.kind in BUFFER_UPDATES:
                after[by_target[spec.target or ""]] = self.values[nodes[spec.arg.name]]
        for node, value in after.items():
            buffer = self.buffers[node]
            _check_written(buffer.buffer.data, value, buffer.result, buffer.location)
            if value is not buffer.result:
                self.steps.add(edge.UpdateBufferOp(buffer.result, value, buffer.location))

    def _is_read(self, node: Node) -> bool:
        """Whether a node that is imported needs this one."""
        return any(user not in self.static for user in node.users)

    # Nodes

    def _import_node(self, node: Node) -> None:
        if node in self.static:
            if self._is_read(node):
                value = self.static[node]
                is_tensor = isinstance(value, torch.Tensor)
                self.values[node] = self.steps.constant(value, node.name) if is_tensor else value
            return
        match node.op:
            case "placeholder" | "output":
                return
            case "get_attr":
                value = operator.attrgetter(str(node.target))(self.program.graph_module)
                if isinstance(value, torch.Tensor):
                    self.values[node] = self.steps.constant(value, str(node.target))
                return
            case "call_function":
                if isinstance(node.target, Operator):
                    self._import_call(node)
                elif isinstance(node.target, torch._ops.HigherOrderOperator):
                    self.steps.import_control_flow(node, self.program.graph_module, self.values)
                else:
                    self.steps.import_python(node, node_location(node), self.values)
            case _:
                if node.users:
                    raise DiagnosticError(node_location(node), f"a {node.op} of '{node.target}' has no form here")

    def _import_call(self, node: Node) -> None:
        target = node.target
        assert isinstance(target, Operator)
        if target._schema.is_mutable:
            if not target._schema.returns:
                raise self._mutation(node)
            target = self._overwrite(node, target)
        self.steps.import_operator(node, target, node.meta.get("val", ()), node_location(node), self.values)
        if (base := self.renamed.get(node)) is not None:
            for name in (base, *self.names[base]):
                self.values[name] = self.values[node]

    def _overwrite(self, node: Node, target: Operator) -> Operator:
        """The functional form of an in-place operator, whose result takes the operand's place."""
        written, form = mutated_argument(node), functional_form(target)
        if written is None or form is None:
            raise self._mutation(node)
        base = self.renamed.get(written, written)
        if base in self.constants and base not in self.buffers and base not in self.changed:
            raise self._mutation(node)
        self.renamed[node] = base
        self.names.setdefault(base, []).append(node)
        return form

    def _mutation(self, node: Node) -> DiagnosticError:
        written = mutated_argument(node)
        base = written and self.renamed.get(written, written)
        kind, name = self.constants.get(base, ("value", base.name)) if base is not None else ("value", "?")
        kind = {"USER_INPUT": "input"}.get(kind, kind.lower().replace("_", " "))
        return mutation_error(node_location(node), kind, name, str(node.target))


def _check_written(name: str, value: SSAValue, old: SSAValue, location: LocationAttr) -> None:
    """DiagnosticError if a buffer or input would become another type, as torch's functionalisation loses conversions:
    `row.copy_(wider)` of a view."""
    if value.type != old.type:
        raise DiagnosticError(
            location,
            f"what is written to '{name}' became a {value.type} in torch, expected {old.type}: "
            "convert it first (x.to(buffer.dtype))",
        )
