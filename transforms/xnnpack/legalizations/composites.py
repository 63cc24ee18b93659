"""Composites that XNNPACK computes as the ops that they mean, and how they take part in static quantisation.

One that is not here is tried all the same, in floating point; those with a rule beside their decomposition say why
(`RuleInfo.overrides`).
"""

from xir.dialects import edge
from xir.transforms.xnnpack.legalizations.expansion import by_expansion
from xir.transforms.xnnpack.legalizations.rule import Quantized

by_expansion(
    edge.Conv1dOp,
    edge.Conv2dOp,
    edge.ConvTranspose1dOp,
    edge.ConvTranspose2dInputOp,
    quantized=Quantized.WEIGHTED,
)
by_expansion(edge.HardsigmoidOp, edge.SiluOp, quantized=Quantized.TABLE)
by_expansion(
    edge.AdaptiveAvgPool1dOp,
    edge.AdaptiveAvgPool2dOp,
    quantized=Quantized.OPERANDS,
)
by_expansion(
    edge.AliasOp,
    edge.CloneOp,
    edge.ContiguousOp,
    edge.DetachOp,
    edge.DropoutOp,
    edge.LiftFreshCopyOp,
    edge.MaxPool1dOp,
    edge.MaxPool2dOp,
    edge.SqueezeOp,
    edge.UnsafeViewOp,
    quantized=Quantized.MOVES,
)
by_expansion(
    edge.AdaptiveAvgPool3dOp,
    edge.AdaptiveMaxPool2dOp,
    edge.AvgPool1dOp,
    edge.AvgPool3dOp,
    edge.BaddbmmOp,
    edge.BatchNormOp,
    edge.Exp2Op,
    edge.GroupNormOp,
    edge.InstanceNormOp,
    edge.LayerNormOp,
    edge.LinalgVectorNormOp,
    edge.MaskedFillTensorOp,
    edge.MaxPool3dWithIndicesOp,
    edge.RmsNormOp,
    edge.SumOp,
    edge.TriuOp,
)
