"""The lit test that a fault becomes: it fails as long as the pass is wrong."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xir.faults.reproduction import Failure, Fault
from xir.ir.context import XirContext
from xir.ir.printer import PrintOptions, module_to_text


def lit_test(
    failure: Failure, module: ModuleOp, ctx: XirContext, rtol: float = 0.0, pass_seconds: float | None = None
) -> str:
    """A test whose RUN line repeats the failure on `module`, which CHECK lines hold to pass every function through."""
    what = failure.diagnostic.message
    check = ""
    if failure.fault is Fault.WRONG:
        check = f" --verify-numerics={rtol:g}" if rtol else " --verify-numerics"
    elif failure.fault is Fault.ENDLESS:
        check = f" --pass-seconds={pass_seconds:g}"
    lines = [
        f"// RUN: xir-opt --pass-pipeline='builtin.module({failure.pipeline})'{check} %s | filecheck %s",
        "",
        f"// {what}",
        "",
    ]
    for op in module.body.ops:
        if isinstance(op, FuncOp):
            results = len(op.function_type.outputs)
            lines.append(f"// CHECK-LABEL: func.func @{op.sym_name.data}")
            lines.append(f"// CHECK: func.return{' %' if results else ''}")
    return "\n".join(lines) + "\n" + module_to_text(module, ctx, PrintOptions(resources=True))
