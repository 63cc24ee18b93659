"""Nodes of graphs as edge ops: operators, arithmetic on sizes, and functions of branches and loops.

There is no code per operator: an operator's arguments are matched by name with its schema. Operators with a row in the
edge dialect stay whole, others are decomposed (`decompose.py`), and what then has no row is `edge.opaque`.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type, schema and dispatch keys begin with an underscore.

import operator
from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseResourceAttr,
    DictionaryAttr,
    LocationAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    bf16,
    f16,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge
from xir.dialects.edge.scalars import numbers_met
from xir.dialects.edge.types import element_of, tensor_type
from xir.ir.annotations import UNASKED
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import name_location, place

from .aliasing import Operator, is_composite
from .arguments import by_name, call_of, import_value, out_kernel, overload_for
from .bounds import Ranges, input_bounds, result_bounds
from .complex_numbers import ComplexValue, has_rule, is_complex
from .control_flow import body_of, meaning_of, name_of
from .decompose import ClosedSizeError, Decomposer, can_decompose, row_of
from .dtypes import ELEMENT_TYPES, import_type, number_tensor, number_type, numpy_view, remedy
from .packed_weights import DEQUANTIZE_INT4, import_dequantize_int4
from .plugin_schemas import check_schema
from .source import name_hint, node_location

_SYMBOLIC = {
    operator.add: "add",
    operator.sub: "sub",
    operator.neg: "sub",  # of 0
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

_CONVERSIONS = frozenset(f"aten::{name}" for name in ("to", "type_as", "_to_copy", "_autocast_to_reduced_precision"))
"""What a program asks for a conversion by. Other operators convert what they compute with on their own account."""

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


class StepImporter:
    """Imports nodes one after the other, into the block of the function at hand.

    `values` of its methods has what nodes became: an SSA value, a `ComplexValue`, a list of them for several results,
    None for an absent tensor, or a number.
    """

    def __init__(self, ctx: XirContext, entry: str, ranges: Ranges):
        self.ctx = ctx
        self.ranges = ranges
        """The values that open sizes may have."""
        self.block = Block()
        """Where ops are added."""
        self.functions: dict[str, FuncOp] = {}
        """The functions of branches and loops, by name."""
        self._entry = entry
        self._decomposer = Decomposer()
        self._is_inside_operator = False
        """Whether what is imported is a part of an operator that the program calls."""

    def add(self, op: Operation) -> Operation:
        """Add an op to the block."""
        self.block.add_op(op)
        return op

    def constant(self, tensor: torch.Tensor, name: str) -> Any:
        """The value of a constant, a `ComplexValue` where it is complex."""
        if tensor.is_complex():
            parts = ((part, getattr(tensor.resolve_conj(), part).contiguous()) for part in ("real", "imag"))
            return ComplexValue(*(self.constant(value, f"{name}.{part}") for part, value in parts))
        return self.add(edge.ConstantOp(self.elements(tensor, name), name_location(name))).results[0]

    def elements(self, tensor: torch.Tensor, name: str) -> DenseResourceAttr:
        """The tensor's elements, in the blob store."""
        if tensor.dtype not in ELEMENT_TYPES or tensor.layout is not torch.strided:
            raise DiagnosticError(
                place(f"weight '{name}'"),
                f"it is a {tensor.layout} tensor of {tensor.dtype}, which has no form here{remedy(tensor)}",
            )
        key = self.ctx.blobs.add(name, numpy_view(tensor))
        return DenseResourceAttr(StringAttr(key), tensor_type(ELEMENT_TYPES[tensor.dtype], tuple(tensor.shape)))

    # Calls

    def import_python(self, node: Node, location: LocationAttr, values: dict[Node, Any]) -> None:
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
        if _is_only_asserted(node):
            return
        name = _SYMBOLIC.get(node.target) or _COMPARING.get(node.target)  # pyright: ignore[reportCallIssue, reportArgumentType]
        if name is None:
            raise DiagnosticError(location, f"'{getattr(node.target, '__name__', node.target)}' has no form here")
        operands = [import_value(arg, values) for arg in node.args]
        if all(isinstance(each, int | float) for each in operands):
            assert callable(node.target)
            values[node] = node.target(*operands)
            return
        a, b = operands if len(operands) == 2 else (0, *operands)
        op_class = edge.op(f"executorch_prim.{name}.Scalar")
        op = self.add(op_class.build_from({"a": a, "b": b}, [number_type(node.meta["val"])], location))
        values[node] = op.results[0]

    def import_operator(
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
            values[node] = [self.add(op) for op in ops][-1].results[0]
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
        if op_class is not None:
            check_schema(op_class, target, location)
        if op_class is None and can_decompose(target) and self._import_decomposed(node, target, location, values):
            return
        given = by_name(target, *call_of(node, target))
        if target is torch.ops.aten._linalg_svd.default and _reads_values_alone(node):
            given["compute_uv"] = False
            result = (result[0].new_empty(0), result[1], result[2].new_empty(0))
        types = [import_type(v, location) for v in (result if isinstance(result, list | tuple) else (result,))]
        try:
            args = {name: import_value(value, values) for name, value in given.items()}
            if op_class is None:
                op = edge.OpaqueOp.build_call(str(target._schema), args, types, out_kernel(target), location)
            else:
                op_class = overload_for(op_class, args)
                args |= self._numbers_as_tensors(op_class, args, result)
                op = op_class.build_from(args, types, location)
                if changed := numbers_met(op):
                    op = type(op).build_from(args | changed, types, location)
            op.verify_()
        except (ValueError, VerifyException) as e:
            raise DiagnosticError(location, f"{target}: {e}") from None
        if op.row.infer is None:
            results = result if isinstance(result, list | tuple) else (result,)
            op.attributes |= result_bounds(results, self.ranges)
        if isinstance(op, edge.ToCopyOp) and self._is_own_rounding(node, op):
            op.attributes[UNASKED] = UnitAttr()
        self.add(op)
        if isinstance(result, list | tuple):
            values[node] = list(op.results)
        else:
            values[node] = op.results[0]
            op.results[0].name_hint = name_hint(node.name)

    def _is_own_rounding(self, node: Node, op: edge.ToCopyOp) -> bool:
        """Whether what an operator consists of rounds to halves on its own account: not what the operator is given,
        which ATen rounds too, such as a wider number without dimensions."""
        is_given = isinstance(node.args[0], Node) and node.args[0].op == "placeholder"
        return self._is_inside_operator and not is_given and element_of(op.results[0]) in (f16, bf16)

    def _numbers_as_tensors(self, op_class: type[edge.EdgeOp], args: dict[str, Any], result: Any) -> dict[str, Any]:
        """The numbers in place of tensors for which no overload takes them, `3 // x`: ATen makes the result's type of
        them first."""
        names = [name for name in op_class.row.schema.tensors if isinstance(args.get(name), bool | int | float)]
        if not names or not isinstance(result, torch.Tensor):
            return {}
        return {name: self.constant(number_tensor(args[name]).to(result.dtype), "number") for name in names}

    def _import_complex(self, node: Node, target: Operator, location: LocationAttr, values: dict[Node, Any]) -> None:
        """Import a call that reads or makes complex numbers."""
        traced = self._decomposer.complex_graph(target, *call_of(node, target))
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
        """Import what an operator consists of; False if that is not to be had, and it stays whole."""
        try:
            found = self._decomposer.graph(target, *call_of(node, target), node.meta.get("val"))
        except ClosedSizeError as error:
            if not is_composite(target):
                return False
            raise DiagnosticError(
                location, f"{target} has no form for all of its open sizes: torch's own takes them to have {error}"
            ) from None
        if found is None:
            return False
        graph, inputs = found
        if not (is_composite(target) or all(map(_has_form, graph.graph.nodes))):
            return False
        was = self._is_inside_operator
        self._is_inside_operator = was or target._schema.name not in _CONVERSIONS
        values[node] = self._import_graph(node, graph, [values[each] for each in inputs], location)
        self._is_inside_operator = was
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
                values[step] = self.constant(value, f"{prefix}.{step.target}" if prefix else str(step.target))
        elif isinstance(step.target, Operator):
            self.import_operator(step, step.target, step.meta.get("val", ()), location, values)
        elif isinstance(step.target, torch._ops.HigherOrderOperator):
            self.import_control_flow(step, module, values)
        else:
            self.import_python(step, location, values)

    # Control flow

    def import_control_flow(self, node: Node, module: GraphModule, values: dict[Node, Any]) -> None:
        """Import what an operator of higher order of `module` does; `values` has its operands and gets its results."""
        match name_of(node):
            case "cond":
                values[node] = self._import_cond(node, module, values)
            case "while_loop":
                values[node] = self._import_while_loop(node, module, values)
            case name:
                call, inputs = meaning_of(node, module)
                graph = self._decomposer.traced(call, inputs)
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
        self.add(op)
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
        self.add(op)
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
            return self.constant(number_tensor(value), "number")
        if isinstance(value.type, TensorType):
            return value
        given = {"s": value, "dtype": value.type}
        return self.add(edge.op("scalar_tensor").build_from(given, location=location)).results[0]

    def _as_torch_has_it(self, value: SSAValue, example: Any, location: LocationAttr) -> SSAValue:
        """What a function takes or gives, as a number where torch has one."""
        if isinstance(example, torch.Tensor) or not isinstance(value.type, TensorType):
            return value
        op_class = edge.op("_local_scalar_dense")
        return self.add(op_class.build_from({"self": value}, [number_type(example)], location)).results[0]

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
                    inner[step] = self.add(constant.clone()).results[0] if is_constant else operand
                continue
            index = len(self.block.args)
            argument = self.block.insert_arg(types[index], index)
            argument.location, argument.name_hint = location, name_hint(step.name)
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
                inner[step] = self.add(op).results[0]

    def _unused(self, name: str) -> str:
        """A name for a function of this method."""
        name = f"{self._entry}_{name}"
        return next(each for i in count() if (each := f"{name}_{i}" if i else name) not in self.functions)


def _has_form(step: Node) -> bool:
    """Whether a step of what an operator consists of is no arithmetic that has no form, as that on floats."""
    target = step.target
    known = isinstance(target, Operator | torch._ops.HigherOrderOperator | type) or target is operator.getitem
    return step.op != "call_function" or known or target in _SYMBOLIC or target in _COMPARING


def _is_only_asserted(node: Node) -> bool:
    """Whether arithmetic on sizes ends in assertions alone, so that nobody asks for its result."""
    pending, seen = [node], {node}
    while pending:
        for user in pending.pop().users:
            if isinstance(user.target, Operator):
                if user.target._schema.name not in _ASSERTIONS:
                    return False
            elif user.op != "call_function" or isinstance(user.target, torch._ops.HigherOrderOperator):
                return False
            elif user not in seen:
                seen.add(user)
                pending.append(user)
    return True


def _reads_values_alone(node: Node) -> bool:
    """Whether nobody reads the vectors of a singular value decomposition. ATen has computed them all the same where it
    inferred shapes; they take longer, and matrices with infinities have none."""
    return all(user.target is operator.getitem and (user.args[1] == 1 or not user.users) for user in node.users)


def _is_argument(operand: Any) -> bool:
    """Whether a function is given an operand: constants are its own."""
    return isinstance(operand, SSAValue) and not isinstance(operand.owner, edge.ConstantOp)


def _arguments(operands: Sequence[Any]) -> list[SSAValue]:
    return [each for each in operands if _is_argument(each)]


def _carried_type(example: Any, location: LocationAttr) -> Attribute:
    """The type of what a function gives, a tensor in any case."""
    if isinstance(example, torch.Tensor):
        return import_type(example, location)
    return tensor_type(number_type(example), ())


def _takes_statistics(node: Node, target: Operator) -> bool:
    """Whether a norm computes mean and variance of what it is given, as of weights; its edge op has them given."""
    if target is not torch.ops.aten.batch_norm.default:
        return False
    return bool(by_name(target, *call_of(node, target))["training"])


def _same_type(a: Any, b: Any) -> bool:
    """Whether two nodes are tensors of one type."""
    a, b = a.meta.get("val"), b.meta.get("val")
    return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape
