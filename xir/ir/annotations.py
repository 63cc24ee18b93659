"""The attributes `xir.*`, which passes and the importer attach to ops and to functions' arguments.

Those of ops may be dropped without changing what a program computes; those of arguments, and `in_spec` and `out_spec`,
say what the caller gives and gets. None may be misspelt or of another type: the verifier looks at each one, wherever it
stands.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

PREFIX = "xir."

MAX_SHAPE = "xir.max_shape"
MAX_SHAPES = "xir.max_shapes"
MIN_SHAPE = "xir.min_shape"
DIM_NAMES = "xir.dim_names"
DIM_ORDER = "xir.dim_order"
VALUE = "xir.value"
IN_SPEC = "xir.in_spec"
OUT_SPEC = "xir.out_spec"
ORIGINS = "xir.origins"
REASON = "xir.reason"
TAKEN_BACK = "xir.taken_back"
BACKEND = "xir.backend"
NODES = "xir.nodes"
ONLY_MOVES = "xir.only_moves"
LOOKED_THROUGH = "xir.looked_through"
COMPOSED = "xir.composed"
UNASKED = "xir.unasked"
STAYS = "xir.stays"


@dataclass(frozen=True)
class Annotation:
    """What values an attribute of a given name may have."""

    expected: str
    """How its value is written."""
    holds: Callable[[Attribute], bool]
    """Whether a value is allowed."""
    meaning: str


def is_string(attribute: Attribute) -> bool:
    """`"text"`."""
    return isinstance(attribute, StringAttr)


def is_int_array(attribute: Attribute) -> bool:
    """`array<i64: 1, 2>`."""
    return isinstance(attribute, DenseArrayBase) and attribute.elt_type == i64


def is_taken_back(attribute: Attribute) -> bool:
    """`{backend = {pass = "name", reason = "text"}}`."""
    return isinstance(attribute, DictionaryAttr) and all(map(is_late_refusal, attribute.data.values()))


def is_late_refusal(attribute: Attribute) -> bool:
    """`{pass = "name", reason = "text"}`."""
    if not isinstance(attribute, DictionaryAttr) or set(attribute.data) != {"pass", "reason"}:
        return False
    return all(map(is_string, attribute.data.values()))


def is_integer(attribute: Attribute) -> bool:
    """`1 : i64`."""
    return isinstance(attribute, IntegerAttr) and attribute.type == i64


def is_fixed(attribute: Attribute) -> bool:
    """A number of 64 bits, a truth value, a string, or a unit attribute for None."""
    match attribute:
        case IntegerAttr():
            return attribute.type in (i1, i64)
        case FloatAttr():
            return attribute.type == f64
        case _:
            return isinstance(attribute, StringAttr | UnitAttr)


def is_unit(attribute: Attribute) -> bool:
    """A unit attribute: only the name counts."""
    return isinstance(attribute, UnitAttr)


def array_of(holds: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    """An array of such attributes."""
    return lambda attribute: isinstance(attribute, ArrayAttr) and all(holds(each) for each in attribute.data)


STRING, INTS, STRINGS = '"…"', "array<i64: …>", '["…", …]'

ON_OPS: dict[str, Annotation] = {
    MAX_SHAPES: Annotation(
        f"[{INTS}, …]", array_of(is_int_array), "the largest shape of each result, of an op without shape inference"
    ),
    DIM_NAMES: Annotation(
        f"[{STRINGS}, …]",
        array_of(array_of(is_string)),
        "for each result the names of its dimensions, empty for a static one: dimensions of one name have one size",
    ),
    IN_SPEC: Annotation(STRING, is_string, "of a function: how its inputs are nested, as ExecuTorch writes it"),
    OUT_SPEC: Annotation(STRING, is_string, "of a function: how its outputs are nested, as ExecuTorch writes it"),
    ORIGINS: Annotation(INTS, is_int_array, "the numbers of the program's ops that an op is made of, ascending"),
    REASON: Annotation(STRING, is_string, "why the op is not delegated"),
    TAKEN_BACK: Annotation(
        '{backend = {pass = "…", reason = "…"}}',
        is_taken_back,
        "excludes the op from a backend: a pass found that the backend refuses the nodes that passes had made of it",
    ),
    BACKEND: Annotation(STRING, is_string, "the backend that accepts the op"),
    NODES: Annotation("2 : i64", is_integer, "the number of operations that the op becomes in that backend, if not 1"),
    ONLY_MOVES: Annotation("unit", is_unit, "the op only moves data in that backend"),
    COMPOSED: Annotation(STRING, is_string, "the operation that this op and others compute together"),
    UNASKED: Annotation("unit", is_unit, "a conversion of the compiler's own: its rounding may be omitted"),
    STAYS: Annotation(
        "unit", is_unit, "of a plan with open sizes that is not raised: nothing is changed in it, its delegates neither"
    ),
    LOOKED_THROUGH: Annotation("unit", is_unit, "the op goes into the delegate of the ops that read it"),
}
"""Name -> what it says of an op."""

ON_ARGUMENTS: dict[str, Annotation] = {
    MAX_SHAPE: Annotation(INTS, is_int_array, "the largest shape that a caller may give"),
    MIN_SHAPE: Annotation(
        INTS, is_int_array, "the smallest shape that a caller may give, 0 where torch.export gives no bound"
    ),
    DIM_NAMES: Annotation(
        STRINGS, array_of(is_string), "the names of its dimensions, empty for a static one, as on an op"
    ),
    DIM_ORDER: Annotation(
        INTS,
        is_int_array,
        "the type is that of the memory; the caller sees dimension i of it as dimension dim_order[i]: an image in "
        "channels-last memory, which torch sees as [N, C, H, W], has [0, 2, 3, 1]",
    ),
    VALUE: Annotation(
        'unit, 3 : i64, true, 0.5 : f64 or "…"',
        is_fixed,
        "the caller has to pass the value that the program was exported for, None for a unit; ops already contain it. "
        "None and strings have type none",
    ),
}
"""Name -> what it says of a function's argument."""

ON_RESULTS: dict[str, Annotation] = {DIM_ORDER: ON_ARGUMENTS[DIM_ORDER]}
"""Name -> what it says of a function's result."""


def problems(op: Operation) -> Iterator[str]:
    """What is wrong with the attributes `xir.*` of a verified op, and of its arguments and results if it is a
    function."""
    yield from _problems(op.attributes, ON_OPS, "")
    if isinstance(op, FuncOp) and op.arg_attrs is not None:
        for number, attributes in enumerate(op.arg_attrs.data):
            yield from _problems(attributes.data, ON_ARGUMENTS, f" of argument {number}")
    if isinstance(op, FuncOp) and op.res_attrs is not None:
        for number, attributes in enumerate(op.res_attrs.data):
            yield from _problems(attributes.data, ON_RESULTS, f" of result {number}")


def _problems(attributes: Mapping[str, Attribute], known: Mapping[str, Annotation], of: str) -> Iterator[str]:
    for name, value in attributes.items():
        if not name.startswith(PREFIX):
            continue
        if (annotation := known.get(name)) is None:
            close = difflib.get_close_matches(name, known, n=1)
            yield f"has an unknown attribute '{name}'{of}{f', did you mean {close[0]!r}?' if close else ''}"
        elif not annotation.holds(value):
            yield f"has '{name}'{of} = {value}, expected {annotation.expected}"
