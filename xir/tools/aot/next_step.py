"""What to run next where a compiled program is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xir.tools.aot.arguments import quantization_flags, source_flags
from xir.tools.next_step import bisect_command

if TYPE_CHECKING:
    from xir.api import Partitioner


def bisect_command_of(options: argparse.Namespace, partitioners: Sequence[Partitioner]) -> str:
    """The command line of `xir-bisect` for the model, its export and its quantisation, and for the passes that ran."""
    flags = [*source_flags(options), *quantization_flags(options)]
    return bisect_command(options.model_name or options.pt2 or options.model, _pipeline(partitioners), flags)


def _pipeline(partitioners: Sequence[Partitioner]) -> str:
    """The passes that ran, as text; "" for those that `xir-bisect` runs by itself."""
    from xir.api import XnnpackPartitioner

    if list(partitioners) == [XnnpackPartitioner()]:
        return ""
    return ",".join([*(str(each) for part in partitioners for each in part.passes()), "emit"])
