"""What the nodes of a composed convolution take: time by a cost profile, and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Literal, NamedTuple

from xir.cost.profile import CostProfile
from xir.cost.work import Work
from xir.dialects.xnnpack.base import Shape
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.liveness import Step, alive_bytes
from xir.transforms.xnnpack.analysis.node_costs import FLOAT_BYTES
from xir.transforms.xnnpack.composed_convolutions.forms import (
    DIRECT,
    WIDTH,
    Convolution,
    Factor,
    Form,
    Nodes,
    Window,
    compose,
    with_size,
)


@lru_cache(maxsize=4096)
def predicted(convolution: Convolution, form: Form, batch: int, is_bounded: bool, profile: CostProfile) -> float:
    """The nanoseconds of a convolution in a form, on `batch` images."""
    moved, nanoseconds = 0, 0.0
    touched: dict[Memory, int] = {}
    """The bytes that had been moved when it was last read or written."""
    computed: dict[int, float] = {}
    """What nodes take beside moving data, by their work: dozens have the same."""
    for node in counted(convolution, form, batch, is_bounded):
        work = node.work
        if id(work) not in computed:
            computed[id(work)] = profile.computed(work)
        since = moved - min(touched.get(memory, 0) for memory in node.reads)
        nanoseconds += computed[id(work)] + profile.moved(work, since)
        moved += work.traffic + work.weights
        touched |= dict.fromkeys((*node.reads, *node.writes), moved)
    return nanoseconds


@lru_cache(maxsize=4096)
def needed(convolution: Convolution, form: Form, batch: int, is_bounded: bool, keeps_image: bool) -> int:
    """The most bytes of tensors that a convolution in a form needs at once, with its image and its result."""
    nodes = counted(convolution, form, batch, is_bounded)
    (image,) = nodes[0].reads
    return max(alive_bytes(nodes, {image: len(nodes) if keeps_image else 0}, lambda memory: memory.bytes))


@lru_cache(maxsize=4096)
def added_bytes(convolution: Convolution, form: Form, keeps_filter: bool = False) -> int:
    """The bytes by which a form's filters are larger than the direct one's, or all of them beside one that is kept."""
    if form.is_direct:
        return 0
    direct, composed = (
        sum(node.work.weights for node in counted(convolution, each, 1, is_bounded=False)) for each in (DIRECT, form)
    )
    return composed if keeps_filter else composed - direct


def counted(convolution: Convolution, form: Form, batch: int, is_bounded: bool) -> list[CountedNode]:
    """The nodes of a form, in the order that they run in; those of the direct one are the convolution."""
    shape = (batch, convolution.height.size, convolution.width.size, convolution.input_channels)
    nodes = Counter(convolution, is_bounded)
    compose(convolution, form, nodes, CountedTensor(shape, Memory(FLOAT_BYTES * prod(shape))))
    return nodes.nodes


@dataclass(frozen=True, eq=False)
class Memory:
    """Where a tensor is; one that is reshaped stays where it was."""

    bytes: int


class CountedTensor(NamedTuple):
    """A value that is counted."""

    shape: Shape
    memory: Memory


@dataclass(frozen=True, kw_only=True)
class CountedNode(Step[Memory]):
    """What a node does, and the memory that it does it in."""

    work: Work


@dataclass
class Counter(Nodes[CountedTensor]):
    """Counts what nodes do instead of building them."""

    convolution: Convolution
    is_bounded: bool
    nodes: list[CountedNode] = field(default_factory=list[CountedNode])
    copies: dict[tuple[CountedTensor, Shape], CountedTensor] = field(
        default_factory=dict[tuple[CountedTensor, Shape], CountedTensor]
    )
    """Tensors and shapes -> what reshapes make of them: those of several taps are one."""

    def add(self, work: Work, operands: Sequence[CountedTensor], result: Shape) -> CountedTensor:
        """Count a node."""
        made = Memory(FLOAT_BYTES * prod(result))
        self.nodes.append(CountedNode(tuple(operand.memory for operand in operands), (made,), work=work))
        return CountedTensor(result, made)

    def shape(self, value: CountedTensor) -> Shape:
        return value.shape

    def depthwise(self, value: CountedTensor, taps: Sequence[Fraction], axis: int, window: Window) -> CountedTensor:
        result = with_size(value.shape, axis, window.output)
        is_strided = axis == WIDTH and window.stride > 1
        return self.add(node_costs.depthwise(len(taps), value.shape, result, is_strided), [value], result)

    def product(self, value: CountedTensor, factor: Factor, is_result: bool = False) -> CountedTensor:
        batch, *_, inner = value.shape
        channels = factor.groups * self.convolution.output_channels
        result = (batch, factor.height.output, factor.width.output, channels)
        filter = (channels, *factor.taps, inner // factor.groups)
        work = node_costs.convolution(value.shape, filter, result, factor.groups, factor.is_plain)
        return self.add(work, [value], result)

    def binary(self, kind: Literal["add", "subtract"], lhs: CountedTensor, rhs: CountedTensor) -> CountedTensor:
        return self.add(node_costs.elementwise(2, lhs.shape), [lhs, rhs], lhs.shape)

    def scaled(self, value: CountedTensor, factor: Fraction) -> CountedTensor:
        return value if factor == 1 else self.add(node_costs.elementwise(1, value.shape), [value], value.shape)

    def bounded(self, value: CountedTensor) -> CountedTensor:
        if not self.is_bounded:
            return value
        return self.add(node_costs.elementwise(1, value.shape), [value], value.shape)

    def concatenated(self, values: Sequence[CountedTensor], axis: int) -> CountedTensor:
        shapes = tuple(value.shape for value in values)
        result = with_size(shapes[0], axis, sum(shape[axis] for shape in shapes))
        return self.add(node_costs.joined(shapes, axis), values, result)

    def reshaped(self, value: CountedTensor, shape: Shape, is_copied: bool = False) -> CountedTensor:
        if not is_copied:
            return CountedTensor(shape, value.memory)
        key = (value, shape)
        if key not in self.copies:
            self.copies[key] = self.add(node_costs.copy(shape, 1), [value], shape)
        return self.copies[key]

    def sliced(self, value: CountedTensor, offsets: Shape, sizes: Shape) -> CountedTensor:
        return self.add(node_costs.sliced(value.shape, sizes), [value], sizes)

    def padded(self, value: CountedTensor, before: Shape, after: Shape) -> CountedTensor:
        result = tuple(map(sum, zip(before, value.shape, after, strict=True)))
        return self.add(node_costs.padded(value.shape, result), [value], result)
