"""`--tune`: the forms of convolutions that are measured in the program before it is compiled by them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xir.tools.command_line import UsageError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from xir.api import Partitioner
    from xir.device.transports import Transport

SECONDS = 60.0
"""How long is measured unless the command line says it."""


def tuned(
    options: argparse.Namespace,
    program: ExportedProgram,
    partitioners: Sequence[Partitioner],
    device: Transport | None = None,
) -> tuple[list[Partitioner], str]:
    """The partitioners with what was measured, here or on a device, and what that came to. UsageError if it cannot be
    measured."""
    from xir.api import XnnpackPartitioner, to_edge
    from xir.device.errors import DeviceError
    from xir.runtime import XirRuntimeError
    from xir.runtime.agreement import example_values
    from xir.tuning.search import tune

    *others, last = partitioners
    assert isinstance(last, XnnpackPartitioner)
    inputs = example_values(program)
    if inputs is None:
        raise UsageError("--tune runs the program, which was saved without example inputs: export it again")
    edge = to_edge(program, max_size=options.max_size)
    for each in others:
        edge = edge.to_backend(each)
    seconds = SECONDS if options.tune_seconds is None else options.tune_seconds
    try:
        found = tune(edge, last, inputs, options.tune, seconds, device)
    except (ValueError, XirRuntimeError, DeviceError) as error:
        raise UsageError(f"--tune: {error}") from error
    return [*others, found.partitioner], f"{options.tune}: {found}"
