"""What is wrong in a quantised graph, in words, and how far numbers may be away."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from .layers import module_path, operator_name

ROUNDED = 0.51
"""How many steps a number within the range may be away, and the ends of a range from what was seen: half of one, and
what fp32 makes of the quotient."""

REWRITTEN = 1e-3
"""How far a rewritten float graph may be away, of the largest magnitude of a value: other orders of additions in fp32;
a margin."""


@dataclass
class Finding:
    """One thing that is wrong."""

    node: Node
    what: str
    notes: list[str] = field(default_factory=list[str])


def furthest(want: Any, got: Any) -> float:
    """The largest difference of two values, of the largest magnitude; 0 for what are no tensors."""
    if not isinstance(want, Tensor) or not isinstance(got, Tensor):
        return 0.0
    if want.shape != got.shape:
        return math.inf
    if not want.numel():
        return 0.0
    equal = (want == got) | (want.isnan() & got.isnan())
    off = torch.where(equal, 0.0, (want.double() - got.double()).abs()).nan_to_num(nan=math.inf)
    finite = want.double()[want.isfinite()] if want.is_floating_point() else want.double()
    size = float(finite.abs().max()) if finite.numel() else 0.0
    return float(off.max()) / max(size, 1e-30)


def layer_name(node: Node) -> str:
    """A layer's name, and which it is in the model."""
    path = module_path(node)
    operator = operator_name(node) if node.op == "call_function" else node.op
    return f"'{node.name}' ({path or operator})"


def role_name(operand: Node, user: Node) -> str:
    """An operand of a node in a message."""
    return "its value" if operand.op == "call_function" else f"operand '{operand.target}' of {user.name}"
