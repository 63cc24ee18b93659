"""Nodes to measure: one shape each, repeated in a chain so that a node's time is a difference of two programs'."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, f32, i32
from xdsl.ir import Operation, SSAValue

from xir.cost.profile import Kernel, KernelCost
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import Shape, tensor_type, u32s
from xir.dialects.xnnpack.kinds import BinaryKind
from xir.emitter import emit
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.transforms.pipelines import passes_of

FLOAT_BYTES = 4


@dataclass(frozen=True)
class Sample(ABC):
    """A node on an fp32 image [1, size, size, channels], whose result has the same shape."""

    size: int
    channels: int

    calls: ClassVar[int] = 1
    """The nodes that it is."""

    @property
    def shape(self) -> Shape:
        return (1, self.size, self.size, self.channels)

    @property
    def elements(self) -> int:
        return self.size * self.size * self.channels

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel that XNNPACK runs."""

    @property
    def traffic(self) -> int:
        """The bytes that it moves, but for its weights."""
        return FLOAT_BYTES * 2 * self.elements

    @property
    def weights(self) -> int:
        """The bytes of its weights."""
        return 0

    @abstractmethod
    def work(self, cost: KernelCost) -> int:
        """Its multiply-adds, by a kernel of such a tile."""

    @abstractmethod
    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        """The node, last, behind its constants. `value` is what the node before it made of `image`."""


@dataclass(frozen=True)
class Convolution(Sample):
    """A convolution of as many output channels as input channels."""

    taps: tuple[int, int]

    @property
    def kernel(self) -> Kernel:
        return "gemm" if self.taps == (1, 1) else "igemm"

    @property
    def inner(self) -> int:
        """The length of each sum."""
        return self.taps[0] * self.taps[1] * self.channels

    @property
    def weights(self) -> int:
        return FLOAT_BYTES * self.inner * self.channels

    def work(self, cost: KernelCost) -> int:
        return cost.padded(self.size * self.size, self.channels) * self.inner

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield (filter := random_constant((self.channels, *self.taps, self.channels), ctx))
        yield convolution(xnnpack.Conv2dOp, value, filter, self.taps, 1)


@dataclass(frozen=True)
class Depthwise(Sample):
    """A depthwise convolution."""

    taps: tuple[int, int]

    @property
    def kernel(self) -> Kernel:
        return "dwconv"

    def work(self, cost: KernelCost) -> int:
        return self.elements * self.taps[0] * self.taps[1]

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield (filter := random_constant((1, *self.taps, self.channels), ctx))
        yield convolution(xnnpack.DepthwiseConv2dOp, value, filter, self.taps, self.channels)


@dataclass(frozen=True)
class Addition(Sample):
    """A sum of two images."""

    @property
    def kernel(self) -> Kernel:
        return "elementwise"

    @property
    def traffic(self) -> int:
        return FLOAT_BYTES * 3 * self.elements

    def work(self, cost: KernelCost) -> int:
        return self.elements

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        kind = xnnpack.BinaryKindAttr(BinaryKind("add"))
        yield xnnpack.BinaryOp.create(operands=[value, image], result_types=[value.type], properties={"kind": kind})


@dataclass(frozen=True)
class Swap(Sample):
    """The two halves of the channels, cut apart and joined the other way round."""

    calls: ClassVar[int] = 3

    @property
    def kernel(self) -> Kernel:
        return "copy"

    @property
    def traffic(self) -> int:
        return FLOAT_BYTES * 4 * self.elements

    def work(self, cost: KernelCost) -> int:
        return 0

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        half = self.channels // 2
        halves: list[xnnpack.StaticSliceOp] = []
        for start in (half, 0):
            sizes = (*self.shape[:3], half)
            properties = {"offsets": u32s((0, 0, 0, start)), "sizes": u32s(sizes)}
            types = [tensor_type(f32, sizes)]
            halves.append(xnnpack.StaticSliceOp.create(operands=[value], result_types=types, properties=properties))
        yield from halves
        yield xnnpack.ConcatenateOp.create(
            operands=[each.output for each in halves],
            result_types=[value.type],
            properties={"axis": IntegerAttr(3, i32)},
        )


def convolution(
    op: type[xnnpack.Conv2dOp | xnnpack.DepthwiseConv2dOp],
    value: SSAValue,
    filter: xnnpack.ConstantOp,
    taps: tuple[int, int],
    groups: int,
) -> Operation:
    """A convolution that keeps the shape."""
    height, width = taps
    padding = u32s((height // 2, (width - 1) // 2, (height - 1) // 2, width // 2))
    properties = {"padding": padding, "groups": IntegerAttr(groups, i32)}
    return op.create(operands=[value, filter.output], result_types=[value.type], properties=properties)


def random_constant(shape: Shape, ctx: XirContext) -> xnnpack.ConstantOp:
    """Weights; equal ones would be packed once."""
    values = np.random.default_rng().standard_normal(shape, dtype=np.float32) / np.sqrt(np.prod(shape[1:]))
    return xnnpack.ConstantOp(make_dense(values.astype(np.float32), ctx, "weights"))


def program(sample: Sample, count: int) -> bytes:
    """A `.pte` file of `count` such nodes, one behind the other, on an image."""
    ctx = XirContext()
    image = f"tensor<{'x'.join(map(str, sample.shape))}xf32>"
    module = parse_module(
        ctx,
        f"""
        func.func @forward(%x: {image}) -> {image}
            attributes {{xir.in_spec = "T2#1#0(T1#1($),D0())", xir.out_spec = "$"}} {{
          %y = xnnpack.subgraph(%x) : ({image}) -> {image} {{
          ^bb0(%a: {image}):
            %b = xnnpack.unary abs %a : {image} -> {image}
            xnnpack.yield %b : {image}
          }}
          func.return %y : {image}
        }}""",
    )
    (subgraph,) = (op for op in module.walk() if isinstance(op, xnnpack.SubgraphOp))
    block = subgraph.body.block
    (value,) = subgraph.yield_op.values
    for _ in range(count):
        made = list(sample.nodes(value, block.args[0], ctx))
        block.insert_ops_before(made, subgraph.yield_op)
        (value,) = made[-1].results
    subgraph.yield_op.operands = [value]
    PassManager(ctx, passes_of("emit")).run(module)
    file = BytesIO()
    emit(module, ctx, file)
    return file.getvalue()
