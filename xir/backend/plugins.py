"""Backends of plugins, whose answers are checked: a wrong one is told at the plugin's function that gave it.

Unchecked, it would fail somewhere in the compiler, where nobody looks for the plugin's mistake.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.backend.interface import Backend, Blob, ReadBlob, Request, Taken, Trial
from xir.backend.registry import BACKENDS, BackendFactory
from xir.dialects.delegate import GraphOp
from xir.ir.context import XirContext
from xir.ir.plugin_bugs import WrongResultError

if TYPE_CHECKING:
    from xir.dialects.edge import EdgeOp
    from xir.emitter.debug_info import DebugInfoWriter
    from xir.transforms.analysis.refusal import RefusalError

T = TypeVar("T")


def register_backend(name: str, factory: BackendFactory) -> None:
    """Add a backend from outside: a class, or a function that makes one.

    ValueError if there is one of that name, TypeError for a class that is no backend, or lacks methods of one.
    """
    if name in BACKENDS:
        raise ValueError(f"there is a backend '{name}' already")
    if isinstance(factory, type):
        if not issubclass(factory, Backend):
            raise TypeError(f"{factory.__qualname__} is no Backend: derive it from xir.plugin.Backend")
        if missing := sorted(factory.__abstractmethods__):
            raise TypeError(f"{factory.__qualname__} lacks {', '.join(missing)} of a Backend")
    BACKENDS[name] = lambda: _checked(name, factory)


def _checked(name: str, factory: BackendFactory) -> Backend:
    """A plugin's backend, whose answers are checked."""
    made = _instance(factory, factory(), Backend, "a Backend")
    where = type(made).trial
    if getattr(made, "name", None) != name:
        raise WrongResultError(where, f"is of a backend that is registered as {name!r}: its `name` has to be that")
    ids: object = getattr(made, "ids", None)
    if not isinstance(ids, Mapping) or not ids or not _all(ids.values(), str):
        raise WrongResultError(where, "is of a backend without `ids`, which are its ids in files by target")
    return _CheckedBackend(made)


class _CheckedTrial(Trial):
    """Asks a plugin's trial."""

    def __init__(self, trial: Trial):
        self.trial = trial

    def begin(self, block: Block) -> None:
        self.trial.begin(block)

    def take(self, op: EdgeOp) -> Taken:
        ask = self.trial.take
        taken = _instance(ask, ask(op), Taken, "a Taken, or to raise a RefusalError")
        nodes: Any = taken.nodes
        if not isinstance(nodes, int) or nodes < 0:
            raise _wrong(ask, "a Taken with a number of nodes", nodes)
        if not _all(taken.built, Operation):
            raise _wrong(ask, "a Taken whose `built` are operations", taken.built)
        values = taken.values
        if values is not None and (not _all(values, SSAValue) or len(values) != len(op.results)):
            raise _wrong(ask, f"a Taken with a value for each of {len(op.results)} results", values)
        return taken

    def looks_through(self, op: EdgeOp) -> bool:
        ask = self.trial.looks_through
        return _instance(ask, ask(op), bool, "True or False")

    def joins(self, graph: GraphOp) -> bool:
        ask = self.trial.joins
        return _instance(ask, ask(graph), bool, "True or False")

    def notes(self) -> Sequence[str]:
        ask = self.trial.notes
        notes = ask()
        if not _all(notes, str):
            raise _wrong(ask, "a list of texts", notes)
        return notes


class _CheckedBackend(Backend):
    """Asks a plugin's backend."""

    def __init__(self, backend: Backend):
        self.backend = backend
        self.name = backend.name
        self.ids = backend.ids

    def trial(self, ctx: XirContext, request: Request) -> Trial:
        ask = self.backend.trial
        return _CheckedTrial(_instance(ask, ask(ctx, request), Trial, "a Trial"))

    def legalize(
        self,
        ctx: XirContext,
        ops: Sequence[Operation],
        outputs: Sequence[SSAValue],
        taken: Mapping[Operation, Taken],
        request: Request,
    ) -> GraphOp:
        ask = self.backend.legalize
        graph = _instance(ask, ask(ctx, ops, outputs, taken, request), GraphOp, "a GraphOp")
        _check_graph(ask, graph, self.name)
        if graph.parent is not None:
            raise _wrong(ask, "a graph that is not in a block yet: the caller inserts it", graph)
        types, wanted = [each.type for each in graph.results], [each.type for each in outputs]
        if types != wanted:
            raise _other_types(ask, "a graph with results of the outputs' types", wanted, types)
        _check_arguments(ask, graph, [each.type for each in graph.operands])
        inside = {result for op in ops for result in op.results}
        if any(each in inside for each in graph.operands):
            raise WrongResultError(ask, "has to return a graph that reads no result of the ops that it replaces")
        return graph

    def check(self, ctx: XirContext, graphs: Sequence[GraphOp], request: Request) -> Mapping[Operation, RefusalError]:
        ask = self.backend.check
        refused: Any = ask(ctx, graphs, request)
        if not isinstance(refused, Mapping) or not _all(refused, Operation) or not _all(refused.values(), Exception):
            raise _wrong(ask, "a RefusalError by operation", refused)
        return refused

    def id_of(self, graph: GraphOp) -> str:
        ask = self.backend.id_of
        id = ask(graph)
        if id not in self.ids.values():
            raise _wrong(ask, f"one of the backend's ids, {', '.join(map(repr, self.ids.values()))}", id)
        return id

    def bound(self, graph: GraphOp, largest: Mapping[SSAValue, TensorType]) -> None:
        self.backend.bound(graph, largest)

    def write(
        self, graph: GraphOp, ctx: XirContext, value_ids: Sequence[int] | None, debug_info: DebugInfoWriter | None
    ) -> Blob:
        ask = self.backend.write
        blob = _instance(ask, ask(graph, ctx, value_ids, debug_info), Blob, "a Blob")
        content: Any = blob.content
        if not isinstance(content, bytes):
            raise _wrong(ask, "a Blob whose content is bytes", content)
        named: Any = blob.named_data
        if not _all(named, str) or not all(hasattr(data, "digest") for data in named.values()):
            raise _wrong(ask, "a Blob whose named_data has a Data by each name", named)
        return blob

    def read(self, data: memoryview, id: str, named_data: Mapping[str, memoryview], ctx: XirContext) -> ReadBlob:
        ask = self.backend.read
        blob = _instance(ask, ask(data, id, named_data, ctx), ReadBlob, "a ReadBlob, or to raise a FormatError")
        _check_graph(ask, _instance(ask, blob.graph, GraphOp, "a ReadBlob whose graph is a GraphOp"), self.name)
        if not _all(blob.input_types, Attribute):
            raise _wrong(ask, "a ReadBlob with the types of its inputs", blob.input_types)
        _check_arguments(ask, blob.graph, blob.input_types)
        if blob.value_ids is not None and len(blob.value_ids) != len(blob.graph.values):
            raise _wrong(ask, f"an id for each of {len(blob.graph.values)} values, or None", blob.value_ids)
        if not _all(blob.used_keys, str):
            raise _wrong(ask, "a ReadBlob with a set of keys", blob.used_keys)
        return blob


def _check_graph(function: Callable[..., Any], graph: GraphOp, name: str) -> None:
    """WrongResultError for a graph of another backend's, or one without a block that ends."""
    if getattr(graph, "BACKEND", None) != name:
        raise _wrong(function, f"a graph whose BACKEND is {name!r}", getattr(graph, "BACKEND", None))
    blocks = [block for region in graph.regions for block in region.blocks]
    if len(blocks) != 1 or blocks[0].last_op is None:
        raise WrongResultError(function, f"has to return a graph with one block that ends, not '{graph.name}' of none")


def _check_arguments(function: Callable[..., Any], graph: GraphOp, wanted: Sequence[Attribute]) -> None:
    """WrongResultError for a block whose arguments are not what the graph is given."""
    if (types := [each.type for each in graph.block.args]) != list(wanted):
        raise _other_types(function, "a graph whose block takes what it is given", wanted, types)


def _instance(function: Callable[..., Any], made: object, kind: type[T], wanted: str) -> T:
    if not isinstance(made, kind):
        raise _wrong(function, wanted, made)
    return made


def _wrong(function: Callable[..., Any], wanted: str, made: object) -> WrongResultError:
    return WrongResultError(function, f"has to return {wanted}; it returned {reprlib.repr(made)}")


def _all(values: Any, kind: type[Any]) -> bool:
    """Whether it is several values of a kind. A text is none, though it is a sequence."""
    return not isinstance(values, str) and isinstance(values, Iterable) and all(isinstance(v, kind) for v in values)


def _other_types(
    function: Callable[..., Any], what: str, wanted: Sequence[Attribute], made: Sequence[Attribute]
) -> WrongResultError:
    right, wrong = (f"({', '.join(map(str, types))})" for types in (wanted, made))
    return WrongResultError(function, f"has to return {what}, {right}; it returned one of {wrong}")
