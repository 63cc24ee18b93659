"""Which nodes have the same results on every processor, to the bit."""

from xir.transforms.xnnpack.bit_exact.graph import inexact_nodes
from xir.transforms.xnnpack.bit_exact.nodes import Inexact

__all__ = ["Inexact", "inexact_nodes"]
