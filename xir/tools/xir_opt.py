"""`xir-opt`: read MLIR text, run passes, write MLIR text. Flags and output follow `mlir-opt`.

Pass flags are taken out of the command line first, in their order, so that `--partition-xnnpack in.mlir` never takes
the file for an option's value. Nothing of the compiler is imported before the arguments are understood.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Container, Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from xir.files import atomic_file
from xir.ir.split_input import split_input
from xir.plugin_loading import PluginError, load_installed_plugins, load_named_plugins
from xir.tools.command_line import UsageError, collect_garbage_rarely
from xir.tools.next_step import bisect_command
from xir.tools.remarks import RemarkOutput
from xir.tools.verify_numerics import verify_numerics
from xir.tools.xir_opt_arguments import (
    argument_parser,
    lift_pass_flags,
    pass_listing,
    passes_asked_for,
)
from xir.transforms.registry import PASSES, passes_of

if TYPE_CHECKING:
    from xir.ir.action_log import ActionLog
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import Diagnostic, DiagnosticError
    from xir.ir.ir_printing import IrPrinting
    from xir.ir.passes import PassManager, XirPass
    from xir.ir.printer import PrintOptions
    from xir.ir.rewriting import RewriteCounter


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xir-opt` with the arguments (default: the process's). Returns the exit code: 1 on error, 70 on a bug."""
    if argv is None:
        collect_garbage_rarely()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        load_installed_plugins()
        arguments = load_named_plugins(arguments)
        pass_flags, rest = lift_pass_flags(arguments)
        options = argument_parser().parse_args(rest)
    except (UsageError, PluginError) as error:
        return _fail(str(error))
    except SystemExit as error:
        return int(error.code or 0)
    if options.list_passes:
        sys.stdout.write(pass_listing())
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


# --- Running -----------------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace, pass_flags: list[tuple[str, str | None]]) -> int:
    from xir.ir.diagnostics import DiagnosticError

    try:
        passes = passes_asked_for(options, pass_flags)
    except DiagnosticError as error:
        sys.stderr.write(f"{error.diagnostic}\n")
        return 1
    try:
        remarks = RemarkOutput.of(options)
    except ValueError as error:
        raise UsageError(f"--remarks-filter: {error}") from error
    if options.dump_pass_pipeline:
        sys.stderr.write(f"Pass Manager with {len(passes)} passes:\nbuiltin.module({','.join(map(str, passes))})\n\n")
    name, text = _read(options.input)
    chunks = split_input(text, options.split_input_file) if options.split_input_file else [(text, 0)]
    outputs: list[str] = []
    failed = False
    with _action_log(options.log_actions_to) as actions:
        for chunk, line_offset in chunks:
            output, succeeded = _process(chunk, name, line_offset, options, passes, text, remarks, actions)
            failed |= not succeeded
            outputs.append(output)
    if remarks is not None:
        try:
            remarks.write()
        except OSError as error:
            raise UsageError(f"cannot write '{remarks.path}': {error.strerror}") from error
    marker = options.split_input_file if options.output_split_marker is None else options.output_split_marker
    text = f"{marker}\n".join(outputs)
    if options.output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    elif not failed:
        _write(options.output, text)
    return int(failed)


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


@contextmanager
def _action_log(path: str | None) -> Generator[ActionLog | None]:
    """Where actions are logged: to a file, or with `-` to standard output."""
    if path is None:
        yield None
        return
    from xir.ir.action_log import ActionLog

    try:
        file = nullcontext(sys.stdout) if path == "-" else open(path, "w", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error
    with file as stream:
        yield ActionLog(stream)


def _write(path: str, text: str) -> None:
    try:
        with atomic_file(path) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def _process(
    text: str,
    name: str,
    line_offset: int,
    options: argparse.Namespace,
    passes: list[XirPass],
    file_text: str,
    remarks: RemarkOutput | None,
    actions: ActionLog | None,
) -> tuple[str, bool]:
    """Compile one chunk of a file: the text to write, and whether all went well (or, when verifying diagnostics, as
    expected).
    """
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import stream_handler

    ctx = XirContext(allow_unregistered=options.allow_unregistered_dialect)
    if options.verify_diagnostics is None:
        printing = ctx.diagnostics.handler(stream_handler(sys.stderr, {name: file_text}))
        with printing, nullcontext() if remarks is None else remarks.heard(ctx):
            output = _compile(ctx, text, name, line_offset, options, passes, actions)
        return output or "", output is not None

    from xir.ir.expected_diagnostics import check_expectations

    with ctx.diagnostics.collect() as diagnostics, nullcontext() if remarks is None else remarks.heard(ctx):
        output = _compile(ctx, text, name, line_offset, options, passes, actions)
    only_expected = options.verify_diagnostics == "only-expected"
    problems: list[Diagnostic] = check_expectations(text, name, diagnostics, line_offset, only_expected)
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return output or "", not problems


def _compile(
    ctx: XirContext,
    text: str,
    name: str,
    line_offset: int,
    options: argparse.Namespace,
    passes: list[XirPass],
    actions: ActionLog | None,
) -> str | None:
    """Parse, run, print; None after an error, which went to the context's diagnostics."""
    import time

    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError
    from xir.ir.parser import parse_module
    from xir.ir.passes import PassManager
    from xir.ir.printer import module_to_text
    from xir.ir.reproducer import CrashReproducer
    from xir.ir.roundtrip import check_roundtrip
    from xir.transforms.delegate.forming.late_refusals import run_passes

    start = time.perf_counter()
    manager = PassManager(
        ctx,
        passes,
        verify_each=options.verify_each,
        rewrite_counters=_rewrite_counters(options),
        pass_seconds=options.pass_seconds,
    )
    reproducer = None
    if options.crash_reproducer is not None:
        reproducer = CrashReproducer(Path(options.crash_reproducer))
        reproducer.install(manager)
    if actions is not None:
        actions.install(manager)
    statistics = None
    if options.mlir_pass_statistics:
        from xir.ir.pass_statistics import PassStatistics

        statistics = PassStatistics()
        statistics.install(manager)
    print_options = _print_options(options)
    _ir_printing(options, replace(print_options, resources=options.print_resources)).install(manager)
    try:
        module = parse_module(ctx, text, name, line_offset, implicit_module=not options.no_implicit_module)
        if options.verify_roundtrip:
            check_roundtrip(ctx, module)
        manager.timings.append(("parser", time.perf_counter() - start))
        if options.run_reproducer:
            manager.passes, manager.verify_each = _reproducer_passes(ctx, passes)
        verify_numerics(manager, options, module)
        run_passes(manager, module)
    except DiagnosticError as error:
        ctx.diagnostics.emit(error.diagnostic)
        if options.verify_numerics is not None and options.verify_diagnostics is None:
            _tell_next_step(error, name, manager)
        return None
    except AlreadyReportedError:
        return None
    finally:
        if reproducer is not None and reproducer.written:
            sys.stderr.write(f"{reproducer.path}: note: xir-opt --run-reproducer repeats the failure with this file\n")
    if options.mlir_print_debug_counter:
        _print_counters(manager, sys.stderr)
    if statistics is not None:
        statistics.write(sys.stderr, options.mlir_pass_statistics_display)
    start_of_output = time.perf_counter()
    output = module_to_text(module, ctx, print_options)
    manager.timings.append(("output", time.perf_counter() - start_of_output))
    if options.mlir_timing:
        _print_timings(manager.timings, time.perf_counter() - start, sys.stderr)
    return output


def _tell_next_step(error: DiagnosticError, name: str, manager: PassManager) -> None:
    """Say how to find the rewrite of a pass that is wrong."""
    from xir.evaluate.miscompiles import MiscompileError

    if isinstance(error, MiscompileError):
        program = "FILE.mlir" if name == "-" else name
        command = bisect_command(program, ",".join(map(str, manager.passes)))
        sys.stderr.write(f"note: {command} names the rewrite, and reduces the program to a test\n")


def _rewrite_counters(options: argparse.Namespace) -> dict[str, RewriteCounter] | None:
    """What the debug counters of the command line say; None if there are none, and none to print."""
    if not options.mlir_debug_counter and not options.mlir_print_debug_counter:
        return None
    from xir.ir.rewriting import RewriteCounter

    counters: dict[str, RewriteCounter] = {}
    for text in (part.strip() for given in options.mlir_debug_counter for part in given.split(",")):
        name, _, count = text.partition("=")
        if not name.endswith("-count") or not count.isdecimal():
            raise UsageError(f"a debug counter is <pass>-count=N, got '{text}'")
        if (name := name.removesuffix("-count")) not in PASSES:
            raise UsageError(f"there is no pass '{name}' to count the rewrites of")
        counters[name] = RewriteCounter(int(count))
    return counters if counters or options.mlir_print_debug_counter else None


def _print_counters(manager: PassManager, stream: IO[str]) -> None:
    stream.write("DebugCounter counters:\n")
    for name, counter in (manager.rewrite_counters or {}).items():
        limit = "" if counter.limit is None else f" of at most {counter.limit}"
        stream.write(f"  {name:<32}: {counter.count}{limit}\n")


def _reproducer_passes(ctx: XirContext, given: list[XirPass]) -> tuple[list[XirPass], bool]:
    """The passes of the reproducer that was read, and whether to verify between them."""
    from xir.ir.reproducer import reproducer_pipeline

    if given:
        raise UsageError("--run-reproducer runs the pipeline of the input: leave passes out")
    if (found := reproducer_pipeline(ctx.external_resources)) is None:
        raise UsageError("the input is no reproducer: it has no external resource 'mlir_reproducer' with a pipeline")
    pipeline, verify_each = found
    return passes_of(pipeline), verify_each


def _print_options(options: argparse.Namespace) -> PrintOptions:
    from xir.ir.printer import PrintOptions

    return PrintOptions(
        generic=options.mlir_print_op_generic,
        debuginfo=options.mlir_print_debuginfo,
        elide_elements_above=options.mlir_elide_elementsattrs_if_larger,
        resources=options.print_resources or options.output != "-" or not sys.stdout.isatty(),
        resource_digits_limit=options.mlir_elide_resource_strings_if_larger,
    )


def _ir_printing(options: argparse.Namespace, print_options: PrintOptions) -> IrPrinting:
    from xir.ir.ir_printing import EVERY_PASS, IrPrinting

    def chosen(every: bool, names: Sequence[str]) -> Container[str]:
        return EVERY_PASS if every else _known_names(names)

    return IrPrinting(
        before=chosen(options.mlir_print_ir_before_all, options.mlir_print_ir_before),
        after=chosen(options.mlir_print_ir_after_all, options.mlir_print_ir_after),
        only_on_change=options.mlir_print_ir_after_change,
        only_on_failure=options.mlir_print_ir_after_failure,
        tree=None if options.mlir_print_ir_tree_dir is None else Path(options.mlir_print_ir_tree_dir),
        text=print_options,
    )


def _known_names(texts: Sequence[str]) -> set[str]:
    names = {name.strip() for text in texts for name in text.split(",")}
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
