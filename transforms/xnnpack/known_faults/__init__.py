"""What XNNPACK computes wrong, and how graphs are kept from it: one entry a fault, one file a family.

Each rewrite of XNNPACK's optimiser (`xnn_subgraph_optimize`) was read, and tried at its conditions: repeated operands,
several readers, values that are yielded and read, operands of other ranks and scales. An entry names the place there,
gives the smallest graph that shows the fault, finds the nodes that its condition holds for, and mends the graph. So a
new fault is an entry here: `avoid-xnnpack-faults` mends graphs and `check-xnnpack` refuses what is left by this list,
the reference page prints it, and a test runs every smallest graph, with the rewrite and without, in the installed
library. Once that is right without, the test fails: the entry is to go.
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
