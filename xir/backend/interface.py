"""What a backend is: all that the compiler needs to know to delegate ops, and to write and read what becomes of them.

The general passes (`mark-delegates`, `form-delegates`), `lower-to-pte`, the emitter and the reader know backends by
this interface alone, and find them in `xir.backend.registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xir.dialects.delegate import GraphOp
from xir.ir.context import XirContext
from xir.ir.targets import Target

if TYPE_CHECKING:
    from xir.dialects.edge import EdgeOp
    from xir.emitter.data import Data
    from xir.emitter.debug_info import DebugInfoWriter
    from xir.transforms.analysis.refusal import RefusalError


@dataclass(frozen=True)
class Request:
    """The user's requests to a backend."""

    target: Target = "executorch"
    """The runtime whose features may be used."""
    check: bool = True
    """Ask the backend's library itself, if it is installed, whether it accepts an op."""


@dataclass
class Taken:
    """A backend's answer about an op that it accepts."""

    nodes: int = 1
    """The number of nodes that the op becomes."""
    only_moves: bool = False
    """Whether the op only moves data, or fills it in, and computes nothing."""
    built: Sequence[Operation] = ()
    """The ops already built for it, which are in no block yet; legalisation gets them back. They read the program's
    values."""
    values: Sequence[SSAValue] | None = None
    """The values that replace the op's results, if ops were built: results of `built`, or values of the program."""

    @property
    def does_nothing(self) -> bool:
        """Whether the results are existing values."""
        return self.values is not None and all(value.owner not in self.built for value in self.values)


class Trial(ABC):
    """Tries the ops of a module, one after the other."""

    def begin(self, block: Block) -> None:
        """Called before the ops of a function are tried, with its block; the ops may be in nested regions."""
        return

    @abstractmethod
    def take(self, op: EdgeOp) -> Taken:
        """Accept an op. Raises RefusalError if the backend does not compute it."""

    def looks_through(self, op: EdgeOp) -> bool:
        """Whether the op needs no node of its own, because its users read through it.

        Such an op is tried only if it has other users as well.
        """
        return False

    def joins(self, graph: GraphOp) -> bool:
        """Whether a graph of the backend that the program has already may become part of a new one."""
        return True

    def notes(self) -> Sequence[str]:
        """Notes for the user about the whole trial, such as that there was no library to ask."""
        return ()


@dataclass(frozen=True)
class Blob:
    """A delegate's bytes, and the constants that it asks for by name, in the order of its values."""

    content: bytes
    named_data: dict[str, Data] = field(default_factory=dict[str, "Data"])


@dataclass(frozen=True)
class ReadBlob:
    """A delegate that has been read.

    `graph` has no operands yet: `input_types` are the types of its block's arguments. `value_ids` are the ids that the
    file gave to the arguments and to the results of the block's ops in order, None where they are those that `write`
    would give. `used_keys` are the keys of the program's named data that belong to the delegate.
    """

    graph: GraphOp
    input_types: list[Attribute]
    value_ids: list[int] | None = None
    used_keys: set[str] = field(default_factory=set[str])


class Backend(ABC):
    """A backend. It has no state: facts about a program are in a `Trial`."""

    name: str
    """Its name in options of passes and in the attribute `xir.backend`."""
    ids: Mapping[Target, str]
    """Its id in a file, by the runtime that the file is for. Without an id for `executorch`, it runs in xir only."""

    @abstractmethod
    def trial(self, ctx: XirContext, request: Request) -> Trial:
        """A trial of the ops of a module."""

    @abstractmethod
    def legalize(
        self,
        ctx: XirContext,
        ops: Sequence[Operation],
        outputs: Sequence[SSAValue],
        taken: Mapping[Operation, Taken],
        request: Request,
    ) -> GraphOp:
        """The graph of a delegate that computes `ops`, which a trial has `taken`.

        The ops are in this order in one block. `outputs` are the results that other ops read, which are the graph's
        results, in order. The graph's operands are values of other ops. The caller inserts the graph after the last op,
        and erases the ops.
        """

    def check(self, ctx: XirContext, graphs: Sequence[GraphOp], request: Request) -> Mapping[Operation, RefusalError]:
        """The ops of finished graphs, or whole graphs, that the backend refuses, with the reasons.

        `graphs` are all of the backend's graphs in a module, at their largest shapes; those with dynamic shapes are
        copies without operands. The ops returned are left outside when delegates are formed again. By default, nothing
        is refused.
        """
        return {}

    def id_of(self, graph: GraphOp) -> str:
        """The id that a graph has in a file: that of its property `target`, or the only one."""
        target = graph.properties.get("target")
        if isinstance(target, StringAttr):
            return next(id for name, id in self.ids.items() if name == target.data)
        (id,) = self.ids.values()
        return id

    def bound(self, graph: GraphOp, largest: Mapping[SSAValue, TensorType]) -> None:
        """Give values with dynamic dimensions their largest types, the only ones that a file holds."""
        for value, type in largest.items():
            Rewriter.replace_value_with_new_type(value, type)

    @abstractmethod
    def write(
        self, graph: GraphOp, ctx: XirContext, value_ids: Sequence[int] | None, debug_info: DebugInfoWriter | None
    ) -> Blob:
        """The bytes of a verified graph.

        `value_ids` are ids for the values, in the order of `ReadBlob`; a format without ids ignores them. The origins
        of the graph's nodes go into `debug_info`. Raises DiagnosticError for what the format cannot hold.
        """

    @abstractmethod
    def read(self, data: memoryview, id: str, named_data: Mapping[str, memoryview], ctx: XirContext) -> ReadBlob:
        """Read the bytes of a delegate with one of the backend's ids, which are not trusted.

        `named_data` is the program's. Raises FormatError for anything that is not a valid graph.
        """
