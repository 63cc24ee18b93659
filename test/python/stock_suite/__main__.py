"""Lower the programs of ExecuTorch's own tests by xir, run them, and tell what is wrong and what is not delegated."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported

import torch
from torch.utils._pytree import tree_leaves

from stock_suite.programs import FOLDERS, FORMS, Program, modules, programs
from xir.api import XnnpackPartitioner, to_edge
from xir.dialects.delegate import GraphOp
from xir.dialects.edge import OpaqueOp
from xir.ir.diagnostics import DiagnosticError
from xir.runtime import Runtime


def exported(program: Program) -> torch.export.ExportedProgram:
    """The program as torch.export gives it, quantised by stock first where the test wants that."""
    model = program.model.eval()
    if program.quantize is not None:
        program.quantize.run(model, program.inputs)
        model = program.quantize.artifact
    with torch.no_grad():
        return torch.export.export(model, program.inputs, dynamic_shapes=program.dynamic_shapes)


def outcome(program: Program) -> dict[str, object]:
    """What becomes of a program: `status`, and with it delegates, kernels outside of them, and the largest error."""
    try:
        exports = exported(program)
        with torch.no_grad():
            expected = [x for x in tree_leaves(exports.module()(*program.inputs)) if isinstance(x, torch.Tensor)]
    except Exception as error:  # stock's quantizer and torch.export refuse some of the programs
        return {"status": "not exported", "detail": f"{type(error).__name__}: {str(error)[:200]}"}
    try:
        lowered = to_edge(exports).to_backend(XnnpackPartitioner())
        kernels = Counter(
            op.name.removeprefix("edge.") + (f" {op.schema.qualified_name}" if isinstance(op, OpaqueOp) else "")
            for op in lowered.module.walk()
            if op.name.startswith("edge.") and op.name != "edge.constant"
        )
        delegates = sum(isinstance(op, GraphOp) for op in lowered.module.walk())
        method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method()
        found = [torch.as_tensor(x) for x in method.execute(tree_leaves(program.inputs)) if not isinstance(x, int)]
    except Exception as error:
        status = "refused" if isinstance(error, DiagnosticError) else "failed"
        return {"status": status, "detail": f"{type(error).__name__}: {str(error)[:300]}"}
    close = all(is_close(program, x.double(), y.double()) for x, y in zip(found, expected, strict=True))
    differences = [(x.double() - y.double()).abs() for x, y in zip(found, expected, strict=True)]
    worst = max((float(each.max()) for each in differences if each.numel()), default=0.0)
    dtypes = sorted({str(x.dtype)[6:] for x in tree_leaves(program.inputs) if isinstance(x, torch.Tensor)})
    return {
        "status": "right" if close else "wrong",
        "delegates": delegates,
        "kernels": dict(kernels),
        "error": worst,
        "bound": program.atol,
        "inputs": dtypes,
    }


def is_close(program: Program, actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether a result is within the test's tolerance, and the steps that a quantised program may be off."""
    steps = 0.0 if program.quantize is None or not expected.numel() else 2 / 255 * float(expected.abs().max())
    return torch.allclose(actual, expected, rtol=program.rtol, atol=program.atol + steps, equal_nan=True)


def outcomes(folder: str, module: str, forms: Collection[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """The programs of a module of tests, and what becomes of each."""
    for program in programs(folder, module, forms):
        yield program.name, outcome(program)


def main() -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m stock_suite", description=__doc__)
    parser.add_argument("modules", nargs="*", help="such as xnnpack.test_linear, or a folder: xnnpack, operators")
    parser.add_argument("--json", type=Path, help="write an object a line here as well")
    parser.add_argument("--form", action="append", choices=list(FORMS), help="of the operators' programs (all)")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    chosen = options.modules or list(FOLDERS)
    names = [(f, m) for f in FOLDERS for m in modules(f) if f in chosen or f"{f}.{m}" in chosen]
    totals: Counter[str] = Counter()
    with open(options.json or os.devnull, "w", encoding="utf-8") as stream:
        for folder, module in names:
            for name, result in outcomes(folder, module, options.form or FORMS):
                whole = result["status"] == "right" and not result["kernels"]
                totals["right, one delegate or more and nothing else" if whole else str(result["status"])] += 1
                if not whole:
                    print(name, *(f"{key}={value}" for key, value in result.items() if key != "inputs"), flush=True)
                stream.write(json.dumps({"name": name, **result}) + "\n")
                stream.flush()
    for status, count in sorted(totals.items()):
        print(f"{count:6} {status}")
    return 1 if totals["wrong"] or totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
