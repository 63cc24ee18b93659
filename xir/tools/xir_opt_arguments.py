"""The command line of `xir-opt`: its flags, in the names of `mlir-opt`, and what they mean together."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from xir import __version__
from xir.ir.split_input import SPLIT_MARKER
from xir.plugin_loading import PLUGIN_HELP
from xir.tools.command_line import ArgumentParser, UsageError, add_pass_seconds
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES, describe, passes_of, pipeline_texts

if TYPE_CHECKING:
    from xir.ir.passes import XirPass

_BARE_FLAGS = {
    "verify-each": "true",
    "split-input-file": SPLIT_MARKER,
    "verify-diagnostics": "all",
    "verify-numerics": "0",
}
"""Flags whose value may be left out, and what they then mean. argparse would take the input file for the value."""


class PassArgumentParser(ArgumentParser):
    """A parser of what stands beside pass flags, which it knows for its hints."""

    def flags(self) -> Iterable[str]:
        return (*PASSES, *PIPELINES, *super().flags())

    def hint(self, argument: str) -> str:
        """The pass of a plugin that is not registered, or the flag that comes nearest."""
        from xir.ir.passes import unregistered_hint

        name = argument.lstrip("-").partition("=")[0]
        return (unregistered_hint(name) if argument.startswith("-") else "") or super().hint(argument)


class _OptParser(PassArgumentParser):
    def hint(self, argument: str) -> str:
        """What comes nearest, and where the flags of `mlir-opt` are that do not exist here."""
        found = super().hint(argument)
        return found or "; docs/reference/mlir_opt.md says what stands for flags of mlir-opt" * argument.startswith("-")

    def format_help(self) -> str:
        return f"{super().format_help()}\n{pass_listing()}"


def argument_parser() -> argparse.ArgumentParser:
    """The parser of what `lift_pass_flags` leaves."""
    from xir.tools.remarks import add_arguments as add_remark_arguments
    from xir.tools.verify_numerics import add_arguments as add_numerics_arguments

    parser = _OptParser(
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
    passes.add_argument(
        "--dump-pass-pipeline", action="store_true",
        help="print the pipeline to standard error, as --pass-pipeline reads it, before it runs",
    )  # fmt: skip
    passes.add_argument("--list-passes", action="store_true", help="list passes and pipelines, and exit")
    passes.add_argument("--show-dialects", action="store_true", help="list the dialects, and exit")

    passes.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)

    text = parser.add_argument_group("input and output")
    text.add_argument(
        "--split-input-file", metavar="MARKER",
        help=f"process the parts between marker lines (default: '{SPLIT_MARKER}') separately",
    )  # fmt: skip
    text.add_argument(
        "--output-split-marker",
        metavar="MARKER",
        help="the line between outputs (default: the input's marker)",
    )
    text.add_argument(
        "--no-implicit-module", action="store_true", help="refuse operations outside a module instead of adding one"
    )
    text.add_argument("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    text.add_argument("--mlir-print-op-generic", action="store_true", help="print every operation in generic form")
    text.add_argument("--mlir-print-debuginfo", action="store_true", help="print locations")
    text.add_argument(
        "--mlir-elide-elementsattrs-if-larger", type=int, metavar="N",
        help="print dense<...> constants of more than N elements as dense_resource<__elided__>",
    )  # fmt: skip
    text.add_argument(
        "--print-resources", action="store_true",
        help="print the data of resources on a terminal too, and around passes (default: only to files and pipes)",
    )  # fmt: skip
    text.add_argument(
        "--mlir-elide-resource-strings-if-larger", type=int, metavar="N",
        help="print only the data of resources whose text has at most N characters",
    )  # fmt: skip

    checks = parser.add_argument_group("diagnostics and debugging")
    checks.add_argument(
        "--verify-diagnostics", choices=("all", "only-expected"), metavar="MODE",
        help="match diagnostics against expected-* comments: 'all' (default), or 'only-expected'",
    )  # fmt: skip
    checks.add_argument(
        "--verify-roundtrip",
        action="store_true",
        help="require that each printed module parses to the same module",
    )
    checks.add_argument("--mlir-print-ir-before-all", action="store_true", help="print the module before each pass")
    checks.add_argument("--mlir-print-ir-after-all", action="store_true", help="print the module after each pass")
    checks.add_argument(
        "--mlir-print-ir-before", metavar="PASSES", action="append", default=[], help="print it before these passes"
    )
    checks.add_argument(
        "--mlir-print-ir-after", metavar="PASSES", action="append", default=[], help="print it after these passes"
    )
    checks.add_argument(
        "--mlir-print-ir-after-change", action="store_true", help="after a pass, print it only if the pass changed it"
    )
    checks.add_argument(
        "--mlir-print-ir-after-failure", action="store_true", help="after a pass, print it only if the pass failed"
    )
    checks.add_argument(
        "--mlir-print-ir-tree-dir",
        metavar="DIR",
        help="print these modules to files in this folder",
    )
    checks.add_argument(
        "--mlir-print-ir-module-scope",
        action="store_true",
        help="accepted for compatibility: the whole module is always printed",
    )
    checks.add_argument(
        "--mlir-pass-pipeline-crash-reproducer", "--mlir-pass-pipeline-local-reproducer", dest="crash_reproducer",
        metavar="FILE", help="when a pass fails, write its input module and the pass to this file",
    )  # fmt: skip
    checks.add_argument("--run-reproducer", action="store_true", help="run the pipeline in the input, a reproducer")
    add_numerics_arguments(checks)
    add_pass_seconds(checks, "refuse to go on with")
    checks.add_argument(
        "--mlir-debug-counter", metavar="COUNTERS", action="append", default=[],
        help="<pass>-count=N,…: limit a pass to its first N rewrites",
    )  # fmt: skip
    checks.add_argument(
        "--mlir-print-debug-counter", action="store_true",
        help="print to standard error how many rewrites each pass made",
    )  # fmt: skip
    checks.add_argument("--mlir-timing", action="store_true", help="print the time that each pass takes")
    checks.add_argument(
        "--mlir-pass-statistics", action="store_true", help="print how many rewrites and operations each pass made"
    )
    checks.add_argument(
        "--mlir-pass-statistics-display", choices=("list", "pipeline"), default="pipeline",
        help="print these by name, or in the order of the passes (default: %(default)s)",
    )  # fmt: skip
    checks.add_argument(
        "--log-actions-to", metavar="FILE", help="write each pass and each rewrite to a file as it is done"
    )
    add_remark_arguments(parser)
    parser.add_argument(
        "--version", action="version", version=f"xir-opt {__version__}", help="print the version, and exit"
    )
    return parser


def _boolean(text: str) -> bool:
    value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if value is None:
        raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")
    return value


def lift_pass_flags(arguments: Sequence[str]) -> tuple[list[tuple[str, str | None]], list[str]]:
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


def pass_listing() -> str:
    """The passes with their options, and the pipelines."""
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
    for name, pipeline in PIPELINES.items():
        lines.append(f"  --{name}")
        lines += [f"      {line}" for line in (pipeline.reason, pipeline.text) if line]
    return "\n".join(lines) + "\n"


def passes_asked_for(options: argparse.Namespace, pass_flags: Sequence[tuple[str, str | None]]) -> list[XirPass]:
    """The passes of `--pass-pipeline` or of the flags. UsageError for both; DiagnosticError for what is no pass."""
    from xir.ir.pipeline import instantiate, parse_options

    if options.pass_pipeline is not None:
        if pass_flags:
            raise UsageError("--pass-pipeline and pass flags exclude each other")
        return passes_of(options.pass_pipeline)
    return [
        each
        for name, text in pass_flags
        for each in instantiate(name, None if text is None else parse_options(text), PASSES, pipeline_texts())
    ]
