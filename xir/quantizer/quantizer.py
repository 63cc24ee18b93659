"""The quantiser for torchao's PT2E flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import Quantizer

from xir.transforms.xnnpack.legalizations import Quantized

from .annotation import StaticAnnotator, annotate_dynamic
from .config import DEFAULT, Effort, QuantConfig
from .layers import module_path, module_types, names_of
from .operators import STEEP, Operators
from .parameters import Parameters
from .rewriting import make_parts_explicit
from .selection import Selection


class XnnpackQuantizer(Quantizer):
    """Annotates what XNNPACK computes on integers, for `prepare_pt2e` and (with `QuantConfig(qat=True)`)
    `prepare_qat_pt2e`.

    `config` holds for the whole model; the setters say otherwise for a part of it, None for float. A module's name goes
    before its type, and that before an operator.
    """

    def __init__(self, config: QuantConfig | None = DEFAULT):
        self._config = config
        self._by_name: dict[str, QuantConfig | None] = {}
        self._by_type: dict[str, QuantConfig | None] = {}
        self._by_operator: dict[str, QuantConfig | None] = {}
        self._matched: set[str] = set()
        self._kept: frozenset[str] = frozenset()
        self.layers: dict[str, str] = {}
        """The layers that the last `annotate` found, by name: the node that each ends with, a clamp of its own
        included. Ops that only move data are none."""
        self.correctable: list[str] = []
        """Those of the layers whose biases are to be corrected after calibration."""
        self.dynamic: list[str] = []
        """Those with weights of 8 bits whose activations are quantised at run time."""

    def set_global(self, config: QuantConfig | None) -> XnnpackQuantizer:
        """Quantise by `config` what no other setter names."""
        self._config = config
        return self

    def set_module_name(self, name: str, config: QuantConfig | None) -> XnnpackQuantizer:
        """Quantise the module at this path (`encoder.layers.0`), with all in it, by `config`."""
        self._by_name[name] = config
        return self

    def set_module_type(self, module_type: type[torch.nn.Module], config: QuantConfig | None) -> XnnpackQuantizer:
        """Quantise modules of this type, with all in them, by `config`."""
        self._by_type[f"{module_type.__module__}.{module_type.__qualname__}"] = config
        return self

    def set_operator_type(self, operator: Any, config: QuantConfig | None) -> XnnpackQuantizer:
        """Quantise calls of this operator (`torch.ops.aten.add`, or an overload of it) by `config`."""
        self._by_operator[str(operator)] = config
        return self

    def keep(self, names: Iterable[str]) -> XnnpackQuantizer:
        """Leave the nodes of these names in float, whatever else is said of them, and no others by this means."""
        self._kept = frozenset(names)
        return self

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Take apart operators whose parts compute on integers of their own."""
        make_parts_explicit(model, self.config_of)
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotate every node that computes on integers."""
        operators, parameters = Operators(), Parameters(model)
        configs = {node: config for node in model.graph.nodes if (config := self.config_of(node)) is not None}

        def is_static(node: Node) -> bool:
            if node not in configs or configs[node].mode != "static":
                return False
            return operators.name(node) not in STEEP or self._operator_config(node)[0]

        selection = Selection(model.graph, operators, parameters, is_static)
        StaticAnnotator(selection, operators, parameters, configs).annotate()
        self.layers = {
            node.name: (selection.tails[node] or (node,))[-1].name
            for node, kind in selection.kinds.items()
            if kind is not Quantized.MOVES
        }
        self.correctable = [
            node.name
            for node, kind in selection.kinds.items()
            if kind is Quantized.WEIGHTED and configs[node].bias_correction and not configs[node].qat
        ]
        self.dynamic = []
        for node, config in configs.items():
            if config.mode == "static" or operators.kind(node) is not Quantized.WEIGHTED:
                continue
            if annotate_dynamic(node, config, operators, parameters):
                self.layers[node.name] = node.name
                if config.mode == "dynamic" and not config.qat:
                    self.dynamic.append(node.name)
        return model

    def validate(self, model: GraphModule) -> None:
        """Nothing: annotations follow from the table that the lowering has, too."""

    def config_of(self, node: Node) -> QuantConfig | None:
        """How a node is to be quantised, if it can be; None for float."""
        config = self._find_by_place(node)
        if config is None or node.op != "call_function" or node.name in self._kept:
            return None
        names = names_of(node)
        kept = {pattern for pattern in config.keep_float if any(fnmatchcase(name, pattern) for name in names)}
        self._matched |= kept
        return None if kept else config

    @property
    def min_sqnr(self) -> float | None:
        """The ratio of signal to noise that the model's configuration asks for, in dB."""
        return self._config.min_sqnr if self._config is not None else None

    @property
    def max_drop(self) -> float | Mapping[str, float] | None:
        """What the model's configuration lets the metric lose."""
        return self._config.max_drop if self._config is not None else None

    @property
    def cpu(self) -> str:
        """Whose cost profile the model's configuration asks for."""
        return self._config.cpu if self._config is not None else DEFAULT.cpu

    @property
    def rounds_for_samples(self) -> bool:
        """Whether there may be weights whose rounding takes the calibration inputs once more: those of 4 bits."""
        return any(config.mode == "int4" and not config.qat for config in self._configs() if config)

    @property
    def equalization(self) -> bool:
        """Whether the model's configuration asks for channels of similar ranges."""
        config = self._config
        return config is not None and config.equalization and config.mode == "static" and not config.qat

    @property
    def is_static(self) -> bool:
        """Whether the model's configuration is that of static ranges, which calibration inputs decide in any case."""
        return self._config is not None and self._config.mode == "static"

    @property
    def smoothing(self) -> bool:
        """Whether the model's configuration asks for norms' results of similar ranges."""
        config = self._config
        return config is not None and config.smoothing and not config.qat

    @property
    def effort(self) -> Effort:
        """How long the model's configuration lets rounding take."""
        return self._config.effort if self._config is not None else "fast"

    def unmatched(self) -> list[str]:
        """The patterns of `keep_float` that no node of the models annotated so far has matched."""
        return sorted({each for config in self._configs() if config for each in config.keep_float} - self._matched)

    def _configs(self) -> tuple[QuantConfig | None, ...]:
        return (self._config, *self._by_name.values(), *self._by_type.values(), *self._by_operator.values())

    def _find_by_place(self, node: Node) -> QuantConfig | None:
        path = module_path(node)
        names = [name for name in self._by_name if path == name or path.startswith(name + ".")]
        if names:
            return self._by_name[max(names, key=len)]
        for name in reversed(module_types(node)):
            if name in self._by_type:
                return self._by_type[name]
        found, config = self._operator_config(node)
        return config if found else self._config

    def _operator_config(self, node: Node) -> tuple[bool, QuantConfig | None]:
        overload = str(node.target)
        for name in (overload, overload.rpartition(".")[0]):
            if name in self._by_operator:
                return True, self._by_operator[name]
        return False, None
