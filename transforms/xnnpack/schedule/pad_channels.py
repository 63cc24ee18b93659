"""Channels are padded to whole tiles where XNNPACK multiplies faster so.

XNNPACK's fastest kernel for products computes 16 columns at a time on AVX2. Where a product has 24, 40, 72 or 120, it
takes another one, of 8 columns, that computes no column for nothing, at half of the speed. With channels of zeros up to
whole tiles the fast one runs. Nothing is copied: what reads the channels is padded along, up to the products that sum
over them, whose weights for the new ones are zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, f32, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xir.cost.processors import caveat, least_saved, processors
from xir.cost.profile import CostProfile
from xir.cost.work import Kernel, Work
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import NodeOp, Shape, WeightedOp, element_type, ints, rank_of, shape_of, tensor_type
from xir.ir.analyses import ValueAnalysis
from xir.ir.annotations import COMPOSED
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import missed, passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis.node_costs import FLOAT_BYTES, weight_bytes, work_of
from xir.transforms.xnnpack.analysis.stays_float import name_of

LEAST_GAIN = 0.05
"""The share of the time that it must save of all nodes that are padded, by a profile that was measured."""

LARGEST = 1e18
"""What padded channels may hold: times a weight of zero it is zero, as infinity is not."""

BOUNDED = frozenset(("abs", "approxgelu", "gelu", "hardswish", "negate", "sigmoid", "sign", "tanh"))
"""Functions whose result is not larger than their operand, or than 1."""

BY_CHANNEL: tuple[Kernel, ...] = ("average_pool", "max_pool", "resize")
"""What computes each channel by itself, of means and extremes of its numbers."""


@dataclass(frozen=True)
class PadChannelsPass(XirPass):
    """Pad channels with zeros to whole tiles, where XNNPACK's faster kernel saves more than the extra channels cost.

    Cost profiles say which kernel XNNPACK uses, and how long both take; without one nothing changes, and with several,
    padding has to be faster by each of them. Channels are padded from the products that create them, through depthwise
    convolutions, elementwise arithmetic, pooling and resizing, to the products that sum over them. Channels with other
    readers, such as the delegate's outputs, are left alone.

    Before:
    ```mlir
    %1 = xnnpack.conv2d %0, %w : (tensor<1x9x9x16xf32>, tensor<24x1x1x16xf32>) -> tensor<1x9x9x24xf32>
    %2 = xnnpack.unary hardswish %1 : tensor<1x9x9x24xf32> -> tensor<1x9x9x24xf32>
    %3 = xnnpack.conv2d %2, %v : (tensor<1x9x9x24xf32>, tensor<16x1x1x24xf32>) -> tensor<1x9x9x16xf32>
    ```
    After, where tiles have 16 columns:
    ```mlir
    %1 = xnnpack.conv2d %0, %w' : (tensor<1x9x9x16xf32>, tensor<32x1x1x16xf32>) -> tensor<1x9x9x32xf32>
    %2 = xnnpack.unary hardswish %1 : tensor<1x9x9x32xf32> -> tensor<1x9x9x32xf32>
    %3 = xnnpack.conv2d %2, %v' : (tensor<1x9x9x32xf32>, tensor<16x1x1x32xf32>) -> tensor<1x9x9x16xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    proved: ClassVar[str] = (
        "products of five and six channels in tiles of four, with elementwise nodes, means and filters between them"
    )

    cpu: str = "any"
    """The processors: `generic`, `native`, a cost profile such as `zen4`, or a file from `xir-tune`; nothing changes
    for `any` and `x86`."""

    threads: int = 0
    """How many threads share each node by the profiles; 0 counts as one."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        processors(self.cpu, self.threads)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Look at the products of each delegate, in order."""
        profiles = processors(self.cpu, self.threads).of_program(weight_bytes(op))
        if not profiles:
            return
        for subgraph in ops_in(op, xnnpack.SubgraphOp):
            products = [node for node in subgraph.block.ops if isinstance(node, WeightedOp)]
            padded = [_pad(node, profiles, ctx) for node in products]
            if any(padded):
                erase_dead_ops(subgraph.block, xnnpack.ConstantOp)


def _padded(node: WeightedOp, profiles: Sequence[CostProfile]) -> tuple[int, int] | None:
    """The channels that a product makes, and the whole tiles that they are padded to; None for one that XNNPACK
    computes by its fastest kernel already, on one of the processors."""
    work = work_of(node)
    if work is None or work.kernel != "gemm":
        return None
    kernels = [profile.kernels["gemm"] for profile in profiles]
    tile = max(kernel.columns for kernel in kernels)
    return (work.columns, -(-work.columns // tile) * tile) if all(each.is_narrow(work) for each in kernels) else None


def _pad(node: WeightedOp, profiles: Sequence[CostProfile], ctx: XirContext) -> bool:
    """Pad the channels that a product makes, if that is worth it on each processor. Whether it was."""
    sizes = _padded(node, profiles)
    if sizes is None:
        return False
    size, padded = sizes
    channels = Channels(size, padded)
    if not channels.collect(node.output, ctx):
        return False
    old, new = channels.works()
    times = [
        (*(sum(map(each.nanoseconds, works)) / 1e3 for works in (old, new)), least_saved(each, LEAST_GAIN))
        for each in profiles
    ]
    before, after, least = max(times, key=lambda row: row[1] / row[0] / (1 - row[2]))
    figures = {
        "Channels": size,
        "Padded": padded,
        "UnpaddedMicroseconds": round(before, 1),
        "Microseconds": round(after, 1),
    }
    if before - after < least * before:
        reason = f"{len(channels.nodes)} nodes take {before:.1f} µs, {after:.1f} µs with {padded} channels"
        missed(node, "padded", f"{name_of(node)} keeps {size} channels", reason, figures=figures)
        return False
    if not may_try(node, f"{padded} channels"):
        return False
    text = f"{size} channels of {name_of(node)} are padded to {padded}, {after:.1f} µs for {before:.1f} µs"
    passed(node, "padded", f"{text}{caveat(profiles)}", figures=figures)
    channels.pad(ctx)
    return True


@dataclass
class Channels:
    """Values that have the same channels, and the nodes that make and read them."""

    size: int
    padded: int
    values: dict[SSAValue, float] = field(default_factory=dict[SSAValue, float])
    """How large the numbers in padded channels are at most."""
    nodes: dict[NodeOp, None] = field(default_factory=dict[NodeOp, None])
    """In the order that they run in."""

    def collect(self, start: SSAValue, ctx: XirContext) -> bool:
        """Find all of them. False where something makes or reads the channels that cannot be padded along."""
        found = {start: None}
        queue = [start]
        while queue:
            value = queue.pop()
            if isinstance(value.owner, Block) or element_type(value) != f32 or shape_of(value)[-1:] != (self.size,):
                return False
            for node in (value.owner, *(use.operation for use in value.uses)):
                tied = self.tied(node)
                if tied is None or not isinstance(node, NodeOp):
                    return False
                self.nodes[node] = None
                queue += [each for each in tied if each not in found]
                found |= dict.fromkeys(tied)
        block = start.owner.parent
        assert block is not None
        self.nodes = {op: None for op in block.ops if isinstance(op, NodeOp) and op in self.nodes}
        self.values = dict.fromkeys(found, 0.0)
        for node in self.nodes:
            if node.results[0] in self.values:
                self.values[node.results[0]] = self.bound(node, ctx)
        return max(self.values.values()) <= LARGEST

    def tied(self, node: Operation) -> Iterable[SSAValue] | None:
        """The values of a node that have the same channels, but products'; None if it cannot be padded."""
        match node:
            case xnnpack.DepthwiseConv2dOp():
                is_known = _is_known(node) and shape_of(node.filter)[3] == self.size
                return (node.input, node.output) if is_known else None
            case WeightedOp():
                return () if _is_plain(node) else None
            case xnnpack.UnaryOp():
                return (node.input, node.output) if node.kind.data in BOUNDED else None
            case xnnpack.BinaryOp():
                computed = [value for value in node.operands if not isinstance(value.owner, xnnpack.ConstantOp)]
                is_known = node.kind.data in ("add", "subtract", "multiply", "maximum", "minimum")
                return (*computed, node.output) if is_known else None
            case xnnpack.StaticReduceOp():
                is_spatial = node.kind.data in ("mean", "max", "min") and rank_of(node.input) - 1 not in ints(node.axes)
                return (node.input, node.output) if is_spatial else None
            case xnnpack.ClampOp() | xnnpack.GlobalAveragePooling2dOp():
                return node.input, node.output
            case _:
                return (node.operands[0], node.results[0]) if _is_by_channel(node) else None

    def bound(self, node: NodeOp, ctx: XirContext) -> float:
        """How large the numbers in the padded channels of a node's result are at most."""
        operands = [self.constant_bound(each.owner, ctx) if isinstance(each.owner, xnnpack.ConstantOp)
                    else self.values.get(each, 0.0) for each in node.operands]  # fmt: skip
        if isinstance(node, WeightedOp):
            found = 0.0
        elif isinstance(node, xnnpack.BinaryOp):
            found = prod(operands) if node.kind.data == "multiply" else sum(operands)
        else:
            found = max(1.0, *operands)
        limits = (node.properties.get(name) for name in ("output_min", "output_max"))
        numbers = (limit.value.data for limit in limits if isinstance(limit, FloatAttr))
        return max((found, *(abs(number) for number in numbers if np.isfinite(number))))

    def constant_bound(self, constant: xnnpack.ConstantOp, ctx: XirContext) -> float:
        """The same of a constant: those with channels of their own get zeros."""
        if shape_of(constant.output)[-1:] == (self.size,):
            return 0.0
        return float(np.abs(storage_array(constant.elements, ctx, constant)).max(initial=0.0))

    def works(self) -> tuple[list[Work], list[Work]]:
        """What the nodes do now, and what they do when they are padded; those that no profile knows do not count."""
        pairs = [(work, self.grown(node, work)) for node in self.nodes if (work := work_of(node)) is not None]
        return [before for before, _ in pairs], [after for _, after in pairs]

    def grown(self, node: NodeOp, work: Work) -> Work:
        """What a node does when it is padded."""
        grown = sum(FLOAT_BYTES * prod(shape_of(value)[:-1]) * (self.padded - self.size)
                    for value in (*node.operands, *node.results) if value in self.values)  # fmt: skip
        work = replace(work, traffic=work.traffic + grown)
        if isinstance(node, xnnpack.DepthwiseConv2dOp):
            return replace(work, columns=self.padded, reread=self.scaled(work.reread))
        if isinstance(node, WeightedOp):
            for value, names in ((node.output, ("columns",)), (node.input, ("inner", "row_bytes", "column_bytes"))):
                if value in self.values:
                    sizes = {each: self.scaled(getattr(work, each)) for each in (*names, "weights")}
                    work = replace(work, **sizes)
            return work
        return replace(work, inner=self.scaled(work.inner)) if _is_by_channel(node) else work

    def scaled(self, number: int) -> int:
        """A number that grows with the channels."""
        return number * self.padded // self.size

    def pad(self, ctx: XirContext) -> None:
        """Rewrite the nodes."""
        constants: dict[tuple[xnnpack.ConstantOp, tuple[int, ...]], xnnpack.ConstantOp] = {}
        for node in self.nodes:
            for index, axes in self.constants_of(node):
                constant = node.operands[index].owner
                assert isinstance(constant, xnnpack.ConstantOp)
                if (constant, axes) not in constants:
                    made = constants[constant, axes] = self.with_zeros(constant, axes, ctx)
                    Rewriter.insert_op(made, InsertPoint.after(constant))
                node.operands[index] = constants[constant, axes].output
            if isinstance(node, xnnpack.DepthwiseConv2dOp):
                node.groups = IntegerAttr(self.padded, i32)
        for value in self.values:
            Rewriter.replace_value_with_new_type(value, tensor_type(f32, self.grown_shape(shape_of(value), (-1,))))

    def constants_of(self, node: NodeOp) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The operands of a node that are constants with these channels, and along which dimensions."""
        match node:
            case xnnpack.DepthwiseConv2dOp():
                yield from ((index, (-1,)) for index in range(1, len(node.operands)))
            case WeightedOp():
                makes, sums = node.output in self.values, node.input in self.values
                yield 1, (*((0,) if makes else ()), *((-1,) if sums else ()))
                if makes and node.bias is not None:
                    yield 2, (0,)
            case _:
                for index, value in enumerate(node.operands):
                    if isinstance(value.owner, xnnpack.ConstantOp) and shape_of(value)[-1:] == (self.size,):
                        yield index, (-1,)

    def with_zeros(self, constant: xnnpack.ConstantOp, axes: tuple[int, ...], ctx: XirContext) -> xnnpack.ConstantOp:
        """A constant with zeros behind the numbers along some dimensions."""
        numbers = storage_array(constant.elements, ctx, constant)
        padded = np.zeros(self.grown_shape(numbers.shape, axes), np.float32)
        padded[tuple(map(slice, numbers.shape))] = numbers
        made = xnnpack.ConstantOp(make_dense(padded, ctx, "padded"))
        made.location = constant.location
        return made

    def grown_shape(self, shape: Shape, axes: Iterable[int]) -> Shape:
        """A shape with padded channels along some dimensions."""
        sizes = list(shape)
        for axis in axes:
            sizes[axis] = self.padded
        return tuple(sizes)


def _is_plain(node: WeightedOp) -> bool:
    """Whether a product has one group, weights that are known, and no part in a composed one."""
    if COMPOSED in node.attributes or not _is_known(node):
        return False
    groups = node.properties.get("groups")
    return "transpose_weights" not in node.properties and (
        not isinstance(groups, IntegerAttr) or groups.value.data == 1
    )


def _is_by_channel(node: Operation) -> bool:
    """Whether a node computes each channel by itself, beside its neighbours in the image."""
    work = work_of(node) if isinstance(node, NodeOp) else None
    return work is not None and work.kernel in BY_CHANNEL


def _is_known(node: WeightedOp) -> bool:
    """Whether filter and bias are constants in fp32."""
    return all(
        isinstance(value.owner, xnnpack.ConstantOp) and element_type(value) == f32 for value in node.operands[1:]
    )
