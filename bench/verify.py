"""`python -m bench.verify`: that `--verify-numerics` says nothing about right passes, over the zoo in all forms.

Each model is compiled in each form, and each pass compared with what was before it. A line for each says the largest
error, and the pass that made it; a model that fails prints its diagnostic, and the command ends with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

FORMS = ("fp32", "fp16", "static", "dynamic", "int4", "batch")


def checked(program: Any, inputs: Any) -> list[tuple[str, float]]:
    """The error of each pass."""
    from xir import XnnpackPartitioner, to_edge
    from xir.evaluate import NumericsChecker

    checker = NumericsChecker(inputs)
    to_edge(program).to_backend(XnnpackPartitioner(), numerics=checker).to_executorch(numerics=checker)
    return checker.errors


def program_of(name: str, form: str) -> tuple[Any, Any]:
    """The exported program, and its example inputs."""
    from torch.utils._pytree import tree_leaves

    from xir.tools.aot.arguments import parse_arguments
    from xir.tools.aot.quantization import quantize_program
    from xir.tools.aot.source import load

    options = {"fp32": [], "fp16": ["--dtype=fp16"], "batch": ["--max-batch=3"]}.get(form, [f"--quantize={form}"])
    arguments = parse_arguments(["-m", name, "-d", *options])
    _, program = load(arguments)
    if arguments.quantize is not None:
        program, _ = quantize_program(arguments, program)
    return program, tree_leaves(program.example_inputs)


def main() -> int:
    """Check what the command line names."""
    from xir.ir.diagnostics import DiagnosticError
    from xir.models.zoo import MODELS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS), help="separated by commas (default: all)")
    parser.add_argument("--forms", default=",".join(FORMS), help=f"of {', '.join(FORMS)} (default: all)")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    failed = 0
    for name in options.models.split(","):
        for form in options.forms.split(","):
            start = time.process_time()
            try:
                program, inputs = program_of(name, form)
            except Exception as error:  # of PyTorch's or torchao's
                print(f"{name:20} {form:8} not compiled: {str(error)[:80]}", flush=True)
                continue
            try:
                errors = checked(program, inputs)
            except DiagnosticError as error:
                failed += 1
                print(f"{name:20} {form:8} FAILED\n{error.diagnostic}", flush=True)
                continue
            kernels = max((error for each, error in errors if each in ("lower-to-pte", "plan-memory")), default=0.0)
            worst = max(
                ((error, each) for each, error in errors if "pte" not in each and each != "plan-memory"),
                default=(0.0, ""),
            )
            seconds = time.process_time() - start
            print(f"{name:20} {form:8} {worst[0]:.1e} {worst[1]:20} kernels {kernels:.1e} {seconds:6.1f} s", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
