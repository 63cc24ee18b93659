"""Norms of a graph, whose channels are scaled by their parameters."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from .operators import arguments_of
from .state import attribute

_aten = torch.ops.aten
_NORMS = frozenset({_aten.layer_norm.default, _aten.rms_norm.default})


def is_norm(observed: GraphModule, node: Node) -> bool:
    """Whether a node normalises vectors, or multiplies by a weight for each channel, the last step of a norm."""
    if node.target in _NORMS:
        return True
    return node.target is _aten.mul.Tensor and _scale_of(observed, node) is not None


def _scale_of(observed: GraphModule, norm: Node) -> Node | None:
    """The attribute [channels] that a norm multiplies by last."""
    if norm.target in _NORMS:
        found = arguments_of(norm).get("weight")
        candidates = [found] if isinstance(found, Node) else []
    else:
        candidates = norm.all_input_nodes
    for each in candidates:
        if each.op == "get_attr" and attribute(observed, str(each.target)).shape == norm.meta["val"].shape[-1:]:
            return each
    return None


def norm_parameters(observed: GraphModule, norm: Node) -> list[str]:
    """The attributes [channels] of a norm's last step; none if one of them is computed, or there is no weight."""
    scale = _scale_of(observed, norm) if is_norm(observed, norm) else None
    bias = arguments_of(norm).get("bias") if norm.target is _aten.layer_norm.default else None
    if scale is None or (bias is not None and bias.op != "get_attr"):
        return []
    return [str(each.target) for each in (scale, bias) if each is not None]
