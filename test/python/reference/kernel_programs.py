"""Programs of kernels alone: one op each, with the arguments of `aten_calls`.

`PYTHONPATH=test/python python -m reference.kernel_programs` writes backend_cpp/fuzz/kernels, programs in which each of
the runtime's kernels succeeds: where the loader's fuzzer begins with them.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region

from reference.aten_calls import CASES, AtenCall, aten_call
from xir.dialects import edge
from xir.emitter import emit
from xir.ir.context import XirContext
from xir.ir.passes import PassManager
from xir.runtime import portable_kernels
from xir.transforms.registry import passes_of

FOLDER = Path(__file__).parents[3] / "backend_cpp" / "fuzz" / "kernels"
LARGEST = 8192
"""Bytes of a program that a fuzzer changes in little time."""


def program_of(call: AtenCall) -> tuple[bytes, list[str]]:
    """A program that makes a call and returns all results, and the kernels in it."""
    block = call.op.parent
    assert block is not None
    block.add_op(ReturnOp(*call.op.results))
    types = ([argument.type for argument in block.args], [result.type for result in call.op.results])
    module, ctx = ModuleOp([FuncOp("forward", types, Region(block))]), XirContext()
    emit_pipeline = passes_of("emit")
    lowering = next(i for i, each in enumerate(emit_pipeline) if each.name == "lower-to-pte")
    PassManager(ctx, emit_pipeline[:lowering]).run(module)
    kernels = [op.out_kernel or op.schema.qualified_name for op in module.walk() if isinstance(op, edge.EdgeOp)]
    PassManager(ctx, emit_pipeline[lowering:]).run(module)
    file = io.BytesIO()
    emit(module, ctx, file)
    return file.getvalue(), kernels


def main() -> int:
    """Write the programs, and say which kernels have none."""
    left = set(portable_kernels())
    FOLDER.mkdir(exist_ok=True)
    for name, cases in CASES.items():
        for i, case in enumerate(cases):
            try:
                file, kernels = program_of(aten_call(name, case))
            except Exception as error:
                sys.stderr.write(f"{name}-{i}: {error}\n")
                continue
            if not left.isdisjoint(kernels) and len(file) <= LARGEST:
                left -= set(kernels)
                (FOLDER / f"{name}-{i}.pte").write_bytes(file)
    sys.stdout.write(f"{len(list(FOLDER.iterdir()))} programs; no program for {', '.join(sorted(left)) or 'none'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
