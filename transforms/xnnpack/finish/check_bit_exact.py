"""Refuse programs whose results differ from processor to processor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xir.dialects import edge, xnnpack
from xir.dialects.delegate import GraphOp
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError, note
from xir.ir.location import find_name
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.bit_exact import Inexact, inexact_nodes
from xir.transforms.xnnpack.bit_exact.kernels import inexact_kernel

OTHER_BACKEND = Inexact("what this backend computes on other processors is not known", "leave its ops to XNNPACK")

MAX_NOTES = 8
"""How many more ops an error names."""


@dataclass(frozen=True)
class CheckBitExactPass(XirPass):
    """Refuse a program unless its results are the same on all x86 and 64-bit Arm processors, to the bit.

    Each node and each op outside delegates must be known to compute the same everywhere. Integers do, and single
    roundings of fp32 numbers; sums of fp32 products do not. A function between 8-bit numbers is computed on all its 256
    operands here, and accepted if no result is so close to a tie that a processor's approximation decides. The error
    names the first op, the reason and what to do; notes name others.

    Before:
    ```mlir
    %1 = xnnpack.softmax %0 : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    After:
    ```text
    error: xnnpack.softmax: its bits depend on the processor: it adds up fp32 numbers in as many parts as …
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """DiagnosticError at the first op that differs."""
        found = list(_inexact(ctx, op))
        if not found:
            return
        first, why = found[0]
        notes = [note(each, f"{_named(each)}: {reason.reason}") for each, reason in found[1 : MAX_NOTES + 1]]
        if (more := len(found) - 1 - len(notes)) > 0:
            notes.append(note(found[-1][0], f"and {more} more, up to here"))
        message = f"{_named(first)}: its bits depend on the processor: {why.reason}; {why.hint}"
        raise DiagnosticError(first, message, notes)


def _inexact(ctx: XirContext, module: ModuleOp) -> Iterator[tuple[Operation, Inexact]]:
    """The ops that differ, in the program's order."""
    for op in ops_in(module, edge.EdgeOp | GraphOp, graphs=False):
        if isinstance(op, xnnpack.SubgraphOp):
            yield from inexact_nodes(op, ctx).items()
        elif isinstance(op, GraphOp):
            yield op, OTHER_BACKEND
        elif (why := inexact_kernel(op)) is not None:
            yield op, why


def _named(op: Operation) -> str:
    """What the program calls an op, else what it is."""
    kind = op.properties.get("kind")
    own = f"{op.name} {kind.data}" if isinstance(kind, xnnpack.UnaryKindAttr | xnnpack.BinaryKindAttr) else op.name
    name = find_name(op.location)
    return own if name is None else f"{own} of {name}"
