"""A module at one point of a pipeline: its text, and its ops with what the page tells about each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from io import StringIO

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import ConstantLike

from xir.dialects.pte.values import TensorOp, ValueOp
from xir.ir.annotations import ORIGINS
from xir.ir.diagnostics import op_name
from xir.ir.location import SourceOrigin, origins_of
from xir.ir.printer import XirPrinter
from xir.transforms.analysis.cost import bytes_moved, multiply_adds

MOST_ELEMENTS = 8
"""Constants with more are shown without them."""

_NUMBERS = re.compile(r"[-+0-9.e]+(?::-?\d+)?(?:, [-+0-9.e]+(?::-?\d+)?){11,}")
"""A list of more numbers than one wants to read, such as the scales of a filter's channels."""


@dataclass(frozen=True)
class Use:
    """A value that an op reads or makes."""

    owner: int
    """The entry that makes it; -1 if that is not in the module."""
    name: str
    type: str


@dataclass
class SnapshotEntry:
    """An op, or an argument of a block."""

    name: str
    label: str
    """The short name for a picture, without the dialect."""
    first: int
    """Its first line in the text, and its last, counted from 0."""
    last: int
    parent: int = -1
    """The entry of the op around it."""
    operands: list[Use] = field(default_factory=list[Use])
    results: list[Use] = field(default_factory=list[Use])
    places: tuple[SourceOrigin, ...] = ()
    macs: int | None = None
    nbytes: int | None = None
    constant: bool = False
    """Whether pictures leave it out, as one of the data that others read."""


@dataclass
class Snapshot:
    """A module's text without the weights, and an entry for each op and block argument, in the order of the text."""

    lines: list[str]
    entries: list[SnapshotEntry]
    index: Mapping[Operation | BlockArgument, int]
    """The entry of each op and argument of the module that this was taken of."""


def take(module: ModuleOp) -> Snapshot:
    """The module as it is now."""
    stream = _CountingStream()
    printer = _EntryPrinter(stream, elide_elements_above=MOST_ELEMENTS)
    printer.print_op(module)
    entries: list[SnapshotEntry] = []
    index: dict[Operation | BlockArgument, int] = {}
    _enter(module, -1, printer, entries, index)
    for op, number in index.items():
        if isinstance(op, Operation):
            entries[number].operands = [
                Use(index.get(_owner(value), -1), printer.name_of(value), value_type(value)) for value in op.operands
            ]
    return Snapshot([_shortened(line) for line in stream.getvalue().split("\n")], entries, index)


def full_text(module: ModuleOp) -> str:
    """All of a module that a stage shows or draws upon, its locations as well, to tell whether it changed."""
    stream = _CountingStream()
    _EntryPrinter(stream, elide_elements_above=None, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def _owner(value: SSAValue) -> Operation | BlockArgument:
    """What makes a value."""
    if isinstance(value, BlockArgument):
        return value
    assert isinstance(value, OpResult)
    return value.op


def _enter(
    op: Operation,
    parent: int,
    printer: _EntryPrinter,
    entries: list[SnapshotEntry],
    index: dict[Operation | BlockArgument, int],
) -> None:
    own = index[op] = len(entries)
    first, last = printer.spans.get(op, (0, 0))
    constant = is_constant(op)
    entries.append(
        SnapshotEntry(
            op_name(op),
            label_of(op),
            first,
            last,
            parent,
            results=[Use(own, printer.name_of(value), value_type(value)) for value in op.results],
            places=origins_of(op.location),
            macs=multiply_adds(op),
            nbytes=None if constant or op.regions else bytes_moved(op),
            constant=constant,
        )
    )
    for region in op.regions:
        for block in region.blocks:
            _enter_arguments(block, own, first, printer, entries, index)
            for inner in block.ops:
                _enter(inner, own, printer, entries, index)


def _enter_arguments(
    block: Block,
    parent: int,
    line: int,
    printer: _EntryPrinter,
    entries: list[SnapshotEntry],
    index: dict[Operation | BlockArgument, int],
) -> None:
    for argument in block.args:
        number = index[argument] = len(entries)
        value = Use(number, printer.name_of(argument), value_type(argument))
        # The text has arguments in the line of a function, or the one below an op's.
        entries.append(SnapshotEntry("block argument", value.name, line, line, parent, results=[value]))


def label_of(op: Operation) -> str:
    """An op's name in a picture: what it computes, without dialect and overload."""
    name = op_name(op)
    if name in ("pte.kernel_call", "pte.delegate_call"):
        called = op.properties.get("kernel") or op.properties.get("delegate")
        text = str(called).strip('"').removeprefix("aten::")
        return f"delegate {text}" if name == "pte.delegate_call" else text
    if (symbol := op.properties.get("sym_name")) is not None:
        return f"{name.rpartition('.')[2]} @{getattr(symbol, 'data', symbol)}"
    kind = op.properties.get("kind")
    if kind is not None:
        text = getattr(kind, "data", None)
        return text if isinstance(text, str) else str(kind)
    return name.partition(".")[2] or name


def is_constant(op: Operation) -> bool:
    """Whether an op is data, and no part of what is computed."""
    if isinstance(op, ValueOp):
        return True
    return not op.regions and not isinstance(op, UnregisteredOp) and op.has_trait(ConstantLike)


def value_type(value: SSAValue) -> str:
    """A value's type as text; a tensor of a program's is that which the tensor has."""
    owner = value.owner
    return _type_text(owner.tensor_type if isinstance(owner, TensorOp) else value.type)


@lru_cache(maxsize=8192)
def _type_text(type: Attribute) -> str:
    stream = StringIO()
    XirPrinter(stream).print_attribute(type)
    return _shortened(stream.getvalue())


def _shortened(line: str) -> str:
    """A line with its long lists of numbers cut."""
    return _NUMBERS.sub(_cut, line) if len(line) > 100 else line


def _cut(match: re.Match[str]) -> str:
    numbers = match[0].split(", ")
    return f"{', '.join(numbers[:3])}, … {len(numbers)} in all"


class _CountingStream(StringIO):
    """A stream that knows how many lines it has begun."""

    line = 0

    def write(self, text: str, /) -> int:
        self.line += text.count("\n")
        return super().write(text)


class _EntryPrinter(XirPrinter):
    """A printer that notes the lines of each op, and the name of each value."""

    stream_lines: _CountingStream

    def __init__(self, stream: _CountingStream, *, elide_elements_above: int | None, print_debuginfo: bool = False):
        super().__init__(stream, elide_elements_above=elide_elements_above, print_debuginfo=print_debuginfo)
        self.stream_lines = stream
        self.spans: dict[Operation, tuple[int, int]] = {}
        self._names: dict[SSAValue, str] = {}

    def name_of(self, value: SSAValue) -> str:
        """`%name` as printed; values that no text names have none."""
        return self._names.get(value, "")

    def print_ssa_value(self, value: SSAValue) -> str:
        name = super().print_ssa_value(value)
        self._names[value] = f"%{name}"
        return name

    def print_op_attributes(
        self,
        attributes: Mapping[str, Attribute],
        *,
        reserved_attr_names: Iterable[str] = (),
        print_keyword: bool = False,
    ) -> bool:
        # They are the compiler's book-keeping. With them nearly all lines would change where they come and go.
        hidden = (*reserved_attr_names, ORIGINS)
        return super().print_op_attributes(attributes, reserved_attr_names=hidden, print_keyword=print_keyword)

    def print_op(self, op: Operation) -> None:
        first = self.stream_lines.line
        super().print_op(op)
        self.spans[op] = (first, self.stream_lines.line)


def symbol_of(op: Operation) -> str:
    """The name that an op defines; "" if it defines none."""
    symbol = op.properties.get("sym_name")
    return symbol.data if isinstance(symbol, StringAttr) else ""
