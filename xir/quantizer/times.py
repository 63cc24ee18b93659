"""What layers take on integers and in float, predicted by a cost profile."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from xir.api import XnnpackPartitioner, to_edge
from xir.cost.processors import processors
from xir.cost.profile import CostProfile, load_profile, shipped
from xir.cost.work import INTEGER_KERNELS
from xir.cost_report import cost_report
from xir.importer.dtypes import is_open
from xir.transforms.xnnpack.analysis.node_costs import converted
from xir.transforms.xnnpack.legalizations import Quantized

from .operators import Operators
from .parameters import Parameters

UNKNOWN_GAIN = 0.5
"""The share of its float time that a layer is taken to save on integers where a profile lacks its kernel there."""


def profile_of(cpu: str) -> CostProfile:
    """The profile to predict by: that of `cpu`; of several, one with the widest instructions, of Arm's the middle one
    by the speed of products; where there is none, one of those that were measured.

    One without kernels on integers borrows those of another, if there is one with the same instructions. ValueError for
    no name of a processor.
    """
    named = processors(cpu).profiles
    known = [each for name in shipped() if not (each := load_profile(name)).modelled]
    among = sorted(named or known, key=lambda each: each.kernels["gemm"].work)
    profile = next((each for each in among if each.isa == "avx512"), among[len(among) // 2])
    if "qs8_gemm" in profile.kernels:
        return profile
    lenders = [each for each in known if "qs8_gemm" in each.kernels]
    lender = next((each for each in lenders if each.isa == profile.isa), lenders[0])
    borrowed = {kernel: lender.kernels[kernel] for kernel in INTEGER_KERNELS if kernel in lender.kernels}
    return replace(
        profile,
        processor=f"{profile.processor} (on integers by that of {lender.processor})",
        kernels={**profile.kernels, **borrowed},
    )


@dataclass(frozen=True)
class Prediction:
    """Microseconds of a program on one thread."""

    total: float
    layers: Mapping[str, float]
    """By the names of nodes in the exported graph, conversions apart."""


def predict(program: ExportedProgram, profile: CostProfile) -> Prediction:
    """What a program takes by a profile. DiagnosticError for one that does not lower."""
    edge = to_edge(program).to_backend(XnnpackPartitioner(check=False))
    lines = [line for method in cost_report(edge.module, edge.ctx, profile).methods for line in method.lines]
    layers: dict[str, float] = {}
    for line in lines:
        if not line.op.startswith("convert"):
            for name in line.names[:1]:
                layers[name] = layers.get(name, 0.0) + line.microseconds
    return Prediction(sum(line.microseconds for line in lines), layers)


class LayerTimes:
    """What it costs to leave layers in float: their own time, and the conversions around them."""

    def __init__(
        self,
        floats: GraphModule,
        ends: Mapping[str, str],
        integer: Prediction,
        floating: Prediction,
        profile: CostProfile,
    ):
        """`ends` has the last node of each layer of the float graph, `integer` is the program of all of them."""
        self.processor = profile.processor
        self.integer, self.floating = integer.total, floating.total
        self._own = {name: _extra(name, integer.layers, floating.layers) for name in ends}
        self._around: dict[str, list[int]] = {name: [] for name in ends}
        """The tensors beside a layer."""
        self._tensors: list[tuple[float, str | None, tuple[str | None, ...]]] = []
        """Microseconds of a conversion, the layer that makes the tensor, and those that read it; None for floats."""
        dataflow = _Dataflow(floats, ends)
        for node in dataflow.computed():
            source, readers = dataflow.layers.get(node), tuple(dataflow.readers(node))
            beside = {name for name in (source, *readers) if name is not None}
            if not beside or set(readers) == {source}:
                continue
            for name in beside:
                self._around[name].append(len(self._tensors))
            self._tensors.append((_conversion(node, profile), source, readers))

    def added(self, kept: Collection[str]) -> float:
        """Microseconds more than all layers on integers, with these in float."""
        converted = sum(self._converts(index, kept) - self._converts(index, ()) for index in range(len(self._tensors)))
        return sum(self._own[name] for name in kept) + converted

    def one_more(self, name: str, kept: Collection[str]) -> float:
        """What a layer adds in float where these are in float already."""
        more = {*kept, name}
        return self._own[name] + sum(
            self._converts(index, more) - self._converts(index, kept) for index in self._around[name]
        )

    def beside(self, name: str) -> set[str]:
        """The layers that read what a layer reads or makes, or make what it reads."""
        tensors = (self._tensors[index] for index in self._around[name])
        return {each for _, source, readers in tensors for each in (source, *readers) if each is not None} - {name}

    def _converts(self, index: int, kept: Collection[str]) -> float:
        took, source, readers = self._tensors[index]
        is_float = source is None or source in kept
        return took if any((reader is None or reader in kept) != is_float for reader in readers) else 0.0


def _extra(name: str, integer: Mapping[str, float], floating: Mapping[str, float]) -> float:
    took = floating.get(name, 0.0)
    return took - integer.get(name, took * (1 - UNKNOWN_GAIN))


class _Dataflow:
    """Which layers make and read the values of a float graph."""

    def __init__(self, floats: GraphModule, ends: Mapping[str, str]):
        self._graph, self._operators, self._parameters = floats.graph, Operators(), Parameters(floats)
        self.layers: dict[Node, str] = {}
        """The layer that a node is part of, from its first to its last node."""
        for node in self._graph.nodes:
            if node.name not in ends:
                continue
            self.layers[node] = node.name
            last = node
            while last.name != ends[node.name] and len(last.users) == 1:
                last = next(iter(last.users))
                self.layers[last] = node.name

    def computed(self) -> Iterator[Node]:
        """The nodes whose values are no constants, but for those that only move what others have made."""
        for node in self._graph.nodes:
            is_computed = node.op == "placeholder" or (node.op == "call_function" and not self._moves(node))
            if is_computed and not self._parameters.is_static(node):
                yield node

    def readers(self, node: Node) -> Iterator[str | None]:
        """The layers that read a value, moved or not; None for what computes in float."""
        for user in node.users:
            if user in self.layers:
                yield self.layers[user]
            elif user.op == "call_function" and self._moves(user):
                yield from self.readers(user)
            else:
                yield None

    def _moves(self, node: Node) -> bool:
        return node not in self.layers and self._operators.kind(node) is Quantized.MOVES


def _conversion(node: Node, profile: CostProfile) -> float:
    """Microseconds of a conversion of a tensor; 0 for what is no tensor of known sizes."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or any(map(is_open, value.shape)):
        return 0.0
    return profile.nanoseconds(converted((prod(value.shape),))) / 1e3
