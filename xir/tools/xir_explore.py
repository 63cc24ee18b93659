"""`xir-explore`: what a program looks like after each pass, as one HTML page that needs no network.

Passes are given as to `xir-opt`, as flags or as one pipeline. Nothing of the compiler is imported before the arguments
are understood.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xir import __version__
from xir.plugin_loading import PLUGIN_HELP, PluginError, load_installed_plugins, load_named_plugins
from xir.progress import step
from xir.tools.command_line import UsageError
from xir.tools.xir_opt_arguments import (
    PassArgumentParser,
    lift_pass_flags,
    passes_asked_for,
)

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.emitter.codec import Buffer
    from xir.explore.profile import MethodProfile
    from xir.ir.context import XirContext


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xir-explore` with arguments (default: the process's). Returns the exit code: 1 on error, 70 on a bug."""
    try:
        load_installed_plugins()
        arguments = load_named_plugins(sys.argv[1:] if argv is None else argv)
        flags, rest = lift_pass_flags(arguments)
        options = _argument_parser().parse_args(rest)
        return _run(options, flags)
    except (UsageError, PluginError) as error:
        sys.stderr.write(f"xir-explore: error: {error}\n")
        return 1
    except SystemExit as error:
        return int(error.code or 0)
    except Exception as error:
        from xir.ir.internal_errors import report_bug

        return report_bug(error, "xir-explore", sys.stderr)


def _argument_parser() -> argparse.ArgumentParser:
    parser = PassArgumentParser(
        prog="xir-explore",
        description="Write an HTML page that shows a program after each pass: its text, the pass's changes, its graph, "
        "and for each op its source, operands, cost and time.",
        usage="xir-explore [options] [--<pass>[='option=value ...']]... input -o page.html",
        epilog="The passes and pipelines are those of xir-opt: `xir-opt --list-passes`.",
        allow_abbrev=False,
    )
    parser.add_argument("input", help="a .pte file, or MLIR text")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE", help="the page to write")
    parser.add_argument(
        "--pass-pipeline", metavar="TEXT", help="the passes as builtin.module(a{x=1},b) instead of as flags"
    )
    parser.add_argument(
        "--profile", metavar="FILE", help="the output of `xnn_executor_runner --profile-trace FILE` for the program"
    )
    parser.add_argument(
        "--errors",
        metavar="FILE",
        help="the output of `xir-aot --quantize-report-json FILE`: how far layers are from float",
    )
    parser.add_argument(
        "--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects"
    )
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    parser.add_argument(
        "--version", action="version", version=f"xir-explore {__version__}", help="print the version, and exit"
    )
    return parser


def _run(options: argparse.Namespace, flags: list[tuple[str, str | None]]) -> int:
    from xir.emitter.errors import FormatError
    from xir.explore import ErrorsError, ProfileError, Recorder, document, read_errors, read_profile, write_page
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError, stream_handler
    from xir.ir.passes import PassManager
    from xir.ir.remarks import RemarkFilter
    from xir.transforms.delegate.forming.late_refusals import run_passes

    try:
        profile: MethodProfile | None = None if options.profile is None else read_profile(options.profile)
        errors, charts = (None, None) if options.errors is None else read_errors(options.errors)
        passes = passes_asked_for(options, flags)
    except OSError as error:
        raise UsageError(f"cannot open '{error.filename}': {error.strerror}") from error
    except (ProfileError, ErrorsError) as error:
        raise UsageError(str(error)) from error
    except DiagnosticError as error:
        sys.stderr.write(f"{error.diagnostic}\n")
        return 1
    content = _read(options.input)
    ctx = XirContext(allow_unregistered=options.allow_unregistered_dialect)
    # What passes did is to be seen; the rest is not.
    ctx.remark_filter = RemarkFilter.of(missed=".*", failed=".*", analysis=".*")
    recorder = Recorder()
    failed = False
    print_diagnostic = stream_handler(sys.stderr)
    with ctx.diagnostics.handler(lambda said: said.severity.value == "remark" or print_diagnostic(said)):
        try:
            module = _module(content, options.input, ctx)
        except FormatError as error:
            sys.stderr.write(f"{options.input}: error: {error}\n")
            return 1
        except DiagnosticError as error:
            ctx.diagnostics.emit(error.diagnostic)
            return 1
        manager = PassManager(ctx, passes)
        recorder.attach(manager)
        with ctx.diagnostics.handler(recorder.say):
            try:
                with step("Running passes"):
                    recorder.record(module, "input", "the program as it came")
                    run_passes(manager, module)
            except DiagnosticError as error:
                ctx.diagnostics.emit(error.diagnostic)
                failed = True
            except AlreadyReportedError:
                failed = True
    # A page of passes of which one failed is what one looks at to find out why.
    try:
        with step("Writing the page"):
            page = document(recorder.stages, recorder.remarks, profile, Path(options.input).name, errors, charts)
            write_page(options.output, page)
    except ProfileError as error:
        raise UsageError(f"{options.profile}: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot write '{options.output}': {error.strerror}") from error
    return int(failed)


def _read(path: str) -> Buffer:
    """The input's bytes. UsageError if it cannot be read."""
    from xir.emitter.container import map_file

    try:
        return map_file(path)
    except OSError as error:
        raise UsageError(f"cannot open '{path}': {error.strerror}") from error


def _module(content: Buffer, path: str, ctx: XirContext) -> ModuleOp:
    """The program in a file, by what the file begins with."""
    from xir.emitter import read
    from xir.emitter.debug_locations import locate
    from xir.ir.parser import parse_module

    if content[4:6] == b"ET":
        module = read(content, ctx)
        locate(module, ctx)
        return module
    if content[:2] == b"PK":
        raise UsageError(f"'{path}' is an exported program: `xir-aot --pt2 {path} --explore page.html` compiles it")
    try:
        text = bytes(content).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is neither a .pte file nor UTF-8 text") from error
    return parse_module(ctx, text, path)


if __name__ == "__main__":
    sys.exit(main())
