"""What `xir-aot` writes and prints: the file, the lowered program, reports, and the last line that sums it up."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from xir.files import atomic_file, size_text
from xir.tools.aot.arguments import threads_asked
from xir.tools.command_line import UsageError
from xir.tools.remarks import RemarkOutput, printed

if TYPE_CHECKING:
    from xir.api import EdgeProgram, ExecutorchProgram
    from xir.explore.profile import MethodProfile
    from xir.ir.diagnostics import Diagnostic
    from xir.quantizer import QuantReport


def print_results(
    options: argparse.Namespace,
    edge: EdgeProgram,
    executorch: ExecutorchProgram,
    last_lines: Sequence[str],
    quality: QuantReport | None,
    remarks: RemarkOutput | None,
) -> None:
    """What the program leaves out, what was asked for, and the last lines; all but the JSON to stderr if that goes to
    stdout.
    """
    from xir.report import report_of

    report = report_of([*edge.remarks, *executorch.remarks], executorch.module)
    print_remarks(options, [*edge.remarks, *executorch.remarks], remarks)
    if options.report_json and options.report_json != "-":
        write(Path(options.report_json), lambda file: file.write(report.json().encode("utf-8")))
    text = sys.stderr if options.report_json == "-" else sys.stdout
    if options.report_json == "-":
        sys.stdout.write(report.json())
    if options.print:
        print(edge.module, file=text)
    if options.report:
        print(report.text(), file=text)
    elif options.delegate and not options.verbose:
        print(report.brief(), end="", file=text)
    if options.cost_report:
        print(edge.cost_report(options.cpu, threads_asked(options) or 1).text(), end="", file=text)
    if quality is not None and options.quantize_report_json:
        write(Path(options.quantize_report_json), lambda file: file.write(quality.json().encode("utf-8")))
    if quality is not None and options.quantize_report:
        print(quality.text(), file=text)
    elif quality is not None:
        last_lines = [*quality.metric_lines(), *last_lines]
    for line in last_lines:
        print(line, file=text)


def arenas_found(program: ExecutorchProgram) -> list[str]:
    """A line for each arena: its bytes, and how few there could be."""
    from xir.arena_report import arenas_of, summary

    return [summary(arena) for arena in arenas_of(program.module, program.remarks).arenas]


def forms_chosen(said: Sequence[Diagnostic], cpu: str, threads: int = 0) -> str:
    """The line that tells what faster forms were chosen by whose profiles, and what they are predicted to save.

    Nothing if none was, unless `cpu` depends on the machine.
    """
    from xir.cost.processors import caveat, processors
    from xir.cost.profile import threads_text
    from xir.transforms.xnnpack.analysis.composed import ComposedOp

    cpus = processors(cpu, threads)
    because = f" ({cpus.reason})" if cpus.reason else ""
    composed = [each for each in said if isinstance(each, ComposedOp) and each.category == "winograd-conv2d"]
    if not composed:
        return f"cpu {cpus.name}{because}" if because else ""
    forms = Counter(remark.form for remark in composed)
    counted = ", ".join(f"{count} as {form}" for form, count in forms.most_common())
    plural = "" if len(composed) == 1 else "s"
    line = f"cpu {cpus.name}{because}: {len(composed)} convolution{plural} in faster forms, {counted}"
    figures = [dict(remark.figures) for remark in composed]
    if not all("DirectMicroseconds" in each for each in figures):
        return line
    before, after, added = (
        sum(float(each[name]) for each in figures) for name in ("DirectMicroseconds", "Microseconds", "AddedBytes")
    )
    mean = f", the mean of {len(cpus.profiles)} processors" if len(cpus.profiles) > 1 else ""
    on = f" on {threads_text(threads)}" if threads else ""
    times = f"{after / 1e3:.1f} ms predicted for {before / 1e3:.1f} ms{on}{mean}{caveat(cpus.profiles)}"
    return f"{line}; {times}; {size_text(int(added))} more weights"


def print_remarks(options: argparse.Namespace, said: Sequence[Diagnostic], remarks: RemarkOutput | None) -> None:
    """Print to stderr what passes said, or write the file of remarks: those that were asked for, or those that no
    summary has."""
    from xir.ir.remarks import Remark
    from xir.report import SUMMED_UP

    chosen = [] if remarks is None else remarks.chosen(said)
    if remarks is not None:
        for remark in chosen if remarks.prints else ():
            print(printed(remark), file=sys.stderr)
        remarks.remarks += chosen
        remarks.write()
    for diagnostic in said:
        # A lock asks for remarks as well, and tells what it needs of them.
        if type(diagnostic) is Remark and (remarks is None or diagnostic not in chosen):
            continue
        if options.verbose or not isinstance(diagnostic, SUMMED_UP if remarks is None else Remark):
            print(diagnostic, file=sys.stderr)


def summary(edge: EdgeProgram, options: argparse.Namespace) -> str:
    """How much of the program is delegated."""
    from xir.dialects.delegate import GraphOp
    from xir.dialects.edge import EdgeOp
    from xir.transforms.delegate.forming.marks import computes_sizes

    ops = [op for op in edge.module.walk() if not computes_sizes(op)]
    delegates, outside = (sum(isinstance(op, kind) for op in ops) for kind in (GraphOp, EdgeOp))
    counted = [f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in ((delegates, "delegate"), (outside, "op"))]
    of_backends = Counter(op.BACKEND for op in ops if isinstance(op, GraphOp))
    if len(of_backends) > 1:
        counted[0] += f" ({', '.join(f'{count} {name}' for name, count in of_backends.items())})"
    if not options.delegate:
        return f"{counted[1]}, none delegated"
    if not outside:
        return f"{counted[0]}, nothing outside"
    return f"{counted[0]}, {counted[1]} outside the delegate{'' if delegates == 1 else 's'}"


def latency(program: ExecutorchProgram, path: str, profile: MethodProfile) -> str:
    """What a profile says that an execution takes. UsageError if it is of another program."""
    from xir.explore.profile import ProfileError, check_profile
    from xir.explore.runnable import runnable

    try:
        check_profile(profile, runnable(program.module).counted())
    except ProfileError as error:
        raise UsageError(f"{path}: {error}") from error
    runs = f"{profile.executions} execution{'' if profile.executions == 1 else 's'}"
    return f"{profile.microseconds / 1000:.2f} ms to expect, the mean of {runs} in {path}"


def who_runs_it(program: ExecutorchProgram) -> str:
    """The kernels that runtimes lack; nothing if each of them runs the file."""
    from xir.dialects.edge.kernels import EXECUTORCH

    stock = program.missing_kernels
    native = _missing_native_kernels(program)
    said: list[str] = []
    if stock:
        said.append(f"stock {EXECUTORCH} refuses it, for it has no kernel {', '.join(stock)}")
    if native:
        pronoun = "it" if len(native) == 1 else "them"
        names = pronoun if native == stock else ", ".join(native)
        said.append(f"xir runs it in Python only, since its native runner lacks {names}")
    return "; ".join(said)


def _missing_native_kernels(program: ExecutorchProgram) -> list[str]:
    """Those that xir's native runner lacks; empty where xir was installed without it."""
    try:
        from xir.runtime import portable_kernels
    except ModuleNotFoundError:
        return []
    return [name for name in program.kernel_names if name not in portable_kernels()]


def refuse_missing_kernels(program: ExecutorchProgram) -> None:
    """DiagnosticError at the first kernel call that stock ExecuTorch cannot run, with a note for each other one."""
    from xir.ir.diagnostics import DiagnosticError, note
    from xir.transforms.analysis.missing_kernels import MissingKernel

    missing = [remark for remark in program.remarks if isinstance(remark, MissingKernel)]
    if missing:
        first, *others = missing
        notes = [note(each.location, each.text) for each in others]
        raise DiagnosticError(first.location, f"{first.text}: no file is written (--only-stock-kernels)", notes)


def write(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file, wholly or not at all, in a folder that is made if need be. OSError if it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        write(file)
