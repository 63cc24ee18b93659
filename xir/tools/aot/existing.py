"""`xir-aot model.pte -o better.pte`: a file that there is already, with faster delegates."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from xir.files import size_text
from xir.plugin_loading import PLUGIN_HELP
from xir.progress import step
from xir.tools.aot.arguments import DEFAULT_CPU, add_contract_options, add_partitioner_options, partitioner_of
from xir.tools.aot.contract import contract_of, tell_broken, wanted_remarks
from xir.tools.aot.results import forms_chosen
from xir.tools.command_line import ArgumentParser, UsageError

if TYPE_CHECKING:
    from xir.api import ExecutorchProgram
    from xir.runtime.same_results import Sameness

OPTIONS = ("cpu", "max_growth", "max_error", "max_arena")
"""The options of `XnnpackPartitioner` that say something of nodes that there are already."""

MOST_DIFFERENT = 1e-4
"""By how much of an output's largest magnitude results may differ, unless --max-difference says it."""

ATTEMPTS = ("optimize,schedule,finish", "optimize,finish")
"""Phases of `delegate`, the fastest first: the second one rounds as the file does."""


def is_existing(arguments: Sequence[str]) -> bool:
    """Whether the command line names a `.pte` file to optimise."""
    return any(each.endswith(".pte") and not each.startswith("-") for each in arguments[:1])


def optimize_file(arguments: Sequence[str]) -> int:
    """The command; the exit code. UsageError or OSError for what the user got wrong."""
    from xir.emitter.errors import FormatError
    from xir.ir.diagnostics import DiagnosticError
    from xir.lock.errors import BrokenContractError
    from xir.runtime import XirRuntimeError

    options = argument_parser().parse_args(arguments)
    try:
        return _optimize(options)
    except FormatError as error:
        print(f"{options.program}: error: {error}", file=sys.stderr)
    except DiagnosticError as error:
        print(error.diagnostic, file=sys.stderr)
    except BrokenContractError as error:
        tell_broken(error, options.output)
    except XirRuntimeError as error:
        print(f"xir-aot: error: {options.program} does not run on drawn inputs: {error}", file=sys.stderr)
    return 1


def argument_parser() -> ArgumentParser:
    """The arguments behind a `.pte` file."""
    parser = ArgumentParser(
        prog="xir-aot FILE.pte",
        description="Make the XNNPACK delegates of a .pte file, ExecuTorch's or ours, faster. The new file is written "
        "if it computes the same as the old one on drawn inputs.",
        allow_abbrev=False,
    )
    parser.add_argument("program", metavar="FILE.pte", type=Path, help="the file to read")
    parser.add_argument("-o", "--output", metavar="FILE.pte", type=Path, required=True, help="the file to write")
    parser.add_argument(
        "--data", metavar="FILE.ptd", type=Path, action="append", default=[], help="weights that lie apart; repeat"
    )
    parser.add_argument(
        "--max-difference",
        metavar="R",
        type=float,
        default=MOST_DIFFERENT,
        help="write no file with outputs that differ by more than R of their largest magnitude (default: %(default)s)",
    )
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    add_contract_options(parser)
    add_partitioner_options(parser, OPTIONS)
    return parser


def _optimize(options: argparse.Namespace) -> int:
    from xir.api import load

    if options.output.suffix != ".pte":
        raise UsageError(f"-o takes a .pte file, got '{options.output}'")
    contract = contract_of(options)
    partitioner = partitioner_of(options)
    with step(f"Reading {options.program}"):
        old = load(options.program)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    before = options.program.stat().st_size
    found: Sameness | None = None
    with tempfile.TemporaryDirectory(prefix=".xir-", dir=options.output.parent) as folder:
        attempt = Path(folder) / options.output.name
        for phases in ATTEMPTS:
            with step(f"Optimising {options.program}"):
                new = old.optimized(partitioner, phases=phases, remarks=wanted_remarks(contract, None))
                new.save(attempt)
            found = _compared(options, attempt, old)
            if found.difference <= options.max_difference:
                kept = None if contract is None else contract.hold(new)
                with nullcontext() if kept is None else kept.written():
                    os.replace(attempt, options.output)
                _tell(options, before, new, found)
                for line in () if kept is None else kept.lines():
                    print(line)
                return 0
    assert found is not None
    raise UsageError(
        f"{options.program}: {found.where} would differ by {found.difference:.1e} of its largest magnitude, where "
        f"{options.max_difference:g} is allowed (--max-difference): nothing is written"
    )


def _compared(options: argparse.Namespace, attempt: Path, old: ExecutorchProgram) -> Sameness:
    from xir.runtime.same_results import sameness

    with step("Comparing both files"):
        return sameness(options.program, attempt, old.method_names, options.data)


def _tell(options: argparse.Namespace, before: int, new: ExecutorchProgram, found: Sameness) -> None:
    """`before` is the size of the file that was read, which may be the one that is written."""
    forms = forms_chosen(new.remarks, options.cpu or DEFAULT_CPU)
    if forms:
        print(forms)
    after = size_text(options.output.stat().st_size)
    kernels = len(new.kernel_names)
    outside = f"{kernels} kernel{'' if kernels == 1 else 's'} outside"
    delegates = f"{new.num_delegates} delegate{'' if new.num_delegates == 1 else 's'}"
    same = "the same outputs" if found.difference == 0 else f"outputs within {found.difference:.1e}"
    print(f"{options.output}: {after} for {size_text(before)}, {delegates}, {outside}")
    print(f"{options.output}: {same}, {found.ratio:.2f} of the time on one thread, both on drawn inputs")
