"""Annotations: what torchao reads to know where to convert, and with which parameters."""

from __future__ import annotations

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpecBase,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from xir.importer.aliasing import AliasSets
from xir.importer.source import node_location
from xir.ir.diagnostics import DiagnosticError
from xir.transforms.xnnpack.legalizations import Quantized

from .config import QuantConfig
from .operators import Operators, arguments_of, is_float_tensor
from .parameters import Parameters
from .selection import Selection
from .specs import activation_spec, bias_spec, dynamic_spec, fine_weight_spec, scaled_spec, weight_spec

_FACTORS = frozenset({"edge.mul.Scalar", "edge.div.Scalar"})


def annotate_dynamic(node: Node, config: QuantConfig, operators: Operators, parameters: Parameters) -> bool:
    """Annotate a product with weights whose activation is quantised at run time. False if XNNPACK has no such node."""
    value, weight = operators.weighted_arguments(node)
    if value is None or weight is None or not parameters.is_static(weight) or not is_float_tensor(value.meta["val"]):
        return False
    linear = operators.name(node) in ("edge.linear", "edge.addmm")
    if not linear and not _is_dense_convolution(node, weight):
        return False
    check_finite(node, weight, parameters)
    if config.mode == "int4" and operators.name(node) == "edge.linear" and weight.meta["val"].shape[1] % 2 == 0:
        spec = fine_weight_spec(config)
        _check_group(node, weight, config)
    else:
        spec = weight_spec(config, operators.channel_axis(node))
    _annotate(node, {value: dynamic_spec(config, by_token=linear), weight: spec})
    return True


def check_finite(node: Node, operand: Node, parameters: Parameters) -> None:
    """DiagnosticError if a weight or bias of `node` has numbers that no scale can hold."""
    value = parameters.value(operand)
    if isinstance(value, torch.Tensor) and not bool(torch.isfinite(value).all()):
        raise DiagnosticError(
            node_location(node),
            f"'{operand.target}' has infinite or NaN values, which no scale can hold: correct the model, or leave the "
            f"layer in float, keep_float=('{node.name}',)",
        )


def _is_dense_convolution(node: Node, weight: Node) -> bool:
    """Whether a convolution is quantised at run time. XNNPACK has no depthwise or transposed ones; those over one
    dimension lose too much (docs/rationale/quantization.md)."""
    arguments = arguments_of(node)
    transposed = "transpose" in str(node.target) or bool(arguments.get("transposed"))
    shape = weight.meta["val"].shape
    depthwise = arguments.get("groups", 1) > 1 and shape[1] == 1
    return len(shape) == 4 and not transposed and not depthwise


def _check_group(node: Node, weight: Node, config: QuantConfig) -> None:
    inputs = int(weight.meta["val"].shape[1])
    if config.group_size is not None and inputs % config.group_size:
        raise DiagnosticError(
            node_location(node),
            f"groups of {config.group_size} do not divide the {inputs} inputs of '{weight.target}': "
            "choose another group_size, None for one group a channel, or keep_float",
        )


class StaticAnnotator:
    """Annotates the nodes of a selection."""

    def __init__(
        self, selection: Selection, operators: Operators, parameters: Parameters, configs: dict[Node, QuantConfig]
    ):
        self._selection = selection
        self._operators = operators
        self._parameters = parameters
        self._configs = configs
        self._results = {tail[-1] if tail else node for node, tail in selection.tails.items()}
        self._groups = AliasSets()
        self._symmetric: set[Node] = set()
        self._find_groups()

    def annotate(self) -> None:
        """Annotate every node of the selection."""
        for node, kind in self._selection.kinds.items():
            match kind:
                case Quantized.WEIGHTED:
                    self._annotate_weighted(node)
                case Quantized.MOVES:
                    self._annotate_moves(node)
                case _:
                    self._annotate_computed(node)

    def _annotate_weighted(self, node: Node) -> None:
        config = self._configs[node]
        value, weight = self._operators.weighted_arguments(node)
        assert value is not None
        assert weight is not None
        check_finite(node, weight, self._parameters)
        axis = self._operators.channel_axis(node)
        inputs = {value: self._spec(config, value, node), weight: weight_spec(config, axis)}
        bias = self._operators.bias(node)
        if bias is not None and self._parameters.is_static(bias):
            check_finite(node, bias, self._parameters)
            inputs[bias] = bias_spec(config, axis, (value, node), (weight, node))
        self._annotate_result(node, inputs)

    def _annotate_computed(self, node: Node) -> None:
        config = self._configs[node]
        operands = [each for each in node.all_input_nodes if self._parameters.is_float(each)]
        self._annotate_result(node, {each: self._spec(config, each, node) for each in operands})

    def _annotate_result(self, node: Node, inputs: dict[Node, QuantizationSpecBase]) -> None:
        tail = self._selection.tails[node]
        if not tail:
            _annotate(node, inputs, self._result_spec(node))
            return
        _annotate(node, inputs)
        for each in tail[:-1]:
            _annotate(each, {})
        _annotate(tail[-1], {}, self._spec(self._configs[node], tail[-1]))

    def _result_spec(self, node: Node) -> QuantizationSpecBase:
        """Multiplying by a positive number multiplies the scale."""
        spec = self._spec(self._configs[node], node)
        if self._operators.name(node) not in _FACTORS or self._is_symmetric(node):
            return spec
        operand, factor = node.args[0], node.args[1]
        assert isinstance(operand, Node)
        assert isinstance(factor, int | float)
        if self._operators.name(node) == "edge.div.Scalar" and factor:
            factor = 1 / factor
        return scaled_spec((operand, node), factor) if 0 < factor <= torch.finfo(torch.float32).max else spec

    def _annotate_moves(self, node: Node) -> None:
        """One set of parameters for the operands and the result. An op with several results has them on the nodes that
        take one each."""
        operands = [each for each in node.all_input_nodes if self._parameters.is_float(each)]
        first, inputs = (operands[0], node), dict[Node, QuantizationSpecBase]()
        if not isinstance(operands[0].meta.get("val"), list | tuple):
            inputs.update({each: SharedQuantizationSpec(first) for each in operands})
            inputs[operands[0]] = self._spec(self._configs[node], operands[0], node)
        else:
            first = (operands[0].all_input_nodes[0], operands[0])
        several = isinstance(node.meta["val"], list | tuple)
        _annotate(node, inputs, None if several else SharedQuantizationSpec(first))

    def _spec(self, config: QuantConfig, value: Node, user: Node | None = None) -> QuantizationSpecBase:
        return activation_spec(config, symmetric=self._is_symmetric(value, user))

    # XNNPACK multiplies matrices whose second operand has the zero point 0. Values that share parameters with that
    # operand have it as well, or there would be a conversion between them.

    def _find_groups(self) -> None:
        """Join what shares parameters, and note the groups with the zero point 0."""
        kinds = self._selection.kinds
        for node in kinds:
            if kinds[node] is Quantized.MOVES:
                for operand in node.all_input_nodes:
                    if operand in self._results:
                        self._groups.join(operand, node)
        seconds = [node.all_input_nodes[-1] for node, kind in kinds.items() if kind is Quantized.MATRICES]
        self._symmetric = {self._groups.find(each) for each in seconds if each in self._results}

    def _is_symmetric(self, value: Node, user: Node | None = None) -> bool:
        """Whether the value, as `user` reads it, has the zero point 0."""
        if value in self._results:
            return self._groups.find(value) in self._symmetric
        if user is None:
            return False
        if self._selection.kinds[user] is Quantized.MOVES:
            return self._groups.find(user) in self._symmetric
        return self._selection.kinds[user] is Quantized.MATRICES and value is user.all_input_nodes[-1]


def _annotate(node: Node, inputs: dict[Node, QuantizationSpecBase], output: QuantizationSpecBase | None = None) -> None:
    node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation(dict(inputs), output, _annotated=True)
