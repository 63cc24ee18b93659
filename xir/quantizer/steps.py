"""The integers that a conversion of a graph has for numbers: how far apart they are, and from where to where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

_DEQUANTIZE = "quantized_decomposed.dequantize_"


@dataclass(frozen=True)
class Steps:
    """Parameters of a conversion; tensors of them broadcast to the converted value."""

    step: float | Tensor
    low: float | Tensor
    """The number that the least integer stands for."""
    high: float | Tensor
    count: int
    """How many steps there are from the one to the other."""
    is_known: bool
    """Whether they are the same in each run."""
    axis: int | None
    """The dimension that has a scale for each index, if one has."""
    group: int | None
    """How many neighbours of the last dimension share a scale, if they do by groups."""
    told: str
    """The parameters in words."""

    def by_scale(self, value: Tensor) -> Tensor:
        """A value of the converted shape as [scales, numbers of each]."""
        if self.group is not None:
            return value.reshape(-1, self.group)
        if self.axis is not None:
            return value.movedim(self.axis, 0).flatten(1) if value.dim() > 1 else value.reshape(-1, 1)
        return value.reshape(1, -1)

    def expand(self, scales: Tensor, like: Tensor) -> Tensor:
        """A number for each scale, as numbers that broadcast to a value."""
        if self.group is not None:
            return scales.repeat_interleave(self.group).reshape(like.shape)
        if self.axis is not None:
            return scales.reshape([-1 if axis == self.axis else 1 for axis in range(like.dim())])
        return scales.reshape(())


def is_dequantize(node: Node) -> bool:
    """Whether a node makes numbers of integers."""
    return str(node.target).startswith(_DEQUANTIZE)


def steps_of(dequantize: Node, value: Callable[[Node], Any]) -> Steps | None:
    """The parameters of a conversion back to numbers; `value` has those that are nodes. None for a kind not known."""
    kind = str(dequantize.target).removeprefix(_DEQUANTIZE).split(".")[0]
    arguments: list[Any] = [value(each) if isinstance(each, Node) else each for each in dequantize.args]
    known = all(each.op == "get_attr" for each in dequantize.all_input_nodes[1:])
    shape = arguments[0].shape
    axis: int | None = None
    group: int | None = None
    match kind:
        case "per_tensor":
            scale, zero_point, least, largest = arguments[1:5]
            step, zero = (float(scale), int(zero_point)) if known else (torch.as_tensor(scale), zero_point)
            told = f"scale {float(scale):.6g}, zero point {int(zero_point)}"
        case "per_channel":
            scale, zero_point, axis, least, largest = arguments[1:6]
            view = [-1 if each == axis else 1 for each in range(len(shape))]
            step, zero = scale.float().view(view), 0 if zero_point is None else zero_point.view(view)
            told = f"scales {float(scale.min()):.6g} to {float(scale.max()):.6g} by dimension {axis}"
        case "per_channel_group":
            scale, zero_point, least, largest, _, group = arguments[1:7]
            step, zero = (each.repeat_interleave(group, -1) for each in (scale.float(), zero_point))
            told = f"scales {float(scale.min()):.6g} to {float(scale.max()):.6g} by groups of {group}"
        case "per_token":
            scale, zero_point, least, largest = arguments[1:5]
            step, zero = scale.float(), zero_point
            told = f"scales {float(scale.min()):.6g} to {float(scale.max()):.6g} by vector"
        case _:
            return None
    low, high = (least - zero) * step, (largest - zero) * step
    return Steps(step, low, high, largest - least, known, axis, group, told)
