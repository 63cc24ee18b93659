"""`xir-bisect`: which pass, which rewrite and which op make a program wrong, and the smallest test that shows it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.files import atomic_file
from xir.models.errors import ModelError
from xir.plugin_loading import PluginError, load_installed_plugins, load_named_plugins
from xir.tools import program
from xir.tools.command_line import ArgumentParser, UsageError, add_pass_seconds, add_run_limits, run_limits
from xir.tools.devices import add_device_options, reachable_device
from xir.tools.missing_packages import missing_package

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.faults.bisection import Culprit


def argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="xir-bisect",
        description="Find the first pass of a pipeline that changes a program's results, crashes or refuses the "
        "program; its first wrong rewrite and the op; and write the smallest program that shows it as a lit test.",
        allow_abbrev=False,
    )
    program.add_arguments(parser)
    parser.add_argument(
        "-o", dest="output", metavar="FILE", default="culprit.mlir", help="the test to write (default: culprit.mlir)"
    )
    parser.add_argument(
        "--rtol", type=float, default=0.0, metavar="RTOL",
        help="let each pass move outputs by RTOL of their largest magnitude (default: the pass's own bound)",
    )  # fmt: skip
    parser.add_argument(
        "--inputs", metavar="FILES",
        help="a .npy file for each input, separated by commas, or one .npz or .pt file (default: a model's example "
        "inputs, random ones for text)",
    )  # fmt: skip
    parser.add_argument(
        "--pte", metavar="FILE",
        help="a .pte file of the program, from xir or stock ExecuTorch: find the first node, in delegates too, whose "
        "value differs from eager's",
    )  # fmt: skip
    parser.add_argument(
        "--method", default="forward", metavar="NAME", help="with --pte: the method to run (default: forward)"
    )
    parser.add_argument(
        "--libraries", metavar="FILES",
        help="with --pte: shared libraries of kernels and backends, separated by commas; they take precedence over the "
        "runtime's own",
    )  # fmt: skip
    add_pass_seconds(parser, "count as endless")
    add_run_limits(parser, "--pte")
    add_device_options(parser, "with --pte: run the file on")
    parser.add_argument("--no-reduce", action="store_true", help="write no test")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run with the arguments (default: the process's). Returns the exit code: 0 if all is well, 1 if a pass is not."""
    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError, WrongStageError

    try:
        load_installed_plugins()
        options = argument_parser().parse_args(load_named_plugins(sys.argv[1:] if argv is None else argv))
        return _bisect(options)
    except (UsageError, ModelError, PluginError, OSError) as error:
        sys.stderr.write(f"xir-bisect: error: {error}\n")
    except WrongStageError as error:
        print(f"{error.diagnostic}\nstage: {error.stage}")
    except DiagnosticError as error:
        sys.stderr.write(f"{error.diagnostic}\n")
    except AlreadyReportedError:
        pass
    except SystemExit as error:
        return int(error.code or 0)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"xir-bisect: error: {missing_package(error, 'running programs op by op')}\n")
    except Exception as error:
        from xir.ir.internal_errors import report_bug

        return report_bug(error, "xir-bisect", sys.stderr)
    return 1


def _bisect(options: argparse.Namespace) -> int:
    if options.pte is not None:
        return _bisect_file(options)
    for flag in ("libraries", "allow_ops", "max_seconds", "on"):
        if getattr(options, flag) is not None:
            raise UsageError(f"--{flag.replace('_', '-')} goes with --pte")
    from xir.evaluate.checker import NumericsChecker
    from xir.evaluate.inputs import load_inputs
    from xir.faults.bisection import find_culprit
    from xir.faults.lit_test import lit_test
    from xir.faults.program_reduction import reduced, size_of, with_random_constants
    from xir.faults.reproduction import Fault, run
    from xir.ir.functions import functions_of
    from xir.progress import step

    passes = program.passes(options)
    module, ctx, inputs = program.load(options)
    if options.inputs is not None:
        inputs = load_inputs(options.inputs.split(","), functions_of(module)[0])
    with step("Looking for the pass"):
        limits: dict[str, Any] = {"rtol": options.rtol, "pass_seconds": options.pass_seconds}
        culprit = find_culprit(module, ctx, passes, inputs=inputs, **limits)
    if culprit is None:
        print(f"{options.program}: {len(passes)} passes, each computes what was before it")
        return 0
    print(told(culprit))
    if options.no_reduce:
        return 1
    failure = culprit.failure
    smallest = failure.before

    def interesting(smaller: ModuleOp) -> bool:
        checker = NumericsChecker(rtol=options.rtol) if failure.fault is Fault.WRONG else None
        found = run(smaller, failure.ctx, failure.passes, checker=checker, pass_seconds=options.pass_seconds)
        return failure.repeats(found)

    with step("Reducing the program"):
        if interesting(failure.before):
            smallest = reduced(failure.before, failure.ctx, interesting)
            smallest, kept = with_random_constants(smallest, failure.ctx, interesting)
            if kept:
                print(f"note: {kept} constant{'' if kept == 1 else 's'} keep their values, which it takes to see it")
        else:
            print("note: only the given inputs show it, so the test is the whole program")
    text = lit_test(failure, smallest, failure.ctx, options.rtol, options.pass_seconds)
    with atomic_file(Path(options.output)) as file:
        file.write(text.encode("utf-8"))
    count = size_of(smallest)
    print(f"{options.output}: a test of {count} op{'' if count == 1 else 's'}, which fails as long as the pass does")
    return 1


def _bisect_file(options: argparse.Namespace) -> int:
    from xir.device.errors import DeviceError
    from xir.device.execution import run_file
    from xir.emitter import read
    from xir.emitter.container import map_file
    from xir.emitter.debug_locations import locate
    from xir.emitter.errors import FormatError
    from xir.evaluate.file_bisection import bisect_file, function_of
    from xir.evaluate.inputs import load_inputs
    from xir.faults.file_report import told_of_file
    from xir.ir.context import XirContext
    from xir.progress import step
    from xir.runtime import XirRuntimeError

    libraries = [] if options.libraries is None else options.libraries.split(",")
    how: dict[str, Any] = {**run_limits(options), "libraries": libraries}
    device = reachable_device(options)
    if device is not None and any(how.values()):
        raise UsageError("--libraries, --allow-ops and --max-seconds are for runs here, not on a device of --on")
    file_ctx = XirContext()
    try:
        file = read(map_file(options.pte), file_ctx)
    except FormatError as error:
        raise UsageError(f"{options.pte}: {error}") from error
    locate(file, file_ctx)
    module, ctx, inputs = program.load(options)
    if options.inputs is not None:
        inputs = load_inputs(options.inputs.split(","), function_of(module, options.method))
    try:
        with step("Following the file"):
            pair = (module, ctx), (file, file_ctx)
            if device is None:
                found = bisect_file(*pair, options.method, inputs, **how)
            else:
                found = bisect_file(*pair, options.method, inputs, run=partial(run_file, device))
    except (XirRuntimeError, DeviceError) as error:
        raise UsageError(f"{options.pte} does not run: {error}") from error
    if found is None:
        print(f"{options.pte}: no node leaves what eager computes")
        return 0
    print(told_of_file(found, options.pte))
    return 1


def told(culprit: Culprit) -> str:
    """What was found, for a person."""
    from xir.ir.location import format_location, origins_of

    failure = culprit.failure
    lines = [str(failure.diagnostic), f"pass: {culprit.maker or failure.culprit}"]
    if culprit.maker is not None:
        lines.append(f"refused by: {failure.culprit}, which takes the program without that pass's rewrites")
    if culprit.number:
        lines.append(f"rewrite: {culprit.number} of {culprit.count}")
    elif culprit.rewrite is not None:
        lines.append("rewrite: one that is not finished")
    if culprit.rewrite is not None:
        rewrite = culprit.rewrite
        lines.append(f"  {rewrite.pattern} at '{rewrite.op}', {format_location(rewrite.location)}")
        # A line of a model may stand for many layers.
        modules = dict.fromkeys(origin.module for origin in origins_of(rewrite.location) if origin.module)
        if modules:
            lines.append(f"  in {', '.join(modules)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
