"""What rules know of an op between integers: forms of it that XNNPACK computes on them, or as a table."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xir.dialects.edge.families import Dequantize, Quantize
from xir.dialects.quant import UniformType
from xir.ir.context import XirContext
from xir.transforms.analysis.quantization_parameters import parameters


def integers_around(value: SSAValue, result: SSAValue, ctx: XirContext) -> tuple[UniformType, UniformType] | None:
    """The types of the integers that an op's operand is dequantised from, and that its result is rounded to.

    None unless both have one scale that is known, and the result no other reader.
    """
    source, users = value.owner, [use.operation for use in result.uses]
    if not isinstance(source, Dequantize) or len(users) != 1:
        return None
    (user,) = users
    if not isinstance(user, Quantize):
        return None
    types = parameters(source, ctx), parameters(user, ctx)
    if types[0] is None or types[1] is None or not types[0].is_per_tensor or not types[1].is_per_tensor:
        return None
    return types[0], types[1]
