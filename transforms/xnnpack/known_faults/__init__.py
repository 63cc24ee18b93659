"""Graphs that XNNPACK computes wrong, and how to avoid them: one entry for each fault, one file for each family.

Each rewrite of XNNPACK's optimiser (`xnn_subgraph_optimize`) was read and tested at its conditions: repeated operands,
several readers, values that are both yielded and read, operands with other ranks and scales. An entry names the place
in XNNPACK, gives the smallest graph that shows the fault, finds the affected nodes, and rewrites the graph.
`avoid-xnnpack-faults` applies the rewrites, `check-xnnpack` refuses the remaining nodes, the reference page has the
list, and a test runs every smallest graph, with and without the rewrite, in the installed library. The test fails once
the library computes the unchanged graph right; then the entry must be removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.transforms.xnnpack.known_faults.clamps import CLAMP_IN_POOLING, CLAMP_WITHOUT_BOUNDS
from xir.transforms.xnnpack.known_faults.conversions import WIDENED_OUTPUT
from xir.transforms.xnnpack.known_faults.copies import COPY_READ_TWICE
from xir.transforms.xnnpack.known_faults.fault import VERSION, KnownFault, Site
from xir.transforms.xnnpack.known_faults.numbers import TAKEN_FOR_NUMBER
from xir.transforms.xnnpack.known_faults.paddings import PADDING_KEPT_WIDE
from xir.transforms.xnnpack.known_faults.products import TURNED_TRANSPOSE
from xir.transforms.xnnpack.known_faults.sums import SCALED_SUM
from xir.transforms.xnnpack.known_faults.tables import LONG_CHAIN, TABLE_OF_HIGHER_RANK

KNOWN_FAULTS: tuple[KnownFault, ...] = (
    COPY_READ_TWICE,
    TURNED_TRANSPOSE,
    SCALED_SUM,
    TAKEN_FOR_NUMBER,
    CLAMP_IN_POOLING,
    CLAMP_WITHOUT_BOUNDS,
    PADDING_KEPT_WIDE,
    WIDENED_OUTPUT,
    TABLE_OF_HIGHER_RANK,
    LONG_CHAIN,
)
"""In the order in which graphs are mended."""

__all__ = ["KNOWN_FAULTS", "VERSION", "KnownFault", "Site", "faulty_nodes"]


def faulty_nodes(graph: xnnpack.SubgraphOp, ctx: XirContext) -> Iterator[tuple[KnownFault, Site]]:
    """The nodes of a graph that XNNPACK would compute wrong. Where a fault is mended, the next ones see the result."""
    for fault in KNOWN_FAULTS:
        if fault.sites is not None:
            for site in list(fault.sites(graph, ctx)):
                yield fault, site
