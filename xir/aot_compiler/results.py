"""What `xir-aot` writes and prints: the file, the lowered program, reports, and the last line that sums it up."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from xir.files import atomic_file

if TYPE_CHECKING:
    from xir.api import EdgeProgram, ExecutorchProgram
    from xir.quantizer import QuantReport


def print_results(
    options: argparse.Namespace,
    edge: EdgeProgram,
    executorch: ExecutorchProgram,
    last_line: str,
    quality: QuantReport | None,
) -> None:
    """What the program leaves out, what was asked for, and the last line; all but the JSON to stderr if that goes to
    stdout.
    """
    from xir.report import IN_TABLES, report_of

    report = report_of(edge.remarks)
    for remark in (*edge.remarks, *executorch.remarks):
        if options.verbose or not isinstance(remark, IN_TABLES):
            print(remark, file=sys.stderr)
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
    if quality is not None and options.quant_report_json:
        write(Path(options.quant_report_json), lambda file: file.write(quality.json().encode("utf-8")))
    if quality is not None and options.quant_report:
        print(quality.text(), file=text)
    print(last_line, file=text)


def summary(edge: EdgeProgram, options: argparse.Namespace) -> str:
    """How much of the program is delegated."""
    from xir.dialects.delegate import GraphOp
    from xir.dialects.edge import EdgeOp
    from xir.transforms.delegate._marks import computes_sizes

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


def python_only(program: ExecutorchProgram) -> str:
    """Which operators of the program the native runner cannot run; nothing if it runs all of them."""
    from xir.runtime import portable_kernels

    missing = [name for name in program.kernel_names if name not in portable_kernels()]
    return f"; only Python runs {', '.join(missing)}" if missing else ""


def write(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file, wholly or not at all, in a folder that is made if need be. OSError if it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        write(file)
