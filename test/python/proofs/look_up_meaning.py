"""What edge ops that look something up mean, by ATen's definitions: rows and elements at positions.

A position that is known is a number, and what stands there is taken; of any other it is a choice among all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import z3

from proofs.extended import Term, choose
from proofs.terms import Terms, each

OUTSIDE = z3.Real("outside")
"""What stands where a table has no row; a program that looks there has no meaning, but keeps it."""


def whole(term: Term) -> int | None:
    """The integer that a term is; None if it depends on variables."""
    term = z3.simplify(term)
    return term.as_long() if z3.is_int_value(term) else None


def row_at(rows: Terms, position: Term, *, from_end: bool = False) -> Terms:
    """The row at a position, which may count from the end."""
    place = whole(position)
    if place is not None:
        place += len(rows) if from_end and place < 0 else 0
        found = rows[place] if 0 <= place < len(rows) else OUTSIDE
        return np.broadcast_to(np.asarray(found, object), rows.shape[1:])
    found = np.full(rows.shape[1:], z3.IntVal(0) if is_integral(rows) else OUTSIDE, object)
    for index, row in enumerate(rows):
        is_here = z3.Or(position == index, position == index - len(rows)) if from_end else position == index
        found = each(lambda new, old, is_here=is_here: choose(is_here, new, old), row, found)
    return found


def is_integral(values: Terms) -> bool:
    """Whether terms are integers."""
    return values.size > 0 and z3.is_expr(values.flat[0]) and z3.is_int(values.flat[0])


def rows_at(rows: Terms, positions: Terms, *, from_end: bool = False) -> Terms:
    """Rows [..., *row] at positions [...]."""
    result = np.empty((*positions.shape, *rows.shape[1:]), object)
    for index in np.ndindex(*positions.shape):
        result[index] = row_at(rows, positions[index], from_end=from_end)[()]
    return result


def embedding(*, weight: Terms, indices: Terms, **_: Any) -> Terms:
    return rows_at(weight, indices)


def gather(*, self: Terms, dim: int, index: Terms, **_: Any) -> Terms:
    columns, positions = np.moveaxis(self, dim, 0), np.moveaxis(index, dim, 0)
    result = np.empty(positions.shape, object)
    for place in np.ndindex(*positions.shape):
        result[place] = row_at(columns[:, *place[1:]], positions[place]).item()
    return np.moveaxis(result, 0, dim)


def index_select(*, self: Terms, dim: int, index: Terms) -> Terms:
    return np.moveaxis(rows_at(np.moveaxis(self, dim, 0), index), 0, dim)


def indexed(*, self: Terms, indices: Sequence[Terms | None]) -> Terms:
    """Rows of the first dimension, or known positions in any dimensions."""
    first, *others = indices
    if first is not None and not [each for each in others if each is not None]:
        return rows_at(self, first, from_end=True)
    places = [slice(None) if index is None else known_places(index) for index in indices]
    return self[tuple(places)]


def known_places(positions: Terms) -> np.ndarray:
    """Positions that follow from no variable."""
    found = [whole(term) for term in positions.flat]
    numbers = [place for place in found if place is not None]
    assert len(numbers) == len(found), "positions that are not known"
    return np.array(numbers, np.int64).reshape(positions.shape)


def unpacked(bits: int) -> Callable[[Terms], Terms]:
    """Integers [rows, features] of a table that has several in a byte, as ExecuTorch's kernels read it
    (`kernels/quantized/cpu/op_embedding4b.cpp` and `op_embedding2b.cpp`)."""
    per_byte, half = 8 // bits, 1 << (bits - 1)

    def of(table: Terms) -> Terms:
        result = np.empty((len(table), table.shape[1] * per_byte), object)
        for row, column in np.ndindex(*result.shape):
            byte, place = whole(table[row, column // per_byte]), column % per_byte
            assert byte is not None, "a table that is not known"
            shift = bits * (per_byte - 1 - place if bits == 4 else place)
            result[row, column] = z3.IntVal((byte >> shift & (1 << bits) - 1) - half)
        return result

    return of


def quantized_rows(table_of: Callable[[Terms], Terms]) -> Callable[..., Terms]:
    """Dequantised rows of a table, with parameters for each row, or for groups of it."""

    def look_up(
        *, weight: Terms, weight_scales: Terms, weight_zero_points: Terms | None, indices: Terms, **_: Any
    ) -> Terms:
        table = table_of(weight)
        scales = weight_scales.reshape(len(table), -1)
        scales = np.repeat(scales, table.shape[1] // scales.shape[1], axis=1)
        points = np.zeros(table.shape, object)
        if weight_zero_points is not None:
            points = weight_zero_points.reshape(len(table), -1)
            points = np.repeat(points, table.shape[1] // points.shape[1], axis=1)
        return rows_at((table - points) * scales, indices)

    return look_up


MEANINGS: Mapping[str, Callable[..., Any]] = {
    "embedding": embedding,
    "gather": gather,
    "index_select": index_select,
    "index.Tensor": indexed,
    **{
        f"quantized_decomposed.embedding_{name}{suffix}": quantized_rows(table_of)
        for name, table_of in (("byte", lambda table: table), ("4bit", unpacked(4)), ("2bit", unpacked(2)))
        for suffix in ("", ".dtype")
    },
}
