"""What to run next where a compiled program is wrong."""

from __future__ import annotations

import argparse

from xir.aot_compiler.arguments import partitioners_of, quantization_flags, source_flags
from xir.tools.next_step import bisect_command


def bisect_command_of(options: argparse.Namespace) -> str:
    """The command line of `xir-bisect` for the model, its export, its quantisation and the passes of these options."""
    flags = [*source_flags(options), *quantization_flags(options)]
    return bisect_command(options.model_name or options.pt2 or options.model, _pipeline(options), flags)


def _pipeline(options: argparse.Namespace) -> str:
    """The passes that ran, as text; "" for those that `xir-bisect` runs by itself."""
    from xir.api import XnnpackPartitioner

    partitioners = partitioners_of(options)
    if partitioners == [XnnpackPartitioner()]:
        return ""
    return ",".join([*(str(each) for part in partitioners for each in part.passes()), "emit"])
