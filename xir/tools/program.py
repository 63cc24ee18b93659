"""What the tools that look for faults are given: a module of text, or a model of the zoo, and a pipeline."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from xir.models.zoo import MODELS
from xir.plugin_loading import PLUGIN_HELP
from xir.tools.aot.arguments import add_quantization_options, add_source_options, quantization_flags, source_flags
from xir.tools.command_line import UsageError
from xir.transforms.registry import passes_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.ir.context import XirContext
    from xir.ir.passes import XirPass


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says which program and which passes."""
    parser.add_argument(
        "program",
        help="a file of MLIR text, a .pt2 file, FILE.py:FACTORY as for xir-aot, or a model of the zoo: "
        f"{', '.join(MODELS)}",
    )
    parser.add_argument(
        "pipeline", nargs="?", default="delegate,emit",
        help="passes and named pipelines, as a,b{option=x} (default: delegate,emit)",
    )  # fmt: skip
    add_source_options(parser)
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    add_quantization_options(parser)


def load(options: argparse.Namespace) -> tuple[ModuleOp, XirContext, Any]:
    """The module, its context, and the example inputs of a model.

    DiagnosticError if there is something wrong in a text; AlreadyReportedError if a model cannot be imported, which has
    been printed then; WrongQuantizationError if it is quantised further from the float model than its bits explain;
    WrongImportError if its module computes something else than PyTorch does.
    """
    if source := _source(options.program):
        return _model(source, options)
    from xir.ir.context import XirContext
    from xir.ir.parser import parse_module

    if given := [*source_flags(options), *quantization_flags(options)]:
        raise UsageError(f"{given[0].partition('=')[0]} goes with a model, not with text")
    ctx = XirContext()
    try:
        with open(options.program, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"cannot open '{options.program}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"'{options.program}' is not UTF-8 text") from error
    return parse_module(ctx, text, options.program), ctx, None


def _source(name: str) -> list[str]:
    """A model's flags for `xir-aot`; none for the name of a text."""
    if name in MODELS:
        return ["-m", name]
    if name.endswith(".pt2"):
        return ["--pt2", name]
    return ["--model", name] if ".py:" in name else []


def _model(source: list[str], options: argparse.Namespace) -> tuple[ModuleOp, XirContext, Any]:
    from xir.api import to_edge
    from xir.evaluate.evaluator import NotEvaluatedError
    from xir.evaluate.imported import check_import
    from xir.progress import step
    from xir.runtime.agreement import example_values
    from xir.tools.aot.arguments import parse_arguments
    from xir.tools.aot.quantization import quantize_program
    from xir.tools.aot.source import load as load_program
    from xir.tools.model_diagnostics import about

    flags = [*source, *source_flags(options), *quantization_flags(options)]
    arguments = parse_arguments([*flags, "--verify-numerics"])
    with about(options.program):
        _, program = load_program(arguments)
        if arguments.quantize is not None:
            program, _ = quantize_program(arguments, program)
        edge = to_edge(program, max_size=options.max_size)
    with step("Comparing with PyTorch"), suppress(NotEvaluatedError):
        check_import(program)
    return edge.module, edge.ctx, example_values(program) or None


def passes(options: argparse.Namespace) -> list[XirPass]:
    """The passes of the pipeline. DiagnosticError for what is none."""

    return passes_of(options.pipeline)
