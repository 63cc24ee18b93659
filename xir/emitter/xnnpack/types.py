"""The datatypes of a delegate's values ↔ element types, quantisation included.

| datatype | element type | parameters |
|---|---|---|
| FP32, FP16, BF16, Int32 | `f32`, `f16`, `bf16`, `i32` | none |
| QInt8, QUInt8, QInt32 | `!quant.uniform<i8:f32, …>`, `u8`, `i32` | PerTensorQuant |
| QCInt8, QCInt4, QCInt32 | `!quant.uniform<i8:f32:axis, {…}>`, `i4`, `i32` | PerChannelQuant |
| QBInt4 | `!quant.uniform<i4:f32:{0:1, 1:size}, {{…}}>` | PerChannelGroupQuant |
| QDInt8 | `!xnnpack.qd<i8, n>` | PerTokenDynamicQuant |

Scales are f32 on the wire, those of groups bf16. Where there are several they are constant data of their own, keyed
`scale_` and the sha256 of their bytes. 4-bit integers are stored as `xir/ir/nibbles.py` says. Source: `XNNDatatype` and
`XNNQuantParams` of `backends/xnnpack/serialization/runtime_schema.fbs` in pytorch/executorch. Its packed datatypes,
which XNNPACK gives values itself, have no element type here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute

from xir.dialects.quant import UniformType
from xir.dialects.xnnpack import DynamicType
from xir.dialects.xnnpack.quantization import i4
from xir.dialects.xnnpack.signatures import PER_CHANNEL_DATATYPES, PER_TENSOR_DATATYPES, PLAIN_DATATYPES, group_size
from xir.emitter.codec import Tagged, Tree
from xir.emitter.errors import FormatError
from xir.ir.elements import values_of

_PLAIN_TYPES = {name: element_type for element_type, name in PLAIN_DATATYPES.items()}
_PER_TENSOR_STORAGE = {name: storage for storage, name in PER_TENSOR_DATATYPES.items()}
_PER_CHANNEL_STORAGE = {name: storage for storage, name in PER_CHANNEL_DATATYPES.items()}


def quant_params(type: UniformType | DynamicType, add_scales: Callable[[bytes], int]) -> Tagged:
    """The quantisation parameters of a type that has a datatype.

    `add_scales` stores scales, little-endian f32 by channel and bf16 by group, and returns the index of their constant.
    """
    if isinstance(type, DynamicType):
        return Tagged("PerTokenDynamicQuant", {"num_nonbatch_dims": type.row_rank.data})
    if type.is_per_tensor:
        return Tagged("PerTensorQuant", {"scale": type.scale, "zero_point": type.zero_point})
    scales = type.scale_bytes()
    if type.is_blockwise:
        return Tagged(
            "PerChannelGroupQuant",
            {
                "scale": [],
                "channel_dim": 0,
                "group_size": group_size(type),
                "scale_buffer_idx": add_scales(scales),
                "num_scales": len(scales) // 2,
            },
        )
    return Tagged(
        "PerChannelQuant",
        {
            "scale": [],
            "channel_dim": type.axis,
            "scale_buffer_idx": add_scales(scales),
            "num_scales": len(scales) // 4,
        },
    )


def plain_type(datatype: str, path: str) -> Attribute:
    """The element type of a value without quantisation parameters. Raises FormatError if it has none."""
    if datatype not in _PLAIN_TYPES:
        raise FormatError(f"values of datatype {datatype} without quantisation parameters are not read", path=path)
    return _PLAIN_TYPES[datatype]


def quantized_type(
    datatype: str, params: Tagged | None, dims: Sequence[int], constant: Callable[[int], memoryview], path: str
) -> UniformType | DynamicType:
    """The element type of a value with quantisation parameters. `constant` gives the bytes of a constant by its index.

    Raises FormatError, or VerifyException for parameters that contradict each other.
    """
    match params:
        case Tagged("PerTensorQuant", tree) if datatype in _PER_TENSOR_STORAGE:
            return UniformType.per_tensor(_PER_TENSOR_STORAGE[datatype], f32, tree["scale"], tree["zero_point"])
        case Tagged("PerChannelQuant", tree) if datatype in _PER_CHANNEL_STORAGE:
            axis = tree["channel_dim"]
            if not 0 <= axis < len(dims):
                raise FormatError(f"the channel dimension {axis} is none of the {len(dims)} dimensions", path=path)
            scales = _scales(tree, constant, path, "<f4")
            return UniformType.per_axis(_PER_CHANNEL_STORAGE[datatype], f32, axis, scales.tolist())
        case Tagged("PerChannelGroupQuant", tree) if datatype == "QBInt4":
            size = tree["group_size"]
            if len(dims) != 2 or tree["channel_dim"] != 0 or size < 1 or dims[1] % size:
                raise FormatError(f"groups of {size} do not divide the rows of {list(dims)}", path=path)
            scales = _scales(tree, constant, path, "<u2")
            if len(scales) != dims[0] * dims[1] // size:
                raise FormatError(f"there are {len(scales)} scales for groups of {size} of {list(dims)}", path=path)
            return UniformType.blockwise(i4, f32, {0: 1, 1: size}, scales.reshape(dims[0], -1))
        case Tagged("PerTokenDynamicQuant", tree) if datatype == "QDInt8":
            return DynamicType.of(tree["num_nonbatch_dims"])
        case _:
            kind = params.member if params else "no parameters"
            raise FormatError(f"values of datatype {datatype} with {kind} are not read", path=path)


def _scales(tree: Tree, constant: Callable[[int], memoryview], path: str, dtype: str) -> np.ndarray:
    """The scales, stored as `<f4` or as the bits of bf16, which are `<u2`."""
    if not tree["scale_buffer_idx"]:
        return np.array(tree.get("scale", []), np.float32)
    data, size = constant(tree["scale_buffer_idx"]), np.dtype(dtype).itemsize * tree["num_scales"]
    if len(data) < size:
        raise FormatError(f"{tree['num_scales']} scales need {size} bytes, there are {len(data)}", path=path)
    scales = np.frombuffer(data[:size], dtype)
    return values_of(scales, bf16) if dtype == "<u2" else scales
