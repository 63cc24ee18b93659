"""Why a model has nothing to quantise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch.fx import GraphModule, Node

from xir.importer.source import node_location
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import place
from xir.transforms.xnnpack.legalizations import Quantized

from .config import QuantConfig
from .layers import module_path, operator_name
from .operators import Operators, is_float_tensor
from .parameters import Parameters

_RECURRENT = frozenset({"aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu"})
_RECURRENT_CELLS = frozenset(f"{name}_cell" for name in _RECURRENT)


class NothingToQuantizeError(DiagnosticError):
    """No layer that the configuration covers computes on integers."""


def nothing_to_quantize(model: GraphModule, config_of: Callable[[Node], QuantConfig | None]) -> NothingToQuantizeError:
    """The error for a graph without a layer that computes on integers, at the first layer that might be thought to.

    `config_of` says how a node is to be quantised, if it can be.
    """
    found = list(_reasons(model, config_of))
    if not found:
        where = place("quantize")
        reason = "no layer of it multiplies by weights, or computes behind one that does"
    else:
        node, reason = found[0]
        where = node_location(node)
        layer = ", ".join(filter(None, (module_path(node), operator_name(node))))
        reason = f"{layer}: {reason}"
        others = len(found) - 1
        reason += f" (and {others} more layer{'' if others == 1 else 's'})" if others else ""
    return NothingToQuantizeError(where, f"the model has nothing to quantise: {reason}")


def _reasons(model: GraphModule, config_of: Callable[[Node], QuantConfig | None]) -> Iterator[tuple[Node, str]]:
    """The layers that weigh what they read, and why each computes in float."""
    operators, parameters = Operators(), Parameters(model)
    for node in model.graph.nodes:
        if node.op != "call_function":
            continue
        name = operator_name(node)
        weighted = operators.kind(node) is Quantized.WEIGHTED
        recurrent = name in _RECURRENT or name in _RECURRENT_CELLS
        if not weighted and not recurrent:
            continue
        value, config = node.meta.get("val"), config_of(node)
        if config is None:
            yield node, "the configuration leaves it in float"
        elif recurrent:
            yield node, "recurrent layers compute in float"
        elif isinstance(value, torch.Tensor) and not is_float_tensor(value):
            yield (
                node,
                f"it computes in {str(value.dtype).removeprefix('torch.')}, and quantisation takes float32 models",
            )
        else:
            yield node, _unweighted(node, config, operators, parameters)


def _unweighted(node: Node, config: QuantConfig, operators: Operators, parameters: Parameters) -> str:
    value, weight = operators.weighted_arguments(node)
    if weight is None or not parameters.is_static(weight):
        return "its weight is computed, and no constant"
    if value is None or parameters.is_static(value):
        return "what it reads is a constant"
    return f"mode '{config.mode}' covers linear layers and dense two-dimensional convolutions; choose mode 'static'"
