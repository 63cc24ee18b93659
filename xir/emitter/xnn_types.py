"""The datatypes of a delegate's values ↔ element types, quantisation included.

| datatype | element type | parameters |
|---|---|---|
| FP32, FP16, BF16, Int32 | `f32`, `f16`, `bf16`, `i32` | none |
| QInt8, QUInt8, QInt32 | `!quant.uniform<i8:f32, …>`, `u8`, `i32` | PerTensorQuant |
| QCInt8, QCInt32 | `!quant.uniform<i8:f32:axis, {…}>`, `i32` | PerChannelQuant |

Scales are f32 on the wire. Per-channel scales are constant data of their own, keyed `scale_` and the sha256 of their
bytes. Source: `XNNDatatype` and `XNNQuantParams` of `backends/xnnpack/serialization/runtime_schema.fbs` in
pytorch/executorch. Its 4-bit, dynamically quantised and packed datatypes have no element type here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, bf16, f16, f32, i8, i32
from xdsl.ir import Attribute

from xir.dialects.quant import UniformType
from xir.emitter.codec import Tagged, Tree
from xir.emitter.errors import FormatError

_PLAIN: dict[Attribute, str] = {f32: "FP32", f16: "FP16", bf16: "BF16", i32: "Int32"}
_PER_TENSOR: dict[Attribute, str] = {
    i8: "QInt8",
    IntegerType(8, Signedness.UNSIGNED): "QUInt8",
    i32: "QInt32",
}
_PER_CHANNEL: dict[Attribute, str] = {i8: "QCInt8", i32: "QCInt32"}

_PLAIN_TYPES = {name: element_type for element_type, name in _PLAIN.items()}
_PER_TENSOR_STORAGE = {name: cast(IntegerType, storage) for storage, name in _PER_TENSOR.items()}
_PER_CHANNEL_STORAGE = {name: cast(IntegerType, storage) for storage, name in _PER_CHANNEL.items()}


def datatype_name(element_type: Attribute) -> str | None:
    """The member of `XNNDatatype` for an element type, None if there is none."""
    if not isinstance(element_type, UniformType):
        return _PLAIN.get(element_type)
    if element_type.expressed != f32 or element_type.is_blockwise:
        return None
    if element_type.is_per_tensor:
        return _PER_TENSOR.get(element_type.storage)
    return _PER_CHANNEL.get(element_type.storage) if not element_type.zero_point_array().any() else None


def quant_params(type: UniformType, add_scales: Callable[[bytes], int]) -> Tagged:
    """The quantisation parameters of a type that has a datatype.

    `add_scales` stores per-channel scales, little-endian f32, and returns the index of their constant.
    """
    if type.is_per_tensor:
        return Tagged("PerTensorQuant", {"scale": type.scale, "zero_point": type.zero_point})
    scales = type.scale_array().astype("<f4")
    return Tagged(
        "PerChannelQuant",
        {
            "scale": [],
            "channel_dim": type.axis,
            "scale_buffer_idx": add_scales(scales.tobytes()),
            "num_scales": len(scales),
        },
    )


def plain_type(datatype: str, path: str) -> Attribute:
    """The element type of a value without quantisation parameters. Raises FormatError if it has none."""
    if datatype not in _PLAIN_TYPES:
        raise FormatError(f"values of datatype {datatype} without quantisation parameters are not read", path=path)
    return _PLAIN_TYPES[datatype]


def quantised_type(
    datatype: str, params: Tagged | None, rank: int, constant: Callable[[int], memoryview], path: str
) -> UniformType:
    """The element type of a value with quantisation parameters. `constant` gives the bytes of a constant by its index.

    Raises FormatError, or VerifyException for parameters that contradict each other.
    """
    match params:
        case Tagged("PerTensorQuant", tree) if datatype in _PER_TENSOR_STORAGE:
            return UniformType.per_tensor(_PER_TENSOR_STORAGE[datatype], f32, tree["scale"], tree["zero_point"])
        case Tagged("PerChannelQuant", tree) if datatype in _PER_CHANNEL_STORAGE:
            axis = tree["channel_dim"]
            if not 0 <= axis < rank:
                raise FormatError(f"the channel dimension {axis} is none of the {rank} dimensions", path=path)
            return UniformType.per_axis(_PER_CHANNEL_STORAGE[datatype], f32, axis, _scales(tree, constant, path))
        case _:
            kind = params.member if params else "no parameters"
            raise FormatError(f"values of datatype {datatype} with {kind} are not read", path=path)


def _scales(tree: Tree, constant: Callable[[int], memoryview], path: str) -> list[float]:
    if not tree["scale_buffer_idx"]:
        return tree.get("scale", [])
    data, size = constant(tree["scale_buffer_idx"]), 4 * tree["num_scales"]
    if len(data) < size:
        raise FormatError(f"{tree['num_scales']} scales need {size} bytes, there are {len(data)}", path=path)
    return np.frombuffer(data[:size], dtype="<f4").tolist()
