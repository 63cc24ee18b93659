"""The `xnnpack` dialect: one op is one XNNPACK node, tensors in physical order.

Ops mirror XNNPACK's own API (`include/xnnpack.h`); each class carries its form on the wire (`wire.py`).
"""

from xdsl.ir import Dialect

from xir.dialects.xnnpack.base import MAX_RANK, BoundedOp, NodeOp, WeightedOp
from xir.dialects.xnnpack.convolution import Conv2dOp, ConvolutionOp, Deconv2dOp, DepthwiseConv2dOp
from xir.dialects.xnnpack.elementwise import (
    BinaryKindAttr,
    BinaryOp,
    ClampOp,
    ConvertOp,
    CopyOp,
    EluOp,
    LeakyReluOp,
    UnaryKindAttr,
    UnaryOp,
    binary_kind,
)
from xir.dialects.xnnpack.matrix import BatchMatrixMultiplyOp, FullyConnectedOp, SoftmaxOp
from xir.dialects.xnnpack.pooling import (
    ArgMaxPooling2dOp,
    AveragePooling2dOp,
    GlobalAveragePooling2dOp,
    MaxPooling2dOp,
)
from xir.dialects.xnnpack.quantization import DynamicType
from xir.dialects.xnnpack.reduction import ReduceKindAttr, StaticReduceOp
from xir.dialects.xnnpack.shape import (
    ConcatenateOp,
    StaticConstantPadOp,
    StaticReshapeOp,
    StaticResizeBilinear2dOp,
    StaticSliceOp,
    StaticTransposeOp,
)
from xir.dialects.xnnpack.subgraph import ConstantOp, SubgraphOp, YieldOp

NODE_OPS: tuple[type[NodeOp], ...] = (
    UnaryOp,
    ClampOp,
    EluOp,
    LeakyReluOp,
    ConvertOp,
    CopyOp,
    BinaryOp,
    Conv2dOp,
    DepthwiseConv2dOp,
    Deconv2dOp,
    FullyConnectedOp,
    BatchMatrixMultiplyOp,
    SoftmaxOp,
    MaxPooling2dOp,
    AveragePooling2dOp,
    ArgMaxPooling2dOp,
    GlobalAveragePooling2dOp,
    StaticReduceOp,
    StaticTransposeOp,
    StaticReshapeOp,
    StaticSliceOp,
    StaticConstantPadOp,
    StaticResizeBilinear2dOp,
    ConcatenateOp,
)
"""Every op that is a node on the wire, in the order of the reference page."""

Xnnpack = Dialect(
    "xnnpack",
    [SubgraphOp, YieldOp, ConstantOp, *NODE_OPS],
    [UnaryKindAttr, BinaryKindAttr, ReduceKindAttr, DynamicType],
)

__all__ = [
    "MAX_RANK",
    "NODE_OPS",
    "ArgMaxPooling2dOp",
    "AveragePooling2dOp",
    "BatchMatrixMultiplyOp",
    "BinaryKindAttr",
    "BinaryOp",
    "BoundedOp",
    "ClampOp",
    "ConcatenateOp",
    "ConstantOp",
    "Conv2dOp",
    "ConvertOp",
    "ConvolutionOp",
    "CopyOp",
    "Deconv2dOp",
    "DepthwiseConv2dOp",
    "DynamicType",
    "EluOp",
    "FullyConnectedOp",
    "GlobalAveragePooling2dOp",
    "LeakyReluOp",
    "MaxPooling2dOp",
    "NodeOp",
    "ReduceKindAttr",
    "SoftmaxOp",
    "StaticConstantPadOp",
    "StaticReduceOp",
    "StaticReshapeOp",
    "StaticResizeBilinear2dOp",
    "StaticSliceOp",
    "StaticTransposeOp",
    "SubgraphOp",
    "UnaryKindAttr",
    "UnaryOp",
    "WeightedOp",
    "Xnnpack",
    "YieldOp",
    "binary_kind",
]
