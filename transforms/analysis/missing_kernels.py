"""The remark about a kernel that ExecuTorch lacks."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from xir.ir.diagnostics import Severity
from xir.ir.remarks import Remark, RemarkKind, function_of, sentence


@dataclass(frozen=True, kw_only=True)
class MissingKernel(Remark):
    """A program calls a kernel that ExecuTorch does not have, which nobody has to ask for."""

    kernel: str
    """Its name in the file, such as `aten::erfinv.out`."""

    @staticmethod
    def of(op: Operation, kernel: str, text: str) -> MissingKernel:
        """The remark about the op that becomes the call."""
        return MissingKernel(
            Severity.REMARK,
            op.location,
            sentence("lower-to-pte", text, "", None),
            kind=RemarkKind.ANALYSIS,
            category="lower-to-pte",
            name="missing-kernel",
            text=text,
            function=function_of(op),
            figures=(("Kernel", kernel),),
            kernel=kernel,
        )
