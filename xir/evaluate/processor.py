"""What XNNPACK's kernels do on the processor that runs them, which no file says: it is asked."""

from __future__ import annotations

from functools import cache

import torch

from xir.evaluate.execution import run_program
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.transforms.pte.lower_to_pte import LowerToPtePass

PRODUCT = """
func.func @forward(%x: tensor<1x65xf16>) -> tensor<1x1xf16>
    attributes {xir.in_spec = "T2#1#0(T1#1($),D0())", xir.out_spec = "$"} {
  %y = xnnpack.subgraph(%x) : (tensor<1x65xf16>) -> tensor<1x1xf16> {
  ^bb0(%a: tensor<1x65xf16>):
    %w = xnnpack.constant dense<1.0> : tensor<1x65xf16>
    %b = xnnpack.fully_connected %a, %w : (tensor<1x65xf16>, tensor<1x65xf16>) -> tensor<1x1xf16>
    xnnpack.yield %b : tensor<1x1xf16>
  }
  func.return %y : tensor<1x1xf16>
}
"""
"""The sum of 65 halves."""


@cache
def adds_in_half() -> bool:
    """Whether XNNPACK adds up products of fp16 in fp16, as it does where the processor computes with halves.

    2048 + 1 is 2048 in halves, as often as it is added; in fp32 2048 and 64 ones are 2112, which is a half as well.
    """
    ctx = XirContext()
    module = parse_module(ctx, PRODUCT)
    PassManager(ctx, [LowerToPtePass()]).run(module)
    row = torch.ones(1, 65, dtype=torch.float16)
    row[0, 0] = 2048
    ((total,),) = run_program(module, ctx, {"forward": [row]}, {"forward": []}).values()
    return float(torch.as_tensor(total)) < 2112
