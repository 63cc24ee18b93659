"""`xir-reduce`: a smaller program that shows the same fault, after `mlir-reduce`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from xir.files import atomic_file
from xir.models.errors import ModelError
from xir.plugin_loading import PluginError, load_installed_plugins, load_named_plugins
from xir.tools import program
from xir.tools.command_line import ArgumentParser, UsageError
from xir.tools.missing_packages import missing_package

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.faults.program_reduction import Interesting
    from xir.faults.reproduction import Failure
    from xir.ir.context import XirContext
    from xir.ir.passes import XirPass

INTERESTING = 1
"""The exit code of a script for a program that shows what is looked for, as `mlir-reduce` has it."""


def argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="xir-reduce",
        description="Make a program smaller while it stays interesting: while a script says so, or a pipeline changes "
        "its results, crashes or refuses it. Floating-point constants become random where the program stays "
        "interesting.",
        allow_abbrev=False,
    )
    program.add_arguments(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--test", metavar="SCRIPT", help=f"a command, called with a file; exit code {INTERESTING} is interesting"
    )
    what.add_argument("--wrong", action="store_true", help="a pass changes what the program computes")
    what.add_argument("--crash", action="store_true", help="a pass crashes, or leaves invalid IR")
    what.add_argument("--refused", action="store_true", help="a pass refuses the program with an error")
    parser.add_argument(
        "-o", dest="output", metavar="FILE", default="-", help="the file to write; - is standard output (default)"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run with the arguments (default: the process's). Returns the exit code: 1 if there is nothing to reduce."""
    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError

    try:
        load_installed_plugins()
        return _reduce(argument_parser().parse_args(load_named_plugins(sys.argv[1:] if argv is None else argv)))
    except (UsageError, ModelError, PluginError, OSError) as error:
        sys.stderr.write(f"xir-reduce: error: {error}\n")
    except DiagnosticError as error:
        sys.stderr.write(f"{error.diagnostic}\n")
    except AlreadyReportedError:
        pass
    except SystemExit as error:
        return int(error.code or 0)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"xir-reduce: error: {missing_package(error, 'running programs op by op')}\n")
    return 1


def _reduce(options: argparse.Namespace) -> int:
    from xir.faults.program_reduction import fewer_passes, reduced, size_of, with_random_constants
    from xir.ir.printer import PrintOptions, module_to_text
    from xir.progress import step

    passes = program.passes(options)
    module, ctx, _ = program.load(options)
    before = size_of(module)
    with step("Reducing the program"):
        if options.test:
            interesting = _by_script(options.test, ctx)
            if not interesting(module):
                raise not_interesting(options)
        else:
            failure = _failure(options, module, ctx, passes)
            if failure is None:
                raise not_interesting(options)
            first = failure
            passes = fewer_passes(upto(passes, first.culprit), lambda rest: _repeats(options, first, ctx, rest)(module))
            interesting = _repeats(options, first, ctx, passes)
        smallest = reduced(module, ctx, interesting)
        smallest, kept = with_random_constants(smallest, ctx, interesting)
    text = module_to_text(smallest, ctx, PrintOptions(resources=True))
    if not options.test:
        text = f"// builtin.module({','.join(map(str, passes))})\n{text}"
    if options.output == "-":
        sys.stdout.write(text)
    else:
        with atomic_file(Path(options.output)) as file:
            file.write(text.encode("utf-8"))
    sys.stderr.write(f"{options.program}: {before} ops, {size_of(smallest)} are left\n")
    if kept:
        sys.stderr.write(f"{options.program}: {kept} constants keep their values: without them it is not interesting\n")
    return 0


def not_interesting(options: argparse.Namespace) -> UsageError:
    """What is said of a program that does not show what is looked for."""
    return UsageError(f"'{options.program}' is not interesting as it is: there is nothing to reduce")


def upto(passes: Sequence[XirPass], last: XirPass) -> list[XirPass]:
    """The passes to the first that is `last`."""
    number = next(number for number, each in enumerate(passes) if each is last)
    return list(passes[: number + 1])


def _by_script(script: str, ctx: XirContext) -> Interesting:
    """Whether a script says so."""
    from xir.ir.printer import PrintOptions, module_to_text

    def interesting(module: ModuleOp) -> bool:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "program.mlir"
            file.write_text(module_to_text(module, ctx, PrintOptions(resources=True)), encoding="utf-8")
            return subprocess.run([script, str(file)], capture_output=True).returncode == INTERESTING

    return interesting


def _failure(
    options: argparse.Namespace, module: ModuleOp, ctx: XirContext, passes: Sequence[XirPass]
) -> Failure | None:
    """The fault that the command line asks for, if the passes have it."""
    from xir.evaluate.checker import NumericsChecker
    from xir.faults.reproduction import Fault, run

    fault = Fault.WRONG if options.wrong else Fault.CRASH if options.crash else Fault.REFUSED
    found = run(module, ctx, passes, checker=NumericsChecker() if options.wrong else None)
    return found if found is not None and found.fault is fault else None


def _repeats(options: argparse.Namespace, failure: Failure, ctx: XirContext, passes: Sequence[XirPass]) -> Interesting:
    """Whether passes go wrong on a program as they did on the first one: others would be another fault."""
    return lambda module: failure.repeats(_failure(options, module, ctx, passes))


if __name__ == "__main__":
    sys.exit(main())
