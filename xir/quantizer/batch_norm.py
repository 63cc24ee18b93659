"""Batch norms that torchao is not to fold into the weights before them."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import torch
from torch.fx import GraphModule, Node

from xir.importer.aliasing import Operator

from .operators import arguments_of

_aten = torch.ops.aten
_LAYERS = frozenset(
    f"aten::{name}"
    for name in ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear")
)
"""Those that torchao folds a batch norm into."""


def _batch_norm(*args: Any, **kwargs: Any) -> torch.Tensor:
    return _aten.batch_norm.default(*args, **kwargs)


def _batch_norm_with_statistics(*args: Any, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _aten._native_batch_norm_legit_no_training.default(*args, **kwargs)


_HIDDEN = {
    _aten.batch_norm.default: _batch_norm,
    _aten._native_batch_norm_legit_no_training.default: _batch_norm_with_statistics,
}
_SHOWN = {hidden: shown for shown, hidden in _HIDDEN.items()}


def hide_batch_norms(model: GraphModule) -> None:
    """Call each batch norm that cannot become part of weights by a function that torchao does not know.

    `prepare_pt2e` of torchao 0.18 scales the weights of every layer before a batch norm (`_fuse_conv_bn_` and
    `_fuse_linear_bn_` in `quantization/pt2e/utils.py`): also where something else reads the layer's result or its
    weights, where the norm has the batch's own statistics, and by the wrong dimension where a transposed convolution
    has groups. If any norm is left, `convert_pt2e` exports 48 patterns of training in search of it
    (`_fold_conv_bn_qat`), which takes as long as lowering a large model.
    """
    readers = Counter(id(_tensor(each)) for each in model.graph.find_nodes(op="get_attr") for _ in each.users)
    for node in model.graph.nodes:
        if node.target in _HIDDEN and not _is_foldable(node, readers):
            node.target = _HIDDEN[node.target]
    model.recompile()


def show_batch_norms(model: GraphModule) -> None:
    """Undo `hide_batch_norms`."""
    for node in model.graph.nodes:
        node.target = _SHOWN.get(node.target, node.target)
    model.recompile()


def _is_foldable(norm: Node, readers: Counter[int]) -> bool:
    arguments = arguments_of(norm)
    layer = arguments["input"]
    if arguments.get("training") or not isinstance(layer, Node) or not _is_layer(layer) or len(layer.users) > 1:
        return False
    inputs = arguments_of(layer)
    transposed, is_linear = "transpose" in str(layer.target), layer.target is _aten.linear.default
    if (transposed and inputs.get("groups", 1) > 1) or (is_linear and layer.meta["val"].dim() > 2):
        return False
    scaled = [each for name in ("weight", "bias") if isinstance(each := inputs.get(name), Node)]
    factors = [arguments.get(name) for name in ("weight", "bias", "running_mean", "running_var")]
    if any(each.op != "get_attr" for each in (*scaled, *factors) if isinstance(each, Node)):
        return False
    return all(readers[id(_tensor(each))] == 1 for each in scaled)


def _is_layer(node: Node) -> bool:
    return isinstance(node.target, Operator) and node.target._schema.name in _LAYERS  # pyright: ignore[reportPrivateUsage]


def _tensor(node: Node) -> object:
    return operator.attrgetter(str(node.target))(node.graph.owning_module)
