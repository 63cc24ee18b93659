"""Why an op is not delegated.

Each reason is declared once, as a `Refusal` next to the rule or the helper that raises it, and raised by reference:

    NEGATIVE_PADDING = Refusal("its padding is negative", example=call("edge.reflection_pad1d", ...))
    ...
    raise NEGATIVE_PADDING()

The reference pages and the tests read these declarations.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xir.transforms.analysis.calls import Call


class RefusalError(Exception):
    """A backend cannot compute an op. `reason` completes "not delegated: …"; `hint` is the change that would help."""

    def __init__(self, reason: str, hint: str | None = None):
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


REFUSALS: list[Refusal] = []
"""All refusals that are declared in the modules imported so far."""


@dataclass(frozen=True, eq=False)
class Refusal:
    """A reason why ops stay outside a delegate; calling it creates the error to raise.

    `reason` completes "not delegated: …", with `str.format` fields for parts that depend on the op: `raise
    NOT_STATIC(what="weight")`.
    """

    reason: str
    hint: str | None = None
    """The change to the model that would help."""
    example: Call | str | None = None
    """A call that is refused for this reason, or, where one call is not enough, the text of a function's body. None:
    the reason depends on the options of a pass, or on what other passes have done."""

    def __post_init__(self) -> None:
        """Register it in `REFUSALS`."""
        REFUSALS.append(self)

    def __call__(self, **fields: object) -> RefusalError:
        """The error of an op, with the reason's fields filled in."""
        return RefusalError(self.reason.format(**fields), self.hint)

    @property
    def literals(self) -> list[str]:
        """The parts of the reason that are the same for all ops."""
        return [literal for literal, *_ in Formatter().parse(self.reason) if literal]

    @property
    def text(self) -> str:
        """The reason with "…" for what depends on the op."""
        parts = Formatter().parse(self.reason)
        return "".join(literal + ("" if name is None else "…") for literal, name, *_ in parts)
