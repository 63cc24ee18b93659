"""`xir-aot model.pte -o better.pte`: an existing file, with faster delegates."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from xir.cost.profile import threads_text
from xir.files import move_to, new_folder_beside, size_text
from xir.ir.shown_text import shortened
from xir.plugin_loading import PLUGIN_HELP
from xir.progress import step
from xir.tools.aot.arguments import DEFAULT_CPU, add_contract_options, add_partitioner_options, partitioner_of
from xir.tools.aot.attempts import Attempt, Attempts, fixed_inputs, kept_apart, size_of, size_with
from xir.tools.aot.contract import contract_of, tell_broken, wanted_remarks
from xir.tools.aot.given_inputs import given_calls
from xir.tools.aot.results import forms_chosen
from xir.tools.command_line import ArgumentParser, UsageError

if TYPE_CHECKING:
    from xir.api import ExecutorchProgram
    from xir.runtime.same_results import MethodCall

OPTIONS = ("cpu", "threads", "target", "max_growth", "max_error", "max_arena")
"""The options of `XnnpackPartitioner` that say something of nodes that there are already."""

MOST_SECONDS = 60.0
"""How long a call may take, unless --max-seconds says it: a stranger's file may loop for hours."""

MOST_DIFFERENT = 1e-4
"""By how much of an output's largest magnitude results may differ, unless --max-difference says it."""


def is_existing(arguments: Sequence[str]) -> bool:
    """Whether the command line names a `.pte` file to optimise, or one with test cases around it, which is refused."""
    return any(each.endswith((".pte", ".bpte")) and not each.startswith("-") for each in arguments[:1])


def optimize_file(arguments: Sequence[str]) -> int:
    """The command; the exit code. UsageError or OSError for what the user got wrong."""
    from xir.emitter.errors import FormatError
    from xir.ir.diagnostics import DiagnosticError
    from xir.lock.errors import BrokenContractError
    from xir.runtime import XirRuntimeError
    from xir.runtime.same_results import NotComparedError, NotRunError
    from xir.tools.model_diagnostics import located

    options = argument_parser().parse_args(arguments)
    try:
        return _optimize(options)
    except FormatError as error:
        print(f"{options.program}: error: {error}", file=sys.stderr)
    except DiagnosticError as error:
        print(located(error.diagnostic, options.program), file=sys.stderr)
    except BrokenContractError as error:
        tell_broken(error, options.output)
    except NotComparedError as error:
        print(f"xir-aot: error: {options.program}: {shortened(str(error))}: nothing is written", file=sys.stderr)
    except (XirRuntimeError, NotRunError) as error:
        print(f"xir-aot: error: {options.program} does not run: {shortened(str(error))}", file=sys.stderr)
    return 1


def argument_parser() -> ArgumentParser:
    """The arguments behind a `.pte` file."""
    parser = ArgumentParser(
        prog="xir-aot FILE.pte",
        description="Make the XNNPACK delegates of a .pte file, from ExecuTorch or xir, faster. The new file is "
        "written if it gives the same results as the old one on random inputs.",
        allow_abbrev=False,
    )
    parser.add_argument("program", metavar="FILE.pte", type=Path, help="the file to read")
    parser.add_argument("-o", "--output", metavar="FILE.pte", type=Path, required=True, help="the file to write")
    parser.add_argument(
        "--data", metavar="FILE.ptd", type=Path, action="append", default=[], help="a file of weights; repeat for more"
    )
    parser.add_argument(
        "--data-apart",
        action="store_true",
        help="let the new file read there what the files of --data have, which others may share, and hold what is new",
    )
    parser.add_argument(
        "--max-difference",
        metavar="R",
        type=float,
        default=MOST_DIFFERENT,
        help="write no file with outputs that differ by more than R of their largest magnitude (default: %(default)s)",
    )
    parser.add_argument(
        "--inputs",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="compare on these inputs as well: an .npz file of arrays, or a .pt file with a list of inputs, a list of "
        "such lists for consecutive calls, or a dict of these by method; repeat for more",
    )
    parser.add_argument(
        "--stock",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compare in stock ExecuTorch's runtime as well, if it is installed (default: yes)",
    )
    parser.add_argument(
        "--max-seconds",
        metavar="S",
        type=float,
        default=MOST_SECONDS,
        help="compare nothing that takes longer than S seconds for a call (default: %(default)g; 0: no limit)",
    )
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    add_contract_options(parser)
    add_partitioner_options(parser, OPTIONS)
    return parser


def _optimize(options: argparse.Namespace) -> int:
    from xir.api import load
    from xir.lock.errors import BrokenContractError
    from xir.runtime.same_results import calls_of

    if options.output.suffix != ".pte":
        raise UsageError(f"-o takes a .pte file, got '{options.output}'")
    if options.data_apart and not options.data:
        raise UsageError("--data-apart is for the weights of --data: give that as well")
    if not 0 <= options.max_seconds < math.inf:
        raise UsageError(f"--max-seconds must be at least 0, not {options.max_seconds:g}")
    contract = contract_of(options)
    partitioner = partitioner_of(options)
    # Stock ExecuTorch refuses delegates of xir's own, which is what was asked for.
    options.in_stock = options.stock and partitioner.target == "executorch"
    with step(f"Reading {options.program}"):
        old = load(options.program, data=options.data)
    given = given_calls(options.inputs, old.method_names)
    calls = calls_of(
        options.program, old.method_names, options.data, given, fixed_inputs(old), max_seconds=options.max_seconds
    )
    before = size_of(options)
    with new_folder_beside(options.output) as folder:
        remarks = wanted_remarks(contract, None)
        best = Attempts(options, old, partitioner, calls, folder, remarks).first()
        try:
            kept = None if contract is None else contract.hold(best.program)
        except BrokenContractError:
            if best.passed_over:  # which is why all else is worse
                print(_passed_over(options.output, best), file=sys.stderr)
            raise
        with nullcontext() if kept is None else kept.written():
            move_to(best.path, options.output)
    sizes = before, size_with(options.output, kept_apart(options))
    _tell(options, partitioner.threads, old, best, sizes, calls)
    for line in () if kept is None else kept.lines():
        print(line)
    return 0


def _tell(
    options: argparse.Namespace,
    threads: int,
    old: ExecutorchProgram,
    taken: Attempt,
    sizes: tuple[int, int],
    calls: Sequence[MethodCall],
) -> None:
    """Print what was chosen, both files beside each other, and how near they are. The sizes are of before and after:
    the file that was read may be the one that is written."""
    from xir.ir.remarks import Remark
    from xir.tools.aot.before_after import before_and_after

    cpu = options.cpu or DEFAULT_CPU
    new, found = taken.program, taken.found
    for said in new.remarks:
        if isinstance(said, Remark) and said.name == "not-raised":
            print(said.message)
    if forms := forms_chosen(new.remarks, cpu, threads):
        print(forms)
    kernels = len(new.kernel_names)
    outside = f"{kernels} kernel{'' if kernels == 1 else 's'} outside"
    delegates = f"{new.num_delegates} delegate{'' if new.num_delegates == 1 else 's'}"
    same = "the same outputs" if found.difference == 0 else f"outputs within {found.difference:.1e}"
    before, after = map(size_text, sizes)
    if taken.passed_over:
        print(_passed_over(options.output, taken))
    print(f"{options.output}: {after} for {before}, {delegates}, {outside}")
    on = threads_text(threads or 1)
    print(f"{options.output}: {same}, {found.ratio:.2f} of the time on {on}, both on {_inputs(calls)}")
    if found.without_stock is None:
        print(f"{options.output}: compared in xir's runtime and in stock ExecuTorch's")
    elif options.in_stock:
        print(f"{options.output}: compared in xir's runtime alone; stock ExecuTorch's: {found.without_stock}")
    else:
        print(f"{options.output}: compared in xir's runtime alone, as was asked for")
    for line in before_and_after((old, new), sizes, found, cpu, threads):
        print(f"    {line}".rstrip())


def _passed_over(output: Path, taken: Attempt) -> str:
    """What is optimised, and why not more."""
    verb = "are" if "delegates" in taken.way.what else "is"
    reasons = "; ".join(map(shortened, taken.passed_over))
    return f"{output}: {taken.way.what} {verb} optimised ({reasons})"


def _inputs(calls: Sequence[MethodCall]) -> str:
    """What both files were compared on."""
    given = sum(not call.is_drawn for call in calls)
    kinds = ["random inputs"] if given < len(calls) else []
    kinds += [f"{given} call{'' if given == 1 else 's'} of --inputs"] if given else []
    return " and ".join(kinds)
