"""How far what a device computes is from what PyTorch does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xir.device.execution import output_of
from xir.runtime.agreement import Agreement, compared, number_array

if TYPE_CHECKING:
    from xir.device.session import Loaded, Session


def agreement_on(session: Session, program: Loaded, expected: Sequence[Any]) -> Agreement:
    """Run a program on a device, and compare its outputs with PyTorch's, those that are tensors."""
    session.run(program)
    pairs = [
        (number_array(output_of(session, program, index)), number_array(want))
        for index, want in enumerate(expected)
        if hasattr(want, "dtype")
    ]
    return compared([got for got, _ in pairs], [want for _, want in pairs])
