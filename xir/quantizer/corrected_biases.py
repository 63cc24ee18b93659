"""Whether the biases of a quantised graph are right: each takes back what its layer's weights are off."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from .findings import ROUNDED, Finding
from .layer_operands import operands_of, roles_of
from .side_by_side import SideBySide
from .steps import Steps, is_dequantize, steps_of


class CorrectedBiases:
    """What rounded weights add to the mean of their layers' channels, and the biases beside them."""

    def __init__(self, corrected: Collection[str]):
        """`corrected` are the layers whose biases are to take that back."""
        self._corrected = frozenset(corrected)
        self._drift: dict[Node, list[Tensor]] = {}
        """Of each layer with weights and a bias: the mean error that its rounded weights make, by sample."""
        self._biases: dict[Node, tuple[Tensor, Tensor, Steps | None, list[Steps | None]]] = {}
        """Of each such layer: the float bias, what its integers stand for, and the steps of it, operand and weight."""

    def add(self, layer: Node, quantized: Node, run: SideBySide) -> None:
        """Take in a layer of the float graph on a sample, with the node of the quantised one that it became."""
        roles = roles_of(layer)
        if "bias" not in roles:
            return
        operands = dict(zip(operands_of(layer), operands_of(quantized), strict=False))
        converted = operands.get(roles["bias"])
        if converted is None or not is_dequantize(converted):
            return
        weight = run.exact(roles["weight"])
        bias = run.exact(roles["bias"])
        error = weight - run.value(operands[roles["weight"]])
        values = {roles["value"]: run.exact(roles["value"]), roles["weight"]: error}
        values[roles["bias"]] = torch.zeros_like(bias)
        args, kwargs = torch.fx.map_arg((layer.args, dict(layer.kwargs)), lambda each: values[each])
        assert callable(layer.target)
        result: Tensor = layer.target(*args, **kwargs)
        channel = -1 if "conv" not in str(layer.target) else 1 - weight.dim()
        rows = result.movedim(channel, -1).reshape(-1, result.shape[channel])
        self._drift.setdefault(layer, []).append(torch.cat([rows.double().sum(0), torch.tensor([float(len(rows))])]))
        if layer in self._biases:
            return
        scales = [steps_of(operands[roles[name]], run.value) for name in ("value", "weight")]
        self._biases[layer] = bias.detach(), run.value(converted), steps_of(converted, run.value), scales

    def findings(self) -> Iterator[Finding]:
        """Biases of another scale than that of products, or of another value than corrects the mean."""
        readers: dict[Any, int] = {}
        for layer in self._drift:
            bias = roles_of(layer)["bias"]
            readers[bias.target] = readers.get(bias.target, 0) + 1
        for layer, sums in self._drift.items():
            bias, actual, steps, (value, weight) = self._biases[layer]
            if steps is None or value is None or weight is None or bias.shape != actual.shape:
                continue
            step = torch.as_tensor(steps.step)
            wanted = (torch.as_tensor(value.step) * torch.as_tensor(weight.step)).flatten()
            ratio = step.flatten() / wanted
            # A bias of several layers has the scale of the first one's products; lowering rounds it for the others.
            is_shared = readers[roles_of(layer)["bias"].target] > 1
            if not is_shared and float((ratio - 1).abs().max()) > 1e-4:
                worst = float(ratio[(ratio - 1).abs().argmax()])
                what = f"its bias has {worst:.4g} times the scale of the products that it is added to"
                yield Finding(layer, what)
                continue
            total = torch.stack(sums).sum(0)
            drift = total[:-1] / total[-1]
            corrected = ((actual - bias).double() - drift).abs() / step
            kept = (actual - bias).double().abs() / step
            slack = ROUNDED + 1e-4 * float(bias.abs().max() + drift.abs().max()) / step
            is_kept = bool((kept <= slack).all())
            is_corrected = bool((corrected <= slack).all())
            if is_corrected or (is_kept and (is_shared or layer.name not in self._corrected)):
                continue
            place = int((corrected - slack).argmax())
            what = f"its bias is {float(corrected[place]):.3g} steps from the one that takes back what rounding its "
            what += "weights adds to the mean of the calibration inputs"
            values = f"in channel {place} it is {float(actual[place]):.6g}: the float one is {float(bias[place]):.6g}, "
            yield Finding(layer, what, [f"{values}and rounding takes {float(drift[place]):.3g}"])
