"""`--remarks-filter` and its like, which several tools have: which remarks are wanted, and where they go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xir.files import atomic_file

if TYPE_CHECKING:
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import Diagnostic
    from xir.ir.remarks import Remark, RemarkFilter

PRINTED = "emitRemark"
"""The format of remarks that are diagnostics on standard error."""

_FILTERS = {
    "remarks_filter": "all remarks of these passes",
    "remarks_filter_passed": "what these passes did",
    "remarks_filter_missed": "what they did not do, and why",
    "remarks_filter_failed": "ops that a backend refused late",
    "remarks_filter_analyse": "figures that they found, such as costs",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags, which have `mlir-opt`'s names."""
    group = parser.add_argument_group(
        "remarks", "What passes did, missed and found. A filter is a regular expression that matches pass names."
    )
    for name, help in _FILTERS.items():
        group.add_argument(f"--{name.replace('_', '-')}", metavar="REGEX", help=help)
    group.add_argument(
        "--remark-format", choices=(PRINTED, "yaml", "json"),
        help="print diagnostics (default), or write LLVM's YAML, or JSON",
    )  # fmt: skip
    group.add_argument(
        "--remark-policy", choices=("all", "final"), default="all",
        help="for remarks with the same pass, name and location: print 'all' (default) or only the last one",
    )  # fmt: skip
    group.add_argument(
        "--remarks-output-file", metavar="FILE",
        help="the file of YAML or JSON; - is standard output (default: mlir-remarks.yaml or mlir-remarks.json)",
    )  # fmt: skip


@dataclass
class RemarkOutput:
    """What is done with remarks."""

    filter: RemarkFilter
    format: str
    is_final: bool
    path: str
    remarks: list[Remark] = field(default_factory=list["Remark"])
    """Those for the file, so far."""

    @staticmethod
    def of(options: argparse.Namespace) -> RemarkOutput | None:
        """What the flags ask for; None if there are none. Without a filter all remarks are wanted. ValueError for a
        filter that is no regular expression."""
        filters: list[str | None] = [getattr(options, name) for name in _FILTERS]
        format, path = options.remark_format, options.remarks_output_file
        if not any(given is not None for given in (*filters, format, path)):
            return None
        if format is None:
            format = PRINTED if path is None else "json" if path.endswith(".json") else "yaml"
        from xir.ir.remarks import RemarkFilter

        every, passed, missed, failed, analysis = filters
        if all(given is None for given in filters):
            every = ".*"
        wanted = RemarkFilter.of(every, passed=passed, missed=missed, failed=failed, analysis=analysis)
        return RemarkOutput(wanted, format, options.remark_policy == "final", path or f"mlir-remarks.{format}")

    @property
    def prints(self) -> bool:
        """Whether they are printed, and not written to a file."""
        return self.format == PRINTED

    @contextmanager
    def heard(self, ctx: XirContext) -> Generator[None]:
        """Take the remarks that are made in a context meanwhile: those that are to be printed become diagnostics."""
        from xir.ir.remarks import Remark

        ctx.remark_filter = self.filter
        at_end: list[Remark] = []

        def handle(diagnostic: Diagnostic) -> bool:
            if not isinstance(diagnostic, Remark):
                return False
            if self.prints and not self.is_final:
                for each in self.chosen([diagnostic]):
                    ctx.diagnostics.emit(printed(each))
            else:
                at_end.append(diagnostic)
            return True

        with ctx.diagnostics.handler(handle):
            yield
        if not self.prints:
            self.remarks += self.chosen(at_end)
            return
        for each in self.chosen(at_end):
            ctx.diagnostics.emit(printed(each))

    def chosen(self, diagnostics: Iterable[Diagnostic]) -> list[Remark]:
        """The remarks that are wanted."""
        from xir.ir.remark_files import final_remarks
        from xir.ir.remarks import Remark

        remarks = [each for each in diagnostics if isinstance(each, Remark)]
        remarks = [each for each in remarks if self.filter.wants(each.kind, each.category)]
        return final_remarks(remarks) if self.is_final else remarks

    def write(self) -> None:
        """Write the file, if one is to be written. OSError if it cannot be."""
        from xir.ir.remark_files import json_of, yaml_of

        if self.prints:
            return
        text = json_of(self.remarks) if self.format == "json" else yaml_of(self.remarks)
        if self.path == "-":
            sys.stdout.write(text)
            return
        with atomic_file(self.path) as file:
            file.write(text.encode("utf-8"))


def printed(remark: Remark) -> Diagnostic:
    """The diagnostic that a remark is printed as, which is `mlir-opt`'s."""
    from xir.ir.diagnostics import Diagnostic, Severity

    return Diagnostic(Severity.REMARK, remark.location, remark.mlir_text(), remark.notes)
