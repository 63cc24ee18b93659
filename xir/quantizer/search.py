"""Leaving the worst layers in float until the outputs are good enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import name_location

from .report import QuantReport

T = TypeVar("T")

Attempt = Callable[[Sequence[str]], tuple[T, QuantReport]]
"""Quantises with the layers of these names in float."""


class NothingToQuantizeError(DiagnosticError):
    """No layer that the configuration covers computes on integers."""


def reach(target: float | None, attempt: Attempt[T]) -> tuple[T, QuantReport]:
    """The attempt that reaches `target` dB with the fewest of the worst layers in float; the first if that is None.

    Layers are ranked once, by the noise that each adds to exact operands. The number kept doubles until it is enough,
    and is then halved towards the last that was not: at most 2·log2(layers) attempts. DiagnosticError if the target is
    not reached before nothing is left to quantise.
    """
    first = attempt(())
    if target is None or first[1].output >= target:
        return first
    ranked = [layer.name for layer in first[1].layers]
    tried = [first[1].output]
    found: tuple[T, QuantReport] | None = None
    enough, too_few = 1, 0
    while found is None:
        result = _try(ranked[:enough], attempt) if enough < len(ranked) else None
        if result is None:
            raise DiagnosticError(
                name_location("quantize"),
                f"{target:g} dB are out of reach: the best of {len(tried)} attempts has {max(tried):.1f} dB; choose "
                "dynamic activations, or a lower min_sqnr",
            )
        tried.append(result[1].output)
        if result[1].output >= target:
            found = result
        else:
            too_few, enough = enough, max(enough + 1, min(2 * enough, len(ranked) - 1))
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        result = _try(ranked[:middle], attempt)
        if result is not None and result[1].output >= target:
            found, enough = result, middle
        else:
            too_few = middle
    return found


def _try(kept: Sequence[str], attempt: Attempt[T]) -> tuple[T, QuantReport] | None:
    """None if nothing is left to quantise: layers between floats alone stay float as well."""
    try:
        return attempt(kept)
    except NothingToQuantizeError:
        return None
