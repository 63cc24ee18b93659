"""Operators without a row of their own, as calls of those that have one.

Tracing the whole program again (`ExportedProgram.run_decompositions`) costs a second; here one operator is traced at a
time, on the shapes it has in the program, and the graph is kept for the next call like it.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type, schema and dispatch keys begin with an underscore.

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import torch
from torch._decomp import _core_aten_decompositions_post_autograd, decomposition_table
from torch._export.verifier import SpecViolationError
from torch._subclasses import FakeTensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import _ShapeEnvGuardError
from torch.utils import _pytree as pytree

from xir.dialects import edge
from xir.ir.diagnostics import DiagnosticError

from .aliasing import Operator, is_composite
from .complex_numbers import ComplexTensor, in_parts, is_complex
from .decompositions import OF_TORCHVISION, OWN, in_common_float
from .dtypes import is_dynamic, is_open
from .open_sizes import open_sizes
from .source import node_location

LOGGER = logging.getLogger(__name__)
"""Says where a decomposition of xir's own raises, for which torch's own then stands in without a word."""


def row_of(target: Any) -> type[edge.EdgeOp] | None:
    """The edge op of an operator, if it has a row."""
    if not isinstance(target, Operator):
        return None
    name = target._schema.name.removeprefix("aten::").replace("::", ".")
    overload = f".{target._schema.overload_name}" if target._schema.overload_name else ""
    # Values have no identity here: a view and its copy are one.
    return edge.OPS.get(f"edge.{name}{overload}") or edge.OPS.get(f"edge.{name.removesuffix('_copy')}{overload}")


@cache
def _table() -> dict[Any, Callable[..., Any]]:
    """torch's core ATen decompositions, less those of operators that the edge dialect keeps whole.

    The public `core_aten_decompositions` adds all composite operators, which takes half a second and changes nothing
    here: dispatch takes those apart by itself.
    """
    table = _core_aten_decompositions_post_autograd()
    table = {op: in_common_float(rule) if _is_pointwise(op) else rule for op, rule in table.items()}
    return {op: rule for op, rule in {**table, **OWN}.items() if row_of(op) is None}


def _is_pointwise(operator: Any) -> bool:
    """Whether each element of an operator's result is made of the operands' elements at its place."""
    return isinstance(operator, Operator) and torch.Tag.pointwise in operator.tags


def functionalize(program: ExportedProgram) -> ExportedProgram:
    """The program without side effects between its operators, decomposed as far as rows require.

    DiagnosticError where torch makes no sound program of it, as of one in which two buffers become one value.
    """
    table = torch.export.default_decompositions()
    for op in list(table):
        if row_of(op) is not None or op in OWN:
            del table[op]
    try:
        return program.run_decompositions(table)
    except SpecViolationError as error:
        written = (n for n in program.graph.nodes if isinstance(n.target, Operator) and n.target._schema.is_mutable)
        reason = str(error).strip().split("\n")[0]
        raise DiagnosticError(
            node_location(next(written, next(iter(program.graph.nodes)))),
            f"torch {torch.__version__} cannot take side effects out of this program: {reason} Do two buffers "
            "become one value? Copy a copy of it (b.copy_(a.clone()))",
        ) from error
    except Exception as error:  # torch raises what it comes across
        reason = (str(error).strip().splitlines() or [""])[0]
        raise DiagnosticError(
            node_location(next(node for node in program.graph.nodes if node.op != "placeholder")),
            f"torch {torch.__version__} cannot take side effects out of this program: {type(error).__name__}: "
            f"{reason}. What a model does under torch.no_grad() is one reason: export it with strict=True",
        ) from error


def _rule_of(target: Operator) -> Callable[..., Any] | None:
    """What an operator is in terms of others, if that is written in Python."""
    return _table().get(target) or OF_TORCHVISION.get(target._schema.name)


def can_decompose(target: Operator) -> bool:
    """Whether there is the operator in terms of others."""
    return _rule_of(target) is not None or is_composite(target)


class ClosedSizeError(Exception):
    """What an operator is made of holds for some of the sizes that are open, as the example's; says which."""


class Decomposer:
    """Traces decompositions, one for every operator and argument shapes."""

    def __init__(self) -> None:
        self._graphs: dict[Any, GraphModule | None] = {}

    def graph(
        self, target: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> tuple[GraphModule, list[Node]] | None:
        """A graph that computes a call, and the nodes to feed to its placeholders. None if it does not trace.

        Only nodes are placeholders; other arguments are part of the graph. `result` is an example of what the operator
        itself gives, whose types the graph's outputs have. ClosedSizeError if it traces for some of the
        sizes that are open.
        """
        leaves, spec = pytree.tree_flatten((args, kwargs))
        inputs = list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, Node)))
        key = _key(target, leaves, spec, inputs)
        if key is None:
            graph = _trace(target, leaves, spec, inputs, result)
        elif key in self._graphs:
            graph = self._graphs[key]
        else:
            graph = self._graphs[key] = _trace(target, leaves, spec, inputs, result)
        return None if graph is None else (graph, inputs)

    def traced(self, call: Callable[..., Any], inputs: list[Node]) -> GraphModule | None:
        """A graph of what a function computes of the values of nodes. None if it does not trace."""
        try:
            graph = _traced(call, inputs)
        except ClosedSizeError:
            return None
        if graph is None or _has_mutation(graph):
            return None
        for each in graph.modules():
            if isinstance(each, GraphModule):
                each.graph.eliminate_dead_code()  # what a function takes the sizes of
        return graph

    def complex_graph(
        self, target: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[GraphModule, list[Node]] | None:
        """A graph of real numbers for a call with complex ones among its operands or results. None if there is none.

        Real and imaginary part of a complex operand are two placeholders, one behind the other, and those of a complex
        result two results.
        """
        leaves, spec = pytree.tree_flatten((args, kwargs))
        inputs = list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, Node)))
        rule = in_parts(target)

        def call(*parts: Any) -> Any:
            feeds = iter(parts)
            values = {node: _joined(node, feeds) for node in inputs}
            filled = [values[leaf] if isinstance(leaf, Node) else leaf for leaf in leaves]
            args, kwargs = pytree.tree_unflatten(filled, spec)
            return [part for each in pytree.tree_leaves(rule(*args, **kwargs)) for part in _computed_parts(each)]

        try:
            with torch.no_grad(), _silently(), _fake_mode(inputs), open_sizes(inputs):
                parts = [part for node in inputs for part in _example_parts(node.meta["val"])]
                graph = make_fx(call, decomposition_table=_table())(*parts)
        except Exception:  # whatever a decomposition raises: the operator then is refused
            return None
        if _has_mutation(graph):
            return None
        graph.graph.eliminate_dead_code()  # what `ComplexTensor` asks of its parts
        return graph, inputs


def _computed_parts(value: Any) -> list[Any]:
    """Real and imaginary part of a complex result; anything else itself.

    TypeError for a complex tensor that has none: a rule has lost what is in it.
    """
    if isinstance(value, ComplexTensor):
        return [value.re, value.im]
    if is_complex(value):
        raise TypeError("complex numbers that are not in parts")
    return [value]


def _example_parts(value: Any) -> list[Any]:
    """Tensors of the types of an operand's real and imaginary part; of what is not complex, itself."""
    if not is_complex(value):
        return [value]
    with value.fake_mode if isinstance(value, FakeTensor) else nullcontext():
        return [torch.empty(value.shape, dtype=value.dtype.to_real()) for _ in range(2)]


def _joined(node: Node, feeds: Iterator[Any]) -> Any:
    return ComplexTensor(next(feeds), next(feeds)) if is_complex(node.meta.get("val")) else next(feeds)


def _key(target: Operator, leaves: list[Any], spec: pytree.TreeSpec, inputs: list[Node]) -> Any:
    """Hashable description of a call, the order of its nodes included; None if sizes are symbolic."""
    key: list[Any] = [target, str(spec)]
    for leaf in leaves:
        if not isinstance(leaf, Node):
            key.append((type(leaf), leaf))
            continue
        value = leaf.meta.get("val")
        if not isinstance(value, torch.Tensor) or any(map(is_open, (*value.shape, *value.stride()))):
            return None
        sizes, strides = tuple(map(int, value.shape)), tuple(map(int, value.stride()))
        key.append((inputs.index(leaf), value.dtype, sizes, strides, value.requires_grad))
    return tuple(key)


def _in_types_of(found: Any, result: Any) -> Any:
    """What a rule gives in the types that the operator itself does: torch's Python of alpha_dropout gives float32 for
    halves."""
    given, spec = pytree.tree_flatten(found)
    wanted = pytree.tree_leaves(result)
    if len(given) != len(wanted):
        return found
    pairs = zip(given, wanted, strict=True)
    return pytree.tree_unflatten([_in_type_of(each, want) for each, want in pairs], spec)


def _in_type_of(value: Any, want: Any) -> Any:
    if not isinstance(value, torch.Tensor) or not isinstance(want, torch.Tensor) or value.dtype == want.dtype:
        return value
    return value.to(want.dtype)


def _trace(
    target: Operator, leaves: list[Any], spec: pytree.TreeSpec, inputs: list[Node], result: Any
) -> GraphModule | None:
    places = {node: index for index, node in enumerate(inputs)}

    def calling(rule: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            filled = [values[places[leaf]] if isinstance(leaf, Node) else leaf for leaf in leaves]
            args, kwargs = pytree.tree_unflatten(filled, spec)
            return _in_types_of(rule(*args, **kwargs), result)

        return call

    in_python = decomposition_table.get(target)
    graph = None
    if in_python is None or target in OWN or not _any_dynamic(inputs):
        try:
            graph = _traced(calling(_rule_of(target) or target), inputs, own=target in OWN)
        except ClosedSizeError:
            if in_python is None:
                raise
    if in_python is not None and (graph is None or _has_mutation(graph)):
        # The C++ of recurrent layers writes in place, and takes dynamic sizes for those of the example; their Python
        # does neither.
        graph = _traced(calling(in_python), inputs)
    if graph is None or _has_mutation(graph) or any(node.target is target for node in graph.graph.nodes):
        return None
    return graph


def _any_dynamic(inputs: list[Node]) -> bool:
    """Whether a node is a tensor with open sizes."""
    return any(is_dynamic(node.meta.get("val")) for node in inputs)


def _traced(call: Callable[..., Any], inputs: list[Node], *, own: bool = False) -> GraphModule | None:
    try:
        with torch.no_grad(), _silently(), _without_mkldnn(), _fake_mode(inputs), open_sizes(inputs):
            return make_fx(call, decomposition_table=_table())(*(node.meta["val"] for node in inputs))
    except _ShapeEnvGuardError as error:
        raise ClosedSizeError(str(error).rpartition(": ")[2]) from error
    except Exception as error:  # whatever a decomposition raises: the operator then stays as it is, or is torch's own
        if own:
            LOGGER.debug("a decomposition of xir's own raised %s: %s", type(error).__name__, error)
        return None


def _fake_mode(inputs: list[Node]) -> AbstractContextManager[Any]:
    """The mode of the program's tensors, where an operator may make one of open sizes alone."""
    values = [node.meta.get("val") for node in inputs]
    if not _any_dynamic(inputs) and any(isinstance(value, torch.Tensor) for value in values):
        return nullcontext()
    around = (node.meta.get("val") for node in inputs[0].graph.nodes) if inputs else ()
    return next((value.fake_mode for value in around if isinstance(value, FakeTensor)), nullcontext())


@contextmanager
def _silently() -> Generator[None]:
    """torch logs the stack of what a trace raises, which is no error here."""
    names = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")
    loggers = [logging.getLogger(name) for name in names]
    were = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, were, strict=True):
            logger.disabled = was


@contextmanager
def _without_mkldnn() -> Generator[None]:
    """With mkldnn torch takes a recurrent layer for one operator of that library, which nothing else has."""
    was = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(was)


def _has_mutation(graph: GraphModule) -> bool:
    return any(isinstance(node.target, Operator) and node.target._schema.is_mutable for node in graph.graph.nodes)
