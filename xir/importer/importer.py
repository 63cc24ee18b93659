"""An `ExportedProgram` as a module of edge ops.

There is no code per operator: an operator's arguments are matched by name with its schema. Operators with a row in the
edge dialect stay whole, others are decomposed (`decompose.py`), and what then has no row is `edge.opaque`.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type, schema and dispatch keys begin with an underscore.

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind
from torch.fx import Graph, GraphModule, Node
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseResourceAttr,
    DictionaryAttr,
    LocationAttr,
    ModuleOp,
    NoneType,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge
from xir.dialects.edge.attributes import int_array
from xir.dialects.edge.types import tensor_type
from xir.importer.training import warn_of_training
from xir.ir.annotations import DIM_ORDER, IN_SPEC, OUT_SPEC, VALUE
from xir.ir.constants import DenseAttr, make_dense
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import Fixed, fixed_attribute
from xir.ir.location import name_location

from .aliasing import (
    Operator,
    functional_form,
    is_composite,
    mutated_argument,
    needs_functionalization,
    overwritten_placeholders,
)
from .arguments import by_name, call_of, import_value, out_kernel, overload_for
from .bounds import bounded, input_bounds, result_bounds
from .complex_numbers import ComplexValue, has_rule, is_complex
from .control_flow import body_of, meaning_of, name_of
from .decompose import Decomposer, can_decompose, functionalize, row_of
from .dim_order import in_memory
from .dtypes import ELEMENT_TYPES, import_type, is_open, numpy_view
from .packed_weights import DEQUANTIZE_INT4, import_dequantize_int4
from .signature import (
    BUFFER_UPDATES,
    check_kinds,
    constant_tensor,
    has_wrapped_tensors,
    mutation_error,
    tree_text,
    with_changed_inputs,
)
from .source import node_location
from .static_values import memory_of, static_values

_SYMBOLIC = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.floordiv: "floordiv",
    operator.mod: "mod",
    torch.sym_max: "sym_max",
    torch.sym_min: "sym_min",
}
"""Arithmetic on sizes, by the name of ExecuTorch's kernel (`executorch_prim::add.Scalar`)."""

_COMPARING = {
    operator.eq: "eq",
    operator.ge: "ge",
    operator.gt: "gt",
    operator.le: "le",
    operator.lt: "lt",
}
"""Comparisons of sizes, likewise."""

LARGE_BUFFER = 1 << 16
"""From how many bytes on a buffer of zeros is no copy of them."""

_ASSERTIONS = frozenset(
    f"aten::{name}"
    for name in (
        "_assert_async",
        "_assert_scalar",
        "_assert_tensor_metadata",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
    )
)
"""What a program asserts of its operands, which a compiled one takes for granted."""


def import_exported_program(
    program: ExportedProgram,
    ctx: XirContext,
    entry: str = "forward",
    max_size: int | None = None,
    *,
    return_changed_inputs: bool = False,
) -> ModuleOp:
    """Import a program as `func.func @entry`, its weights into the context's blob store without copying them.

    Numbers among the program's inputs are constants of it, as `torch.export` makes them, and no inputs.

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
    """`import_exported_program`, for who wants to compare the two."""
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
        self.ranges = bounded(program.range_constraints, max_size)
        """The values that open sizes may have."""
        self.static = static
        """The nodes whose values are known."""
        self.ctx = ctx
        self.block = Block()
        self.values: dict[Node, Any] = {}
        """The SSA value of each node, a list of them for several results, None for an absent tensor."""
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
        self.decomposer = Decomposer()
        self.entry = entry
        self.functions: dict[str, FuncOp] = {}
        """The functions of branches and loops, by name."""

    def run(self) -> ModuleOp:
        nodes = {node.name: node for node in self.program.graph.nodes}
        check_kinds(self.program, lambda name: node_location(nodes[name]), inputs_change=self.return_changed_inputs)
        arg_attrs = self._import_inputs()
        for node in self.program.graph.nodes:
            self._import_node(node)
        results = self._import_outputs(nodes)
        changed = self._changed_inputs(nodes)
        self._update_buffers(nodes)
        self.block.add_op(ReturnOp(*results, *changed))
        func = FuncOp(
            self.entry,
            ([a.type for a in self.block.args], [r.type for r in (*results, *changed)]),
            Region(self.block),
            arg_attrs=ArrayAttr(arg_attrs) if any(a.data for a in arg_attrs) else None,
        )
        func.attributes[IN_SPEC] = StringAttr(tree_text(self.program.call_spec.in_spec))
        outputs = tree_text(self.program.call_spec.out_spec)
        func.attributes[OUT_SPEC] = StringAttr(
            with_changed_inputs(outputs, len(results), len(changed)) if changed else outputs
        )
        return ModuleOp([func, *self.functions.values()])

    # Inputs and outputs

    def _import_inputs(self) -> list[DictionaryAttr]:
        """Constants for weights, block arguments for the user's inputs; the arguments' attributes."""
        attributes: list[DictionaryAttr] = []
        signature = self.program.graph_signature
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
                    self.values[node] = self._constant(constant_tensor(self.program, spec), spec.target or node.name)
                continue
            self.constants[node] = (spec.kind.name, node.name)
            if isinstance(spec.arg, ConstantArgument):
                attributes.append(self._fixed_input(node, spec.arg.value))
                continue
            value, order = in_memory(node.meta["val"])
            location = name_location(node.name)
            if is_complex(value):
                raise DiagnosticError(
                    location,
                    f"input '{node.name}' is complex, which no file can say: take torch.view_as_real(x), and make it "
                    "complex in the program (torch.view_as_complex)",
                )
            argument = self.block.insert_arg(import_type(value, location), len(self.block.args))
            argument.location = location
            argument.name_hint = _hint(node.name)
            bounds = input_bounds(node.name, value, self.ranges, location)
            layout = {} if order is None else {DIM_ORDER: int_array(order)}
            attributes.append(DictionaryAttr({**bounds.data, **layout}))
            self.values[node] = argument if order is None else self._in_order(argument, order, location)
            if self.return_changed_inputs and (node in written or node.name in written_in_signature):
                self.changed[node] = self.values[node]
        return attributes

    def _fixed_input(self, node: Node, value: Fixed) -> DictionaryAttr:
        """An input that the program was exported for: its nodes hold the value. The argument's attributes."""
        type = NoneType() if value is None or isinstance(value, str) else _number_type(value)
        argument = self.block.insert_arg(type, len(self.block.args))
        argument.location = name_location(node.name)
        argument.name_hint = _hint(node.name)
        return DictionaryAttr({VALUE: fixed_attribute(value)})

    def _in_order(self, argument: SSAValue, order: tuple[int, ...], location: LocationAttr) -> SSAValue:
        """An argument as the program sees it."""
        undone = tuple(order.index(dim) for dim in range(len(order)))
        permute = edge.OPS["edge.permute"].build_from({"self": argument, "dims": undone}, location=location)
        return self._add(permute).results[0]

    def _import_outputs(self, nodes: Mapping[str, Node]) -> list[SSAValue]:
        results: list[SSAValue] = []
        changes = (OutputKind.USER_INPUT_MUTATION, *BUFFER_UPDATES)
        outputs = (spec for spec in self.program.graph_signature.output_specs if spec.kind not in changes)
        for index, spec in enumerate(outputs):
            if isinstance(spec.arg, ConstantArgument):
                results.append(self._constant_output(spec.arg.value, f"output #{index}"))
                continue
            value = self.values[nodes[spec.arg.name]]
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
            return self._add(edge.NoneOp(location)).results[0]
        if not isinstance(value, bool | int | float):
            raise DiagnosticError(location, f"{name} is the constant {value!r}: return tensors, numbers and None only")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise DiagnosticError(location, f"{name} is the constant {value}, which has more than 64 bits")
        constant = make_dense(np.array(value), self.ctx, "number", _number_type(value))
        tensor = self._add(edge.ConstantOp(constant, location)).results[0]
        op_class = edge.op("_local_scalar_dense")
        return self._add(op_class.build_from({"self": tensor}, [_number_type(value)], location)).results[0]

    def _mutable_buffer(self, node: Node, spec: InputSpec) -> SSAValue:
        """A buffer that the program writes to. Its initial value is copied: the model may run meanwhile."""
        tensor, name = constant_tensor(self.program, spec), spec.target or node.name
        location = name_location(name)
        for other in self.program.graph_signature.input_specs:
            if other.kind is InputKind.USER_INPUT or other.target in (None, spec.target):
                continue
            if memory_of(tensor) == memory_of(constant_tensor(self.program, other)):
                raise DiagnosticError(
                    location,
                    f"'{name}' is written to and shares its memory with '{other.target}': give each memory of its own "
                    "(buffer.clone())",
                )
        elements = self._zeros(tensor, name) or self._elements(tensor.clone(), name)
        op = self.buffers[node] = edge.MutableBufferOp(name, elements, location)
        return self._add(op).results[0]

    def _zeros(self, tensor: torch.Tensor, name: str) -> DenseAttr | None:
        """A tensor of zeros that is worth it, such as a cache, as one number; None for others."""
        if tensor.dtype not in ELEMENT_TYPES or tensor.is_complex() or tensor.nbytes < LARGE_BUFFER:
            return None
        array = numpy_view(tensor)
        if not array.flags.c_contiguous or array.reshape(-1).view(np.uint8).any():
            return None  # -0.0 has a bit that is not 0
        zeros = np.broadcast_to(np.zeros((), array.dtype), array.shape)
        return make_dense(zeros, self.ctx, name, ELEMENT_TYPES[tensor.dtype])

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
                self._add(edge.UpdateBufferOp(buffer.result, value, buffer.location))

    def _is_read(self, node: Node) -> bool:
        """Whether a node that is imported needs this one."""
        return any(user not in self.static for user in node.users)

    def _constant(self, tensor: torch.Tensor, name: str) -> Any:
        """The value of a constant, a `ComplexValue` where it is complex."""
        if tensor.is_complex():
            parts = ((part, getattr(tensor.resolve_conj(), part).contiguous()) for part in ("real", "imag"))
            return ComplexValue(*(self._constant(value, f"{name}.{part}") for part, value in parts))
        return self._add(edge.ConstantOp(self._elements(tensor, name), name_location(name))).results[0]

    def _elements(self, tensor: torch.Tensor, name: str) -> DenseResourceAttr:
        """The tensor's elements, in the blob store."""
        if tensor.dtype not in ELEMENT_TYPES or tensor.layout is not torch.strided:
            raise DiagnosticError(
                name_location(name), f"'{name}' is a {tensor.layout} tensor of {tensor.dtype}, which has no form here"
            )
        key = self.ctx.blobs.add(name, numpy_view(tensor))
        return DenseResourceAttr(StringAttr(key), tensor_type(ELEMENT_TYPES[tensor.dtype], tuple(tensor.shape)))

    def _add(self, op: Operation) -> Operation:
        self.block.add_op(op)
        return op

    # Nodes

    def _import_node(self, node: Node) -> None:
        if node in self.static:
            if self._is_read(node):
                self.values[node] = self._constant(self.static[node], node.name)
            return
        match node.op:
            case "placeholder" | "output":
                return
            case "get_attr":
                value = operator.attrgetter(str(node.target))(self.program.graph_module)
                if isinstance(value, torch.Tensor):
                    self.values[node] = self._constant(value, str(node.target))
                return
            case "call_function":
                if isinstance(node.target, Operator):
                    self._import_call(node)
                elif isinstance(node.target, torch._ops.HigherOrderOperator):
                    self._import_control_flow(node, self.program.graph_module, self.values)
                else:
                    self._import_python(node, node_location(node), self.values)
            case _:
                if node.users:
                    raise DiagnosticError(node_location(node), f"a {node.op} of '{node.target}' has no form here")

    def _import_python(self, node: Node, location: LocationAttr, values: dict[Node, Any]) -> None:
        """Results of an operator by index or as a named tuple, and arithmetic on sizes."""
        if node.target is operator.getitem:
            source, index = node.args
            assert isinstance(source, Node)
            values[node] = values[source][index]
            return
        if isinstance(node.target, type) and issubclass(node.target, tuple):
            # typing.NamedTuple takes its fields one by one, torch.return_types as one sequence.
            fields = node.args if hasattr(node.target, "_fields") else node.args[0]
            values[node] = import_value(fields, values)
            return
        name = _SYMBOLIC.get(node.target) or _COMPARING.get(node.target)  # pyright: ignore[reportCallIssue, reportArgumentType]
        if name is None:
            raise DiagnosticError(location, f"'{getattr(node.target, '__name__', node.target)}' has no form here")
        a, b = (import_value(arg, values) for arg in node.args)
        op_class = edge.op(f"executorch_prim.{name}.Scalar")
        op = self._add(op_class.build_from({"a": a, "b": b}, [_number_type(node.meta["val"])], location))
        values[node] = op.results[0]

    # Control flow

    def _import_control_flow(self, node: Node, module: GraphModule, values: dict[Node, Any]) -> None:
        """Import what an operator of higher order of `module` does; `values` has its operands and gets its results."""
        match name_of(node):
            case "cond":
                values[node] = self._import_cond(node, module, values)
            case "while_loop":
                values[node] = self._import_while_loop(node, module, values)
            case name:
                call, inputs = meaning_of(node, module)
                graph = self.decomposer.traced(call, inputs)
                if graph is None:
                    raise DiagnosticError(node_location(node), f"torch cannot trace the body of '{name}'")
                operands = [values[each] for each in inputs]
                values[node] = self._import_graph(node, graph, operands, node_location(node))

    def _import_cond(self, node: Node, module: GraphModule, values: dict[Node, Any]) -> list[Any]:
        condition, *branches, operands = node.args
        assert isinstance(operands, list | tuple)
        bodies = [self._body(node, branch, module) for branch in branches]
        location = node_location(node)
        given = [self._operand(each, values, location) for each in operands]
        if not isinstance(condition, Node):
            return list(self._import_graph(node, bodies[0 if condition else 1], given, location))
        then, otherwise = (
            self._import_function(f"{node.name}_{name}", body, given, location)
            for name, body in zip(("then", "else"), bodies, strict=True)
        )
        results = node.meta["val"]
        types = [_carried_type(each, location) for each in results]
        op = edge.CondOp(values[condition], then, otherwise, _arguments(given), types, location)
        op.attributes |= result_bounds(results, self.ranges)
        self._add(op)
        return [self._as_torch_has_it(each, result, location) for each, result in zip(op.res, results, strict=True)]

    def _import_while_loop(self, node: Node, module: GraphModule, values: dict[Node, Any]) -> list[Any]:
        condition, body, carried, operands = node.args
        assert isinstance(carried, list | tuple)
        assert isinstance(operands, list | tuple)
        location = node_location(node)
        first = [self._as_tensor(self._operand(each, values, location), location) for each in carried]
        given = [self._operand(each, values, location) for each in operands]
        goes_on, step = self._body(node, condition, module), self._body(node, body, module)
        types = [value.type for value in first]
        decides = self._import_function(f"{node.name}_while", goes_on, given, location, types, decides=True)
        does = self._import_function(f"{node.name}_do", step, given, location, types)
        results = node.meta["val"]
        op = edge.WhileLoopOp(decides, does, first, _arguments(given), location)
        op.attributes |= result_bounds(results, self.ranges)
        self._add(op)
        return [self._as_torch_has_it(each, result, location) for each, result in zip(op.res, results, strict=True)]

    def _body(self, node: Node, graph: Any, module: GraphModule) -> GraphModule:
        body = body_of(graph, module) if isinstance(graph, Node) else None
        if body is None:
            raise DiagnosticError(node_location(node), f"'{name_of(node)}' has no graph of its body")
        return body

    def _operand(self, operand: Any, values: dict[Node, Any], location: LocationAttr) -> Any:
        """An operand of a branch or loop: an SSA value or a number."""
        value = import_value(operand, values)
        if isinstance(value, ComplexValue):
            raise DiagnosticError(
                location, "branches and loops take no complex numbers: give them torch.view_as_real(x)"
            )
        return value

    def _as_tensor(self, value: Any, location: LocationAttr) -> SSAValue:
        """What loops carry, and functions give: a number as a tensor without dimensions."""
        if not isinstance(value, SSAValue):
            return self._constant(torch.tensor(value), "number")
        if isinstance(value.type, TensorType):
            return value
        given = {"s": value, "dtype": value.type}
        return self._add(edge.op("scalar_tensor").build_from(given, location=location)).results[0]

    def _as_torch_has_it(self, value: SSAValue, example: Any, location: LocationAttr) -> SSAValue:
        """What a function takes or gives, as a number where torch has one."""
        if isinstance(example, torch.Tensor) or not isinstance(value.type, TensorType):
            return value
        op_class = edge.op("_local_scalar_dense")
        return self._add(op_class.build_from({"self": value}, [_number_type(example)], location)).results[0]

    def _import_function(
        self,
        name: str,
        body: GraphModule,
        given: Sequence[Any],
        location: LocationAttr,
        carried: Sequence[Attribute] = (),
        decides: bool = False,
    ) -> str:
        """Add a private function of what a graph computes to the module; its name.

        It has an argument for each type that is carried and each operand that is given, but constants among these are
        its own, and so are sizes of its arguments. What it gives are tensors, unless it decides: a truth value may be a
        number.
        """
        around, self.block = self.block, Block()
        inner: dict[Node, Any] = {}
        attributes: list[DictionaryAttr] = []
        placeholders = [step for step in body.graph.nodes if step.op == "placeholder"]
        types = [*carried, *(value.type for value in _arguments(given))]
        operands = [*(None for _ in carried), *given]
        sizes: list[tuple[Node, Any]] = []
        for step, operand in zip(placeholders, operands, strict=True):
            example = step.meta.get("val")
            if operand is not None and not _is_argument(operand):
                if step.users:
                    constant = operand.owner if isinstance(operand, SSAValue) else None
                    is_constant = isinstance(constant, edge.ConstantOp)
                    inner[step] = self._add(constant.clone()).results[0] if is_constant else operand
                continue
            index = len(self.block.args)
            argument = self.block.insert_arg(types[index], index)
            argument.location, argument.name_hint = location, _hint(step.name)
            attributes.append(input_bounds(step.name, example, self.ranges, location))
            if isinstance(types[index], TensorType):
                inner[step] = self._as_torch_has_it(argument, example, location) if step.users else argument
            else:
                inner[step] = argument
                sizes.append((step, example))
        self._take_sizes(sizes, placeholders, inner, location)
        results: list[SSAValue] = []
        for step in body.graph.nodes:
            if step.op == "output":
                returned = step.args[0] if isinstance(step.args[0], list | tuple) else [step.args[0]]
                found = [self._operand(each, inner, location) for each in returned]
                is_number = decides and isinstance(found[0], SSAValue)
                results = found if is_number else [self._as_tensor(each, location) for each in found]
            elif step.op != "placeholder":
                self._import_step(step, body, node_location(step), inner)
        self.block.add_op(ReturnOp(*results))
        name = self._unused(name)
        function = FuncOp(
            name,
            ([each.type for each in self.block.args], [each.type for each in results]),
            Region(self.block),
            "private",
            arg_attrs=ArrayAttr(attributes) if any(each.data for each in attributes) else None,
        )
        function.location = location
        self.functions[name] = function
        self.block = around
        return name

    def _take_sizes(
        self, numbers: Sequence[tuple[Node, Any]], steps: Sequence[Node], inner: dict[Node, Any], location: LocationAttr
    ) -> None:
        """Read numbers that are sizes of arguments from these: what follows from them is known, then."""
        dims = {
            str(size): (inner[step], dim)
            for step in steps
            if step in inner and isinstance(step.meta.get("val"), torch.Tensor)
            for dim, size in enumerate(step.meta["val"].shape)
            if isinstance(inner[step].owner, Block)
        }
        for step, example in numbers:
            if (found := dims.get(str(example))) is not None:
                op = edge.op("sym_size.int").build_from({"self": found[0], "dim": found[1]}, location=location)
                inner[step] = self._add(op).results[0]

    def _unused(self, name: str) -> str:
        """A name for a function of this method."""
        name = f"{self.entry}_{name}"
        return next(each for i in count() if (each := f"{name}_{i}" if i else name) not in self.functions)

    # Calls

    def _import_call(self, node: Node) -> None:
        target = node.target
        assert isinstance(target, Operator)
        if target._schema.is_mutable:
            if not target._schema.returns:
                raise self._mutation(node)
            target = self._overwrite(node, target)
        self._import_operator(node, target, node.meta.get("val", ()), node_location(node), self.values)
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

    def _import_operator(
        self, node: Node, target: Operator, result: Any, location: LocationAttr, values: dict[Node, Any]
    ) -> None:
        """Import one call, into `values[node]`; `values` also has its operands.

        `result` is the fake value or values of the result, empty for an operator without any.
        """
        if target._schema.name in _ASSERTIONS:
            return
        if target is DEQUANTIZE_INT4:
            given = by_name(target, *call_of(node, target))
            packed, scales = (import_value(given[name], values) for name in ("packed", "scales"))
            ops = import_dequantize_int4(packed, scales, given["group_size"], self.ctx, location)
            values[node] = [self._add(op) for op in ops][-1].results[0]
            return
        if target is torch.ops.aten.copy.default and _same_type(*node.args[:2]):
            source = node.args[1]
            assert isinstance(source, Node)
            values[node] = values[source]  # values have no identity
            return
        if is_complex(result) or any(is_complex(operand.meta.get("val")) for operand in node.all_input_nodes):
            composite = is_composite(target) and not has_rule(target)
            if not composite or not self._import_decomposed(node, target, location, values):
                self._import_complex(node, target, location, values)
            return
        op_class = None if _takes_statistics(node, target) else row_of(target)
        if op_class is None and can_decompose(target) and self._import_decomposed(node, target, location, values):
            return
        types = [import_type(v, location) for v in (result if isinstance(result, list | tuple) else (result,))]
        given = by_name(target, *call_of(node, target))
        try:
            args = {name: import_value(value, values) for name, value in given.items()}
            if op_class is None:
                op = edge.OpaqueOp.build_call(str(target._schema), args, types, out_kernel(target), location)
            else:
                op = overload_for(op_class, args).build_from(args, types, location)
            op.verify_()
        except (ValueError, VerifyException) as e:
            raise DiagnosticError(location, f"{target}: {e}") from None
        if op.row.infer is None:
            results = result if isinstance(result, list | tuple) else (result,)
            op.attributes |= result_bounds(results, self.ranges)
        self._add(op)
        if isinstance(result, list | tuple):
            values[node] = list(op.results)
        else:
            values[node] = op.results[0]
            op.results[0].name_hint = _hint(node.name)

    def _import_complex(self, node: Node, target: Operator, location: LocationAttr, values: dict[Node, Any]) -> None:
        """Import a call that reads or makes complex numbers."""
        traced = self.decomposer.complex_graph(target, *call_of(node, target))
        if traced is None:
            raise DiagnosticError(
                location, f"{target} of complex numbers has no form here: compute with torch.view_as_real(x)"
            )
        graph, inputs = traced
        feeds: list[Any] = []
        for operand in inputs:
            value = values[operand]
            feeds += value if isinstance(value, ComplexValue) else [value]
        parts = iter(self._import_graph(node, graph, feeds, location))
        result = node.meta["val"]
        several = isinstance(result, list | tuple)
        found = [
            ComplexValue(next(parts), next(parts)) if is_complex(each) else next(parts)
            for each in (result if several else [result])
        ]
        values[node] = found if several else found[0]

    def _import_decomposed(self, node: Node, target: Operator, location: LocationAttr, values: dict[Node, Any]) -> bool:
        operands = [each.meta.get("val") for each in node.all_input_nodes]
        sizes = [size for each in operands if isinstance(each, torch.Tensor) for size in each.shape if is_open(size)]
        found = self.decomposer.graph(target, *call_of(node, target))
        if not all(map(is_open, sizes)):
            closed = next(int(size) for size in sizes if not is_open(size))
            raise DiagnosticError(
                location, f"{target} takes an open size to be {closed}, as in the example: it has no form for all sizes"
            )
        if found is None:
            return False
        graph, inputs = found
        values[node] = self._import_graph(node, graph, [values[each] for each in inputs], location)
        return True

    def _import_graph(self, node: Node, graph: GraphModule, operands: list[Any], location: LocationAttr) -> Any:
        """Import what a node's operator consists of; the values of its outputs."""
        inner: dict[Node, Any] = {}
        feeds = iter(operands)
        for step in graph.graph.nodes:
            match step.op:
                case "placeholder":
                    inner[step] = next(feeds)
                case "output":
                    return import_value(step.args[0], inner)
                case _:
                    self._import_step(step, graph, location, inner, node.name)
        raise AssertionError("a graph has an output")

    def _import_step(
        self, step: Node, module: GraphModule, location: LocationAttr, values: dict[Node, Any], prefix: str = ""
    ) -> None:
        """Import one node of a graph that something consists of; `values` has its operands and gets its results.

        The graph's own constants are called after `prefix`.
        """
        if step.op == "get_attr":
            value = operator.attrgetter(str(step.target))(module)
            if isinstance(value, torch.Tensor):
                values[step] = self._constant(value, f"{prefix}.{step.target}" if prefix else str(step.target))
        elif isinstance(step.target, Operator):
            self._import_operator(step, step.target, step.meta.get("val", ()), location, values)
        elif isinstance(step.target, torch._ops.HigherOrderOperator):
            self._import_control_flow(step, module, values)
        else:
            self._import_python(step, location, values)


def _check_written(name: str, value: SSAValue, old: SSAValue, location: LocationAttr) -> None:
    """DiagnosticError if a buffer or input would become another type, as torch's functionalisation loses conversions:
    `row.copy_(wider)` of a view."""
    if value.type != old.type:
        raise DiagnosticError(
            location,
            f"what is written to '{name}' became a {value.type} in torch, expected {old.type}: "
            "convert it first (x.to(buffer.dtype))",
        )


def _is_argument(operand: Any) -> bool:
    """Whether a function is given an operand: constants are its own."""
    return isinstance(operand, SSAValue) and not isinstance(operand.owner, edge.ConstantOp)


def _arguments(operands: Sequence[Any]) -> list[SSAValue]:
    return [each for each in operands if _is_argument(each)]


def _number_type(example: Any) -> Attribute:
    """The type of a number that a program computes, of torch's stand-in for it."""
    if isinstance(example, bool | torch.SymBool):
        return i1
    return f64 if isinstance(example, float | torch.SymFloat) else i64


def _carried_type(example: Any, location: LocationAttr) -> Attribute:
    """The type of what a function gives, a tensor in any case."""
    if isinstance(example, torch.Tensor):
        return import_type(example, location)
    return tensor_type(_number_type(example), ())


def _takes_statistics(node: Node, target: Operator) -> bool:
    """Whether a norm computes mean and variance of what it is given, as of weights; its edge op has them given."""
    if target is not torch.ops.aten.batch_norm.default:
        return False
    return bool(by_name(target, *call_of(node, target))["training"])


def _same_type(a: Any, b: Any) -> bool:
    """Whether two nodes are tensors of one type."""
    a, b = a.meta.get("val"), b.meta.get("val")
    return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape


def _hint(name: str) -> str | None:
    """The fx name as SSA name hint, if xDSL takes it."""
    return name if SSAValue.is_valid_name(name) else None
