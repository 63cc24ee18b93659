"""Source locations: building them cheaply, reading them, and writing them for a human.

The attributes are MLIR's own (`loc(unknown)`, `loc("f":1:2)`, `loc("name"(...))`, `loc(callsite(a at b))`,
`loc(fused[...])`). An imported op's location names the fx node, because SSA name hints are free to change, the ATen
operator, the line of the user's Python, and the module instance that was called there:

    loc("relu"(callsite("aten::relu"("model.py":41:0) at "features.0.2")))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from xir.ir.unverified import unverified

_NONE = NoneAttr()

Locatable = LocationAttr | Operation | SSAValue | Block | Region | None
"""What a diagnostic can point at: a location, or IR that has one."""


@dataclass(frozen=True)
class SourceOrigin:
    """One place in the model that an op comes from; "" and line 0 are unknown."""

    file: str = ""
    line: int = 0
    """Counted from 1."""
    module: str = ""
    """The path of the module instance, as in `named_modules()`."""
    op: str = ""
    """The ATen operator, such as `aten::add.Tensor`."""
    name: str = ""
    """Of the node in the exported graph."""


def file_location(filename: str | StringAttr, line: int, column: int = 0) -> FileLineColLoc:
    """`loc("filename":line:column)`. Lines and columns count from 1; column 0 means "the line, no column known"."""
    name = filename if isinstance(filename, StringAttr) else StringAttr(filename)
    return unverified(FileLineColLoc, filename=name, line=IntAttr(line), column=IntAttr(column))


def place(text: str) -> FileLineColLoc:
    """What a diagnostic points at that is in no file, in words: `calibration input 3`. It is no location of an op."""
    return file_location(text, 0)


def name_location(name: str, child: LocationAttr | None = None) -> NameLoc:
    """`loc("name"(child))`, the form every imported op carries: the fx node's name around its source line."""
    return unverified(NameLoc, desc=StringAttr(name), location=_NONE if child is None else child)


def call_location(line: LocationAttr, op: str, module: str) -> LocationAttr:
    """A call of an operator at a line, in a module instance; `op` and `module` may be empty."""
    call = name_location(op, line) if op else line
    return unverified(CallSiteLoc, callee=call, caller=name_location(module)) if module else call


def fused_location(*locations: LocationAttr) -> LocationAttr:
    """The location of an op made from several: their fusion, flattened, each once, unknown ones left out."""
    parts = tuple(dict.fromkeys(part for location in locations for part in parts_of(location)))
    if not parts:
        return UNKNOWN_LOC
    return parts[0] if len(parts) == 1 else unverified(FusedLoc, locations=ArrayAttr(parts), metadata=_NONE)


def parts_of(location: LocationAttr) -> tuple[LocationAttr, ...]:
    """The places that a location names: those fused in it, or itself; none if it is unknown."""
    if isinstance(location, FusedLoc):
        return tuple(cast("ArrayAttr[LocationAttr]", location.locations))
    return () if location == UNKNOWN_LOC else (location,)


def location_of(where: Locatable) -> LocationAttr:
    """The location of an op, value, block or region (its nearest enclosing op's where it has none of its own)."""
    if where is None:
        return UNKNOWN_LOC
    if isinstance(where, Operation):
        return where.location
    if isinstance(where, BlockArgument):
        return where.location if where.location != UNKNOWN_LOC else location_of(where.block)
    if isinstance(where, SSAValue):
        return location_of(where.owner)
    if isinstance(where, Block | Region):
        return location_of(where.parent_op())
    return where


def find_file_location(location: Attribute) -> FileLineColLoc | None:
    """The `file:line:col` to show for a location: a call site's callee, a fusion's first part that has one."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc(location=child):
            return find_file_location(child)
        case CallSiteLoc(callee=callee, caller=caller):
            return find_file_location(callee) or find_file_location(caller)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((found for part in parts if (found := find_file_location(part)) is not None), None)
        case _:
            return None


def find_name(location: Attribute) -> str | None:
    """The outermost name in a location (an fx node's or a module path), or None."""
    match location:
        case NameLoc(desc=desc):
            return desc.data
        case CallSiteLoc(callee=callee, caller=caller):
            return find_name(callee) or find_name(caller)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((found for part in parts if (found := find_name(part)) is not None), None)
        case _:
            return None


def format_location(location: LocationAttr) -> str:
    """`file:line:col`, as much of it as is known; else the name of the value, its operator and its module.

    A node's name alone says little to whoever wrote the model: `value 'add_3' (aten::add.Tensor in module 'head')`.
    """
    if (found := find_file_location(location)) is not None:
        known = (found.line.data, found.column.data) if found.line.data else ()
        return ":".join([found.filename.data, *(str(number) for number in known if number)])
    origin = next(iter(origins_of(location)), SourceOrigin())
    value = f"value '{origin.name}'" if origin.name else ""
    inside = " in ".join(filter(None, (origin.op, f"module '{origin.module}'" if origin.module else "")))
    if value and inside:
        return f"{value} ({inside})"
    return value or inside or "unknown place"


def has_line(location: LocationAttr) -> bool:
    """Whether a location says a line of a file."""
    found = find_file_location(location)
    return found is not None and found.line.data > 0


def location_of_all(ops: Sequence[Operation]) -> LocationAttr:
    """Where what is made of some ops is: the first of their locations that says a line, else the first one."""
    return next((op.location for op in ops if has_line(op.location)), ops[0].location)


def origins_of(location: LocationAttr) -> tuple[SourceOrigin, ...]:
    """The places in the model that a location names, each once, in its order.

    Parts that are no more than a name, such as a weight's, are left out where others say more.
    """
    origins = dict.fromkeys(_origin(part) for part in parts_of(location))
    told = [origin for origin in origins if origin.file or origin.op or origin.module]
    return tuple(told or (origin for origin in origins if origin.name))


def _origin(location: LocationAttr) -> SourceOrigin:
    """The origin that one part of a location tells."""
    names: list[str] = []
    module = ""
    inner: Attribute = location
    while not isinstance(inner, FileLineColLoc):
        match inner:
            case NameLoc(desc=desc, location=child):
                names.append(desc.data)
                inner = child
            case CallSiteLoc(callee=callee, caller=caller):
                module = find_name(caller) or module
                inner = callee
            case FusedLoc(locations=ArrayAttr(data=parts)) if parts:
                inner = parts[0]
            case _:
                break
    op = next((name for name in names if "::" in name), "")
    name = next((name for name in names if "::" not in name), "")
    if isinstance(inner, FileLineColLoc):
        return SourceOrigin(inner.filename.data, inner.line.data, module, op, name)
    return SourceOrigin("", 0, module, op, name)
