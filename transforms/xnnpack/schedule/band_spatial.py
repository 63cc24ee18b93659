"""Chains of convolutions in bands of rows, where a delegate would need more memory than there is.

The first stages of an image network hold most of its memory: many channels at a high resolution. A band of the rows of
a chain's result needs few rows of what is between, so bands that are computed one after the other need little at once,
for rows that neighbouring bands both compute. The idea is that of patches in MCUNetV2 (Lin et al., 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from xir.dialects import xnnpack
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import may_try
from xir.ir.walking import functions_in, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.delegate.forming.graph_checks import at_bounds
from xir.transforms.xnnpack.analysis.composed import report_composed
from xir.transforms.xnnpack.analysis.stays_float import name_of
from xir.transforms.xnnpack.backend import XnnpackBackend
from xir.transforms.xnnpack.schedule._band_search import Chosen, Search


@dataclass(frozen=True)
class BandSpatialPass(XirPass):
    """Compute chains of nodes in bands of rows, so that no delegate needs more than `max-arena` for tensors at once.

    A tensor counts from the node that computes it to the last one that reads it; the delegate's inputs and outputs
    count, constants do not. Chains of convolutions, poolings, arithmetic, joins of channels and transposes are cut
    along their height if only their last result is used elsewhere. Rows that two bands share are computed twice. Among
    all chains and numbers of bands within the limit, the pass picks those with the least repeated work; if there are
    none, it is an error. Nodes of a chain have the attribute `xir.composed`.

    Before:
    ```mlir
    %0 = xnnpack.conv2d %a, %w {padding = array<i32: 1, 1, 1, 1>}
         : (tensor<1x4x8x2xf32>, tensor<32x3x3x2xf32>) -> tensor<1x4x8x32xf32>
    %1 = xnnpack.conv2d %0, %v {padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x4x8x32xf32>, tensor<2x3x3x32xf32>) -> tensor<1x2x4x2xf32>
    ```
    After, with `max-arena=3700`, in two bands:
    ```mlir
    %0 = xnnpack.static_slice %a {offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 3, 8, 2>}
         : tensor<1x4x8x2xf32> -> tensor<1x3x8x2xf32>
    %1 = xnnpack.conv2d %0, %w {padding = array<i32: 1, 1, 0, 1>}
         : (tensor<1x3x8x2xf32>, tensor<32x3x3x2xf32>) -> tensor<1x2x8x32xf32>
    %2 = xnnpack.conv2d %1, %v {padding = array<i32: 1, 1, 0, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x2x8x32xf32>, tensor<2x3x3x32xf32>) -> tensor<1x1x4x2xf32>
    %3 = xnnpack.conv2d %a, %w {padding = array<i32: 0, 1, 1, 1>}
         : (tensor<1x4x8x2xf32>, tensor<32x3x3x2xf32>) -> tensor<1x3x8x32xf32>
    %4 = xnnpack.conv2d %3, %v {padding = array<i32: 0, 1, 0, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x3x8x32xf32>, tensor<2x3x3x32xf32>) -> tensor<1x1x4x2xf32>
    %5 = xnnpack.concatenate %2, %4 {axis = 1 : i32}
         : (tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>) -> tensor<1x2x4x2xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "two filters over a column of seven pixels, in all numbers of bands, with each padding, strides 1 and 2"
    )

    max_arena: int = 0
    """The most bytes of tensors that a delegate may need at once; 0 for no limit, and no bands."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        if self.max_arena < 0:
            raise ValueError(f"max-arena is a number of bytes, or 0 for no limit, not {self.max_arena}")

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every subgraph that needs more. DiagnosticError for one that bands cannot bring down to the limit."""
        if not self.max_arena:
            return
        for function in functions_in(op):
            sizes = ctx.analyses.get(SymbolicSizes, function)
            for subgraph in list(ops_in(function, xnnpack.SubgraphOp)):
                largest = at_bounds(subgraph, XnnpackBackend(), sizes)
                if largest is subgraph:
                    self.band(Search(subgraph.block), ctx)
                elif largest is not None and (search := Search(largest.block)).peak > self.max_arena:
                    raise self.too_much(search, "bands cut no open sizes")

    def band(self, search: Search, ctx: XirContext) -> None:
        """Rewrite a block of known sizes."""
        if search.peak <= self.max_arena:
            return
        found = search.within(self.max_arena)
        if found is None:
            raise self.too_much(search, f"in bands it needs {search.least(self.max_arena)}")
        for each in found:
            if may_try(each.bands.ops[-1], "band"):
                compute_in_bands(each, self.name, ctx)

    def too_much(self, search: Search, why: str) -> DiagnosticError:
        """What to say about a delegate, at the node that needs most."""
        worst = search.ops[search.alive.index(search.peak)]
        needs = f"a delegate needs {search.peak} bytes for tensors when {name_of(worst)} runs"
        return DiagnosticError(worst, f"{needs}, {self.max_arena} are allowed: {why}")


def compute_in_bands(chosen: Chosen, by: str, ctx: XirContext) -> None:
    """Replace a chain, and say so."""
    ops, count = chosen.bands.ops, chosen.bands.count
    figures = {"Bands": count, "Nodes": len(chosen.tiles), "Bytes": chosen.bytes}
    report_composed(ops[-1], by, f"{count} bands, with {len(ops) - 1} nodes before it", figures, ctx)
    nodes, result = chosen.bands.nodes(chosen.tiles)
    Rewriter.insert_op(nodes, InsertPoint.after(ops[-1]))
    ops[-1].results[0].replace_all_uses_with(result)
    for op in reversed(ops):
        Rewriter.erase_op(op)
