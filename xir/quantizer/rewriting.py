"""Rewrites before annotation: parts of an operator that compute on integers of their own, as operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from xir.importer.dtypes import is_open

from .config import QuantConfig
from .operators import arguments_of

_aten = torch.ops.aten


def make_parts_explicit(model: GraphModule, config_of: Callable[[Node], QuantConfig | None]) -> None:
    """Rewrite attention and general matrix products to `bmm`, and SiLU to a sigmoid and a product.

    Only for statically quantised nodes of static shapes; masks, softmax and scaling stay what they are.
    """
    for node in list(model.graph.nodes):
        rewrite = _REWRITES.get(node.target)
        if rewrite is None:
            continue
        config = config_of(node)
        if config is None or config.mode != "static":
            continue
        found = rewrite(node, config)
        if found is not None:
            _replace(node, *found)
    model.graph.eliminate_dead_code()
    model.recompile()


Replacement = tuple[Callable[..., Tensor], list[Node]]
"""A function, and the nodes that it is called with."""


def _attention(node: Node, config: QuantConfig) -> Replacement | None:
    arguments = arguments_of(node)
    query, key, value, mask = (arguments.get(name) for name in ("query", "key", "value", "attn_mask"))
    inputs = [each for each in (query, key, value, mask) if isinstance(each, Node)]
    shapes = [each.meta["val"].shape for each in inputs]
    plain = not (arguments.get("dropout_p") or arguments.get("is_causal") or arguments.get("enable_gqa"))
    if not config.attention or not plain or not _are_static(inputs) or len({shape[:-2] for shape in shapes[:3]}) > 1:
        return None
    if mask is not None and mask.meta["val"].dtype == torch.bool:
        return None
    scale = arguments.get("scale")
    scale = 1 / math.sqrt(shapes[0][-1]) if scale is None else scale

    def attend(*operands: Tensor) -> Tensor:
        query, key, value, *masks = operands
        batch = query.shape[:-2]
        scores = _multiply(_aten.mul.Scalar(query, scale), key.transpose(-1, -2))
        for each in masks:
            scores = _as_batch(scores.view(*batch, *scores.shape[-2:]) + each)
        product = torch.bmm(torch.softmax(scores, -1), _as_batch(value))
        return product.view(*batch, *product.shape[-2:])

    return attend, inputs


def _multiply(lhs: Tensor, rhs: Tensor) -> Tensor:
    return torch.bmm(_as_batch(lhs), _as_batch(rhs))


def _as_batch(matrices: Tensor) -> Tensor:
    return matrices.reshape(-1, *matrices.shape[-2:]) if matrices.dim() != 3 else matrices


def _product(node: Node, config: QuantConfig) -> Replacement | None:
    """A product of as many matrices on either side."""
    lhs, rhs = node.args
    assert isinstance(lhs, Node)
    assert isinstance(rhs, Node)
    shapes = [each.meta["val"].shape for each in (lhs, rhs) if "val" in each.meta]
    if len(shapes) < 2 or not _are_static([lhs, rhs]) or min(map(len, shapes)) < 3 or shapes[0][:-2] != shapes[1][:-2]:
        return None

    def multiply(*operands: Tensor) -> Tensor:
        lhs, rhs = operands
        product = _multiply(lhs, rhs)
        return product.view(*lhs.shape[:-2], *product.shape[-2:])

    return multiply, [lhs, rhs]


def _silu(node: Node, _: QuantConfig) -> Replacement | None:
    """XNNPACK has no table for SiLU as a whole: it multiplies by a sigmoid of 8 bits, which is to be seen."""
    value = node.args[0]
    assert isinstance(value, Node)
    return lambda x: _aten.mul.Tensor(x, _aten.sigmoid(x)), [value]


_REWRITES: dict[Any, Callable[[Node, QuantConfig], Replacement | None]] = {
    _aten.scaled_dot_product_attention.default: _attention,
    _aten.matmul.default: _product,
    _aten.silu.default: _silu,
    _aten.silu_.default: _silu,
}


def _are_static(nodes: list[Node]) -> bool:
    return not any(is_open(size) for node in nodes for size in node.meta["val"].shape)


def _replace(node: Node, function: Callable[..., Tensor], inputs: list[Node]) -> None:
    """Put the operators that `function` calls in the place of `node`, with its origin."""
    with torch.no_grad():
        traced = make_fx(function)(*(each.meta["val"] for each in inputs))
    copies: dict[Node, Node] = {}
    feeds = iter(inputs)
    graph = node.graph
    with graph.inserting_before(node):
        for step in traced.graph.nodes:
            match step.op:
                case "placeholder":
                    copies[step] = next(feeds)
                case "output":
                    node.replace_all_uses_with(copies[step.args[0]])
                case _:
                    copies[step] = copy = graph.node_copy(step, copies.__getitem__)
                    for key in ("stack_trace", "nn_module_stack", "from_node"):
                        if key in node.meta:
                            copy.meta[key] = node.meta[key]
    graph.erase_node(node)
