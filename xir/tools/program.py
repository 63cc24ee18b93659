"""What the tools that look for faults are given: a module of text, or a model of the zoo, and a pipeline."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from xir.models.zoo import MODELS
from xir.plugin_loading import PLUGIN_HELP
from xir.tools.command_line import UsageError
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.ir.context import XirContext
    from xir.ir.passes import XirPass


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says which program and which passes."""
    parser.add_argument("program", help=f"a file of MLIR text, a .pt2 file, or a model of the zoo: {', '.join(MODELS)}")
    parser.add_argument(
        "pipeline", nargs="?", default="delegate,emit",
        help="passes and named pipelines, as a,b{option=x} (default: delegate,emit)",
    )  # fmt: skip
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    parser.add_argument("--quantize", choices=("static", "dynamic", "int4"), help="quantise the model first")
    parser.add_argument(
        "--calibration", metavar="FILE.py:FUNCTION",
        help="with --quantize: the inputs that ranges come from, as for xir-aot (default: the example inputs)",
    )  # fmt: skip


def load(options: argparse.Namespace) -> tuple[ModuleOp, XirContext, Any]:
    """The module, its context, and the example inputs of a model. DiagnosticError if there is something wrong in it,
    WrongQuantizationError if it is quantised further from the float model than its bits explain, and WrongImportError
    if its module computes something else than PyTorch does.
    """
    if options.program in MODELS or options.program.endswith(".pt2"):
        return _model(options)
    from xir.ir.context import XirContext
    from xir.ir.parser import parse_module

    if options.quantize is not None:
        raise UsageError("--quantize goes with a model of the zoo or a .pt2 file")
    ctx = XirContext()
    try:
        with open(options.program, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"cannot open '{options.program}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"'{options.program}' is not UTF-8 text") from error
    return parse_module(ctx, text, options.program), ctx, None


def _model(options: argparse.Namespace) -> tuple[ModuleOp, XirContext, Any]:
    from torch import Tensor
    from torch.utils._pytree import tree_leaves

    from xir.aot_compiler.arguments import parse_arguments
    from xir.aot_compiler.quantization import quantize_program
    from xir.aot_compiler.source import load as load_program
    from xir.api import to_edge
    from xir.evaluate.evaluator import NotEvaluatedError
    from xir.evaluate.imported import check_import
    from xir.progress import step

    source = ["--pt2", options.program] if options.program.endswith(".pt2") else ["-m", options.program]
    if options.calibration is not None and options.quantize is None:
        raise UsageError("--calibration goes with --quantize")
    quantize = [] if options.quantize is None else [f"--quantize={options.quantize}"]
    quantize += [] if options.calibration is None else [f"--calibration={options.calibration}"]
    arguments = parse_arguments([*source, "-d", *quantize, "--verify-numerics"])
    _, program = load_program(arguments)
    if arguments.quantize is not None:
        program, _ = quantize_program(arguments, program)
    values = None if program.example_inputs is None else tree_leaves(program.example_inputs)
    edge = to_edge(program)
    with step("Comparing with PyTorch"), suppress(NotEvaluatedError):
        check_import(program)
    return edge.module, edge.ctx, values if values and all(isinstance(each, Tensor) for each in values) else None


def passes(options: argparse.Namespace) -> list[XirPass]:
    """The passes of the pipeline. DiagnosticError for what is none."""
    from xir.ir.pipeline import parse_pipeline

    return parse_pipeline(options.pipeline, PASSES, PIPELINES)
