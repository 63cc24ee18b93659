"""An `ExportedProgram` as a module of edge ops.

There is no code per operator: an operator's arguments are matched by name with its schema. Operators with a row in the
edge dialect stay whole, others are decomposed (`decompose.py`), and what then has no row is `edge.opaque`.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type, schema and dispatch keys begin with an underscore.

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec
from torch.fx import Graph, GraphModule, Node
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseResourceAttr,
    DictionaryAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge
from xir.dialects.edge.attributes import int_array
from xir.dialects.edge.types import tensor_type
from xir.importer.training import warn_of_training
from xir.ir.annotations import DIM_ORDER, IN_SPEC, OUT_SPEC
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
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
from .control_flow import straight_code
from .decompose import Decomposer, can_decompose, functionalize, row_of
from .dim_order import in_memory
from .dtypes import ELEMENT_TYPES, import_type, numpy_view
from .signature import (
    BUFFER_UPDATES,
    check_kinds,
    constant_tensor,
    has_wrapped_tensors,
    mutation_error,
    tree_text,
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
    program: ExportedProgram, ctx: XirContext, entry: str = "forward", max_size: int | None = None
) -> ModuleOp:
    """Import a program as `func.func @entry`, its weights into the context's blob store without copying them.

    Numbers among the program's inputs are constants of it, as `torch.export` makes them, and no inputs.

    `max_size` bounds the open sizes that the program has no bound for.

    Buffers that the program writes to are `edge.mutable_buffer`s, which begin as the program has them.

    DiagnosticError, at the line of the user's Python, where the program changes an input, has shapes that depend on
    data, or calls what has no form in the IR.
    """
    wrapped = _has_higher_order(program.graph) or has_wrapped_tensors(program)
    static = {} if wrapped else static_values(program)
    if wrapped or needs_functionalization(program.graph, static):
        program, static = functionalize(program), {}
    warn_of_training(program, ctx.diagnostics)
    return _Importer(program, ctx, static, max_size).run(entry)


def _has_higher_order(graph: Graph) -> bool:
    return any(isinstance(n.target, torch._ops.HigherOrderOperator) for n in graph.nodes)


class _Importer:
    def __init__(
        self, program: ExportedProgram, ctx: XirContext, static: Mapping[Node, Any], max_size: int | None = None
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
        self.renamed: dict[Node, Node] = {}
        """In-place results, each to the node that it has overwritten."""
        self.names: dict[Node, list[Node]] = {}
        """The other way round: the in-place results that mean the same as a node."""
        self.decomposer = Decomposer()

    def run(self, entry: str) -> ModuleOp:
        nodes = {node.name: node for node in self.program.graph.nodes}
        check_kinds(self.program, lambda name: node_location(nodes[name]))
        arg_attrs = self._import_inputs()
        for node in self.program.graph.nodes:
            self._import_node(node)
        results = self._import_outputs(nodes)
        self._update_buffers(nodes)
        self.block.add_op(ReturnOp(*results))
        func = FuncOp(
            entry,
            ([a.type for a in self.block.args], [r.type for r in results]),
            Region(self.block),
            arg_attrs=ArrayAttr(arg_attrs) if any(a.data for a in arg_attrs) else None,
        )
        func.attributes[IN_SPEC] = StringAttr(tree_text(self.program.call_spec.in_spec))
        func.attributes[OUT_SPEC] = StringAttr(tree_text(self.program.call_spec.out_spec))
        return ModuleOp([func])

    # Inputs and outputs

    def _import_inputs(self) -> list[DictionaryAttr]:
        """Constants for weights, block arguments for the user's inputs; the arguments' attributes."""
        attributes: list[DictionaryAttr] = []
        signature = self.program.graph_signature
        written = overwritten_placeholders(self.program.graph, self.static)
        updated = {spec.target for spec in signature.output_specs if spec.kind in BUFFER_UPDATES}
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
                continue  # baked into the graph by export
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
        return attributes

    def _in_order(self, argument: SSAValue, order: tuple[int, ...], location: LocationAttr) -> SSAValue:
        """An argument as the program sees it."""
        undone = tuple(order.index(dim) for dim in range(len(order)))
        permute = edge.OPS["edge.permute"].build_from({"self": argument, "dims": undone}, location=location)
        return self._add(permute).results[0]

    def _import_outputs(self, nodes: Mapping[str, Node]) -> list[SSAValue]:
        results: list[SSAValue] = []
        outputs = (spec for spec in self.program.graph_signature.output_specs if spec.kind not in BUFFER_UPDATES)
        for index, spec in enumerate(outputs):
            if isinstance(spec.arg, ConstantArgument):
                if spec.arg.value is None:
                    continue
                raise DiagnosticError(
                    name_location(f"output #{index}"),
                    f"output #{index} is the constant {spec.arg.value!r}: return tensors only",
                )
            value = self.values[nodes[spec.arg.name]]
            if isinstance(value, ComplexValue):
                raise DiagnosticError(
                    node_location(nodes[spec.arg.name]),
                    f"output #{index} is complex, which no file can say: return torch.view_as_real(x)",
                )
            results.append(value)
        return results

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
        elements = self._elements(tensor.clone(), name)
        op = self.buffers[node] = edge.MutableBufferOp(name, elements, location)
        return self._add(op).results[0]

    def _update_buffers(self, nodes: Mapping[str, Node]) -> None:
        """What buffers hold after a call: operators have written to them, or the signature names their new values."""
        after = {node: self.values[node] for node in self.buffers}
        by_target = {self.constants[node][1]: node for node in self.buffers}
        for spec in self.program.graph_signature.output_specs:
            if spec.kind in BUFFER_UPDATES:
                after[by_target[spec.target or ""]] = self.values[nodes[spec.arg.name]]
        for node, value in after.items():
            buffer = self.buffers[node]
            if value.type != buffer.result.type:
                # torch's functionalisation loses conversions: `row.copy_(wider)` of a view.
                name = buffer.buffer.data
                raise DiagnosticError(
                    buffer.location,
                    f"what is written to '{name}' became a {value.type} in torch, expected {buffer.result.type}: "
                    "convert it first (x.to(buffer.dtype))",
                )
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
                    self._import_control_flow(node)
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
        name = _SYMBOLIC.get(node.target)  # pyright: ignore[reportCallIssue, reportArgumentType]
        if name is None:
            raise DiagnosticError(location, f"'{getattr(node.target, '__name__', node.target)}' has no form here")
        a, b = (import_value(arg, values) for arg in node.args)
        op_class = edge.op(f"executorch_prim.{name}.Scalar")
        op = self._add(op_class.build_from({"a": a, "b": b}, [import_type(node.meta["val"], location)], location))
        values[node] = op.results[0]

    def _import_control_flow(self, node: Node) -> None:
        """Import a loop or a choice as straight code."""
        call, inputs = straight_code(node, self.program.graph_module)
        graph = self.decomposer.traced(call, inputs)
        if graph is None:
            name = getattr(node.target, "__name__", node.target)
            raise DiagnosticError(node_location(node), f"torch cannot trace the body of '{name}'")
        operands = [self.values[each] for each in inputs]
        self.values[node] = self._import_graph(node, graph, operands, node_location(node))

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
        if base in self.constants and base not in self.buffers:
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
        found = self.decomposer.graph(target, *call_of(node, target))
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
                case "get_attr":
                    inner[step] = self._constant(getattr(graph, str(step.target)), f"{node.name}.{step.target}")
                case "output":
                    return import_value(step.args[0], inner)
                case _ if isinstance(step.target, Operator):
                    self._import_operator(step, step.target, step.meta.get("val", ()), location, inner)
                case _:
                    self._import_python(step, location, inner)
        raise AssertionError("a graph has an output")


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
