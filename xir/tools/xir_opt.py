"""`xir-opt`: read MLIR text, run passes, write MLIR text. Flags and output follow `mlir-opt`.

Pass flags are taken out of the command line first, in their order, so that `--partition-xnnpack in.mlir` never takes
the file for an option's value. Nothing of the compiler is imported before the arguments are understood.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NoReturn

from xir.files import atomic_file
from xir.plugin_loading import PLUGIN_HELP, PluginError, load_installed_plugins, load_named_plugins
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES, describe

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.ir.context import XirContext
    from xir.ir.diagnostics import Diagnostic
    from xir.ir.passes import PassManager, XirPass
    from xir.ir.printer import PrintOptions

SPLIT_MARKER = "// -----"


_BARE_FLAGS = {"verify-each": "true", "split-input-file": SPLIT_MARKER, "verify-diagnostics": "all"}
"""Flags whose value may be left out, and what they then mean. argparse would take the input file for the value."""


class UsageError(Exception):
    """The command line or a file it names is wrong; the message is for the user."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xir-opt` with the arguments (default: the process's). Returns the exit code: 1 on error, 70 on a bug."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        load_installed_plugins()
        arguments = load_named_plugins(arguments)
        pass_flags, rest = _lift_pass_flags(arguments)
        options = _argument_parser().parse_args(rest)
    except (UsageError, PluginError) as error:
        return _fail(str(error))
    except SystemExit as error:
        return int(error.code or 0)
    if options.list_passes:
        sys.stdout.write(_pass_listing())
        return 0
    if options.show_dialects:
        from xir.dialects.registry import DIALECTS

        sys.stdout.write(f"Available Dialects: {', '.join(sorted(['builtin', *DIALECTS]))}\n")
        return 0
    try:
        return _run(options, pass_flags)
    except UsageError as error:
        return _fail(str(error))
    except BrokenPipeError:
        # The reader (`head`, a closed pager) has what it wants.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from xir.ir.internal_errors import report_bug

        return report_bug(error, "xir-opt", sys.stderr)


def _fail(message: str) -> int:
    sys.stderr.write(f"xir-opt: error: {message}\n")
    return 1


# --- The command line --------------------------------------------------------------------------------------------


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def format_help(self) -> str:
        return f"{super().format_help()}\n{_pass_listing()}"


def _argument_parser() -> argparse.ArgumentParser:
    parser = _ArgumentParser(
        prog="xir-opt",
        description="Run passes over a module of MLIR text. Each pass and each named pipeline below is a flag; "
        "flags run in the order given.",
        usage="xir-opt [options] [--<pass>[='option=value ...']]... [input]",
        allow_abbrev=False,
    )
    parser.add_argument("input", nargs="?", default="-", help="the file to read; - is standard input (default)")
    parser.add_argument(
        "-o", dest="output", default="-", metavar="FILE", help="the file to write; - is standard output (default)"
    )

    passes = parser.add_argument_group("passes")
    passes.add_argument(
        "--pass-pipeline", metavar="TEXT", help="the passes as builtin.module(a{x=1},b) instead of as flags"
    )
    passes.add_argument(
        "--verify-each", default=True, type=_boolean, metavar="BOOL",
        help="verify the module before the first and after each pass (default: true)",
    )  # fmt: skip
    passes.add_argument("--list-passes", action="store_true", help="list passes and pipelines, and exit")
    passes.add_argument("--show-dialects", action="store_true", help="list the dialects, and exit")

    passes.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)

    text = parser.add_argument_group("input and output")
    text.add_argument(
        "--split-input-file", metavar="MARKER",
        help=f"process the parts between marker lines (default: '{SPLIT_MARKER}') each on its own",
    )  # fmt: skip
    text.add_argument("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    text.add_argument("--mlir-print-op-generic", action="store_true", help="print every operation in generic form")
    text.add_argument("--mlir-print-debuginfo", action="store_true", help="print locations")
    text.add_argument(
        "--mlir-elide-elementsattrs-if-larger", type=int, metavar="N",
        help="print dense<...> constants of more than N elements as dense_resource<__elided__>",
    )  # fmt: skip
    text.add_argument("--print-resources", action="store_true", help="print the data of resources (default: only keys)")
    text.add_argument(
        "--mlir-elide-resource-strings-if-larger", type=int, metavar="N",
        help="print the data of those resources whose text has at most N characters",
    )  # fmt: skip

    checks = parser.add_argument_group("diagnostics and debugging")
    checks.add_argument(
        "--verify-diagnostics", choices=("all", "only-expected"), metavar="MODE",
        help="match diagnostics against expected-* comments: 'all' of them (default), or 'only-expected'",
    )  # fmt: skip
    checks.add_argument("--mlir-print-ir-before-all", action="store_true", help="print the module before each pass")
    checks.add_argument("--mlir-print-ir-after-all", action="store_true", help="print the module after each pass")
    checks.add_argument("--mlir-print-ir-before", metavar="PASSES", default="", help="print it before these passes")
    checks.add_argument("--mlir-print-ir-after", metavar="PASSES", default="", help="print it after these passes")
    checks.add_argument("--mlir-timing", action="store_true", help="print the time that each pass takes")
    return parser


def _boolean(text: str) -> bool:
    value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if value is None:
        raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")
    return value


def _lift_pass_flags(arguments: Sequence[str]) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Split the arguments into (pass, options) pairs, in order, and the rest, in MLIR's `-flag` or `--flag` form."""
    flags: list[tuple[str, str | None]] = []
    rest: list[str] = []
    for argument in arguments:
        if not argument.startswith("-") or argument in ("-", "--"):
            rest.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        if name in PASSES or name in PIPELINES:
            flags.append((name, value if equals else None))
        elif name in _BARE_FLAGS:
            rest.append(f"--{name}={value if equals else _BARE_FLAGS[name]}")
        elif len(name) > 1 and not argument.startswith("--") and not argument.startswith("-o"):
            rest.append("-" + argument)
        else:
            rest.append(argument)
    return flags, rest


def _pass_listing() -> str:
    lines = ["passes:"]
    for name in PASSES:
        info = describe(name)
        lines.append(f"  --{name}")
        lines.append(f"      {info.summary}")
        for option in info.options:
            default = "" if option.default is None else f" (default: {option.default})"
            lines.append(f"      {option.name}=<{option.type}>{default}{': ' if option.help else ''}{option.help}")
    lines.append("")
    lines.append("pipelines:")
    for name, text in PIPELINES.items():
        lines.append(f"  --{name}")
        lines.append(f"      {text}")
    return "\n".join(lines) + "\n"


# --- Running -----------------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace, pass_flags: list[tuple[str, str | None]]) -> int:
    from xir.ir.diagnostics import DiagnosticError

    try:
        passes = _passes(options, pass_flags)
    except DiagnosticError as error:
        sys.stderr.write(f"{error.diagnostic}\n")
        return 1
    name, text = _read(options.input)
    chunks = _split(text, options.split_input_file) if options.split_input_file else [(text, 0)]
    outputs: list[str] = []
    failed = False
    for chunk, line_offset in chunks:
        output, succeeded = _process(chunk, name, line_offset, options, passes)
        failed |= not succeeded
        outputs.append(output)
    text = f"{options.split_input_file}\n".join(outputs)
    if options.output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    elif not failed:
        _write(options.output, text)
    return int(failed)


def _passes(options: argparse.Namespace, pass_flags: list[tuple[str, str | None]]) -> list[XirPass]:
    from xir.ir.pipeline import instantiate, parse_options, parse_pipeline

    if options.pass_pipeline is not None:
        if pass_flags:
            raise UsageError("--pass-pipeline and pass flags exclude each other")
        return parse_pipeline(options.pass_pipeline, PASSES, PIPELINES)
    return [
        each
        for name, text in pass_flags
        for each in instantiate(name, None if text is None else parse_options(text), PASSES, PIPELINES)
    ]


def _read(path: str) -> tuple[str, str]:
    """The name and the text of the input."""
    try:
        if path == "-":
            stream = getattr(sys.stdin, "buffer", None)
            return "<stdin>", sys.stdin.read() if stream is None else stream.read().decode("utf-8")
        with open(path, "rb") as file:
            return path, file.read().decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot open '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not UTF-8 text: byte {error.start} is no part of a character") from error


def _split(text: str, marker: str) -> list[tuple[str, int]]:
    """The parts between marker lines, each with the number of lines before it."""
    chunks: list[tuple[str, int]] = []
    start = 0
    current: list[str] = []
    for number, line in enumerate(text.split("\n")):
        if line.strip() == marker:
            chunks.append(("\n".join(current), start))
            current, start = [], number + 1
        else:
            current.append(line)
    return [*chunks, ("\n".join(current), start)]


def _write(path: str, text: str) -> None:
    try:
        with atomic_file(path) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def _process(
    text: str, name: str, line_offset: int, options: argparse.Namespace, passes: list[XirPass]
) -> tuple[str, bool]:
    """Compile one chunk: the text to write, and whether all went well (or, when verifying diagnostics, as expected)."""
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import stream_handler

    ctx = XirContext(allow_unregistered=options.allow_unregistered_dialect)
    if options.verify_diagnostics is None:
        with ctx.diagnostics.handler(stream_handler(sys.stderr)):
            output = _compile(ctx, text, name, line_offset, options, passes)
        return output or "", output is not None

    from xir.ir.expected_diagnostics import check_expectations

    with ctx.diagnostics.collect() as diagnostics:
        output = _compile(ctx, text, name, line_offset, options, passes)
    only_expected = options.verify_diagnostics == "only-expected"
    problems: list[Diagnostic] = check_expectations(text, name, diagnostics, line_offset, only_expected)
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return output or "", not problems


def _compile(
    ctx: XirContext, text: str, name: str, line_offset: int, options: argparse.Namespace, passes: list[XirPass]
) -> str | None:
    """Parse, run, print; None after an error, which went to the context's diagnostics."""
    import time

    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError
    from xir.ir.parser import parse_module
    from xir.ir.passes import PassManager
    from xir.ir.printer import module_to_text

    start = time.perf_counter()
    manager = PassManager(ctx, passes, verify_each=options.verify_each)
    print_options = _print_options(options)
    _install_ir_printing(manager, options, print_options)
    try:
        module = parse_module(ctx, text, name, line_offset)
        manager.timings.append(("parser", time.perf_counter() - start))
        manager.run(module)
    except DiagnosticError as error:
        ctx.diagnostics.emit(error.diagnostic)
        return None
    except AlreadyReportedError:
        return None
    start_of_output = time.perf_counter()
    output = module_to_text(module, ctx, print_options)
    manager.timings.append(("output", time.perf_counter() - start_of_output))
    if options.mlir_timing:
        _print_timings(manager.timings, time.perf_counter() - start, sys.stderr)
    return output


def _print_options(options: argparse.Namespace) -> PrintOptions:
    from xir.ir.printer import PrintOptions

    return PrintOptions(
        generic=options.mlir_print_op_generic,
        debuginfo=options.mlir_print_debuginfo,
        elide_elements_above=options.mlir_elide_elementsattrs_if_larger,
        resources=options.print_resources,
        resource_digits_limit=options.mlir_elide_resource_strings_if_larger,
    )


def _install_ir_printing(manager: PassManager, options: argparse.Namespace, print_options: PrintOptions) -> None:
    from xir.ir.printer import print_module

    def printing(when: str, names: set[str] | None) -> Callable[[XirPass, ModuleOp], None]:
        def hook(each: XirPass, module: ModuleOp) -> None:
            if names is None or each.name in names:
                class_name = type(each).__name__.removesuffix("Pass")
                sys.stderr.write(f"// -----// IR Dump {when} {class_name} ({each.name}) //----- //\n")
                print_module(module, sys.stderr, manager.ctx, print_options)
                sys.stderr.write("\n")

        return hook

    for when, every, names, hooks in (
        ("Before", options.mlir_print_ir_before_all, options.mlir_print_ir_before, manager.before_pass),
        ("After", options.mlir_print_ir_after_all, options.mlir_print_ir_after, manager.after_pass),
    ):
        if every or names:
            hooks.append(printing(when, None if every else _known_names(names)))


def _known_names(text: str) -> set[str]:
    names = {name.strip() for name in text.split(",")}
    if unknown := sorted(names - PASSES.keys()):
        raise UsageError(f"there is no pass '{unknown[0]}' to print the module around")
    return names


def _print_timings(timings: list[tuple[str, float]], total: float, stream: IO[str]) -> None:
    rule = "===" + "-" * 73 + "==="
    rest = total - sum(seconds for _, seconds in timings)
    stream.write(f"{rule}\n{'... Execution time report ...':^79}\n{rule}\n")
    stream.write(f"  Total Execution Time: {total:.4f} seconds\n\n  ----Wall Time----  ----Name----\n")
    for name, seconds in [*timings, ("rest", rest), ("total", total)]:
        stream.write(f"  {seconds:8.4f} ({100 * seconds / total:5.1f}%)  {name}\n")


if __name__ == "__main__":
    sys.exit(main())
