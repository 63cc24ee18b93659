"""Quantised programs: what PyTorch computes of them, and how far integers that are a step off move that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from reference.integers import InDoublePrecision, graph_of
from reference.roundings import ROUNDINGS, Bounds, Noise, StepsInside, lost_below
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_map_only

import xir
from random_programs.exact import Reference
from random_programs.program import Program, several
from xir import QuantConfig

RUNS = 6
"""How many times steps are drawn."""

STEPS = 4.0
"""How many times as far from the exact result as integers that are a step off each may lead, ours may be."""


def quantized(programs: Sequence[Program], mode: str) -> ExportedProgram:
    """Programs as one, quantised; DiagnosticError where nothing is to be."""
    return xir.quantize(*several(programs), config=QuantConfig(mode))  # pyright: ignore[reportArgumentType]


class _StepsOff(InDoublePrecision):
    """Runs a quantised graph with each integer a step up or down, or as it is, and numbers some roundings off."""

    def __init__(self, graph: GraphModule, generator: torch.Generator, sign: int = 0):
        super().__init__(graph)
        self._generator = generator
        self._noise = Noise(generator, sign)

    def fetch_args_kwargs_from_env(self, n: Node) -> Any:
        """What the node reads, roundings off."""
        return tree_map_only(Tensor, self._moved, super().fetch_args_kwargs_from_env(n))

    def _moved(self, value: Tensor) -> Tensor:
        return (
            self._noise.moved(value.double(), torch.float32, ROUNDINGS / STEPS) if value.is_floating_point() else value
        )

    def run_node(self, n: Node) -> Any:
        """The node's result, moved where it is of quantised numbers."""
        with StepsInside(self._noise, torch.float32, ROUNDINGS / STEPS):
            result = super().run_node(n)
        if not isinstance(result, Tensor):
            return result
        if ".quantize" not in str(n.target):
            return self._moved(result)
        limits = torch.iinfo(result.dtype)
        steps = torch.randint(-1, 2, result.shape, generator=self._generator)
        return (result.int() + steps).clamp(limits.min, limits.max).to(result.dtype)


def references(
    given: ExportedProgram, programs: Sequence[Program], inputs: Sequence[Mapping[str, Tensor]], seed: int
) -> list[dict[str, Reference]]:
    """The outputs of programs that were quantised together."""
    graph = graph_of(given)
    flat = [each[name] for each, program in zip(inputs, programs, strict=True) for name in program.inputs]
    generator = torch.Generator().manual_seed(seed)

    def computed(run: Any) -> list[Tensor]:
        return [torch.as_tensor(each) for each in run(*(value.clone() for value in flat))]

    eager, exact = computed(graph), computed(InDoublePrecision(graph).run)

    @cache
    def nearby() -> list[list[Tensor]]:
        return [computed(_StepsOff(graph, generator, sign).run) for sign in (-1, *[0] * (RUNS - 1))]

    def reference(index: int) -> Reference:
        values = eager[index], exact[index]
        return Reference(bounds(*values), lambda: bounds(*values, *(each[index] for each in nearby())))

    left = iter(range(len(eager)))
    return [{name: reference(next(left)) for name in program.outputs} for program in programs]


def bounds(eager: Tensor, exact: Tensor, *nearby: Tensor) -> Bounds:
    """Bounds by steps of integers instead of roundings; no element is surer than all are on average."""
    wide = [each.double() if each.is_floating_point() else each for each in (exact, *nearby)]
    found = Bounds.of(eager, wide[0], wide[1:])
    if not eager.is_floating_point():
        return found
    known = found.unit[found.unit.isfinite()]
    mean = float(known.mean()) if known.numel() else 0.0
    unit = torch.clamp(found.unit, min=mean) * (STEPS / ROUNDINGS)
    return Bounds(found.eager, found.exact, unit.clamp(min=lost_below(eager.dtype)), found.certain)
