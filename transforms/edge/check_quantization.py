"""Refuse quantisation parameters that give integers no meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from xir.dialects.edge.families import Dequantize, Quantize
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.walking import ops_in
from xir.transforms.analysis.quantization_parameters import parameters


@dataclass(frozen=True)
class CheckQuantizationPass(XirPass):
    """Refuse quantise and dequantise ops with invalid parameters.

    Scales must be finite and positive, zero points and ranges within the integer type, and there must be one for each
    channel or block. Anything else is an error at the op: kernels would compute with it, XNNPACK would not.

    Before:
    ```mlir
    %1 = edge.quantized_decomposed.quantize_per_tensor(%0) {scale = 0.0 : f64, zero_point = 0 : i64,
           quant_min = -128 : i64, quant_max = 127 : i64, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
    ```
    After:
    ```text
    error: edge.quantized_decomposed.quantize_per_tensor: a scale is a positive number that f32 can hold, got 0; …
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """DiagnosticError for the first op whose parameters are known and make no sense."""
        each: Quantize | Dequantize
        for each in ops_in(op, Quantize | Dequantize, graphs=False):
            try:
                parameters(each, ctx)
            except VerifyException as error:
                message = f"{each.name}: {error}; correct the parameters, or quantise the model again"
                raise DiagnosticError(each, message) from error
