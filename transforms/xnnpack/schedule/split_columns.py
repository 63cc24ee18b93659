"""Products are split by columns where XNNPACK reads their weights again and again.

XNNPACK multiplies all rows by a block of columns before it goes on to the next block, so that the block's weights stay
in the core's own cache. But its blocks fill that cache nearly whole, and something else always passes through: on some
processors each tile of rows then reads the block from the last cache again, which takes an eighth of a vision
transformer's time. Products of fewer columns have smaller blocks, and what joins their results costs less than that.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xir.cost.processors import caveat, least_saved, processors
from xir.cost.profile import CostProfile
from xir.cost.work import Work
from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.annotations import COMPOSED
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.remarks import Figure, missed, passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.stays_float import name_of
from xir.transforms.xnnpack.building.constants import part_of

LEAST_GAIN = 0.1
"""The share of its time that a product must save, by a profile that was measured."""

MOST = 5
"""How many results one node joins."""

Product = xnnpack.FullyConnectedOp | xnnpack.Conv2dOp


@dataclass(frozen=True)
class SplitColumnsPass(XirPass):
    """Split products by columns, and join their results, where XNNPACK would read their weights again and again.

    Those are linear layers and convolutions of one group with constant weights in fp32 that nothing else reads, as an
    embedding may: parts of them would be stored a second time. Cost profiles say how large a block of columns XNNPACK
    takes and what it costs to read weights again; without one nothing changes, and with several, the split has to be
    faster by each of them.

    Before:
    ```mlir
    %1 = xnnpack.fully_connected %0, %w : (tensor<56x1024xf32>, tensor<480x1024xf32>) -> tensor<56x480xf32>
    ```
    After, with `cpu=emeraldrapids`, and the filter's rows 0 to 255 and 256 to 479:
    ```mlir
    %1 = xnnpack.fully_connected %0, %w0 : (tensor<56x1024xf32>, tensor<256x1024xf32>) -> tensor<56x256xf32>
    %2 = xnnpack.fully_connected %0, %w1 : (tensor<56x1024xf32>, tensor<224x1024xf32>) -> tensor<56x224xf32>
    %3 = xnnpack.concatenate %1, %2 {axis = 1 : i32}
         : (tensor<56x256xf32>, tensor<56x224xf32>) -> tensor<56x480xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "linear layers and convolutions of two and of five columns, one in each part"

    cpu: str = "any"
    """The processors: `generic`, `native`, a cost profile such as `zen4`, or a file from `xir-tune`; nothing changes
    for `any` and `x86`."""

    threads: int = 0
    """How many threads share each node by the profiles; 0 counts as one."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        processors(self.cpu, self.threads)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Look at each product by itself."""
        profiles = processors(self.cpu, self.threads).of_program(node_costs.weight_bytes(op))
        if not profiles:
            return
        constants = node_costs.stored_constants(op)
        outside = {constant.value for constant in ops_in(op, edge.ConstantOp)}
        own = {value for value, stored in constants.items() if stored.readers == 1 and value not in outside}
        for subgraph in ops_in(op, xnnpack.SubgraphOp):
            products = [node for node in subgraph.block.ops if isinstance(node, Product) and _may_split(node, own)]
            for node in products:
                _split(node, profiles, ctx)
            erase_dead_ops(subgraph.block, xnnpack.ConstantOp)


def _may_split(node: Product, own: Set[Attribute]) -> bool:
    """Whether it is a product in fp32 by weights of its own, which `own` has."""
    filter = node.filter.owner
    if not isinstance(filter, xnnpack.ConstantOp) or COMPOSED in node.attributes:
        return False
    if isinstance(node, xnnpack.Conv2dOp) and node.groups.value.data != 1:
        return False
    others = (*node.operands, node.output)
    is_known = node.bias is None or isinstance(node.bias.owner, xnnpack.ConstantOp)
    return is_known and filter.value in own and all(element_type(each) == f32 for each in others)


@dataclass(frozen=True)
class _Times:
    """What a product takes by one profile, in microseconds."""

    whole: float
    split: float
    least: float
    """The share that has to be saved."""

    @property
    def ratio(self) -> float:
        """At most 1 if enough is saved."""
        return self.split / self.whole / (1 - self.least)


def _split(node: Product, profiles: Sequence[CostProfile], ctx: XirContext) -> None:
    """Split a product into as many parts as all processors gain most by, if they gain enough."""
    work = node_costs.work_of(node)
    if work is None or not all(_reads_again(work, each) for each in profiles):
        return
    parts = {sizes: [_times(node, work, sizes, each) for each in profiles] for sizes in _parts(work, profiles)}
    if not parts:
        return
    slowest = {sizes: max(times, key=lambda each: each.ratio) for sizes, times in parts.items()}
    sizes, times = min(slowest.items(), key=lambda each: each[1].ratio)
    figures: dict[str, Figure] = {
        "Parts": len(sizes),
        "DirectMicroseconds": round(times.whole, 1),
        "Microseconds": round(times.split, 1),
    }
    text = f"{times.split:.1f} µs in {len(sizes)} parts, {times.whole:.1f} µs in one{caveat(profiles)}"
    if times.ratio > 1:
        reason = f"{text}, which has to be {100 * times.least:.0f} % less"
        missed(node, "stays-whole", f"{name_of(node)} is one product", reason, figures=figures)
        return
    if may_try(node, "split"):
        passed(node, "split", f"{name_of(node)} is split by columns: {text}", figures=figures)
        Rewriter.replace_op(node, list(_made(node, sizes, ctx)))


def _reads_again(work: Work, profile: CostProfile) -> bool:
    """Whether a product spends time on reading weights again, as far as the profile knows."""
    return profile.knows(work) and profile.kernels[work.kernel].reading_again(work, profile.caches) > 0


def _parts(work: Work, profiles: Sequence[CostProfile]) -> list[tuple[int, ...]]:
    """The sizes of parts that come into question: equal ones of whole tiles, but for the last."""
    tile = max(profile.kernels[work.kernel].columns for profile in profiles)
    found = []
    for count in range(2, MOST + 1):
        size = -(-work.columns // (count * tile)) * tile
        last = work.columns - (count - 1) * size
        if last > 0:
            found.append((*[size] * (count - 1), last))
    return found


def _times(node: Product, work: Work, sizes: Sequence[int], profile: CostProfile) -> _Times:
    """All in turn, with the node that joins the results."""
    shape = shape_of(node.output)
    read = work.traffic - node_costs.FLOAT_BYTES * work.batches * work.rows * work.columns
    parts = [
        replace(
            work,
            columns=size,
            weights=work.weights * size // work.columns,
            traffic=read + (work.traffic - read) * size // work.columns,
        )
        for size in sizes
    ]
    joined = node_costs.copy(shape, len(sizes) * prod(shape[:-1]))
    split = sum(map(profile.nanoseconds, (*parts, joined)))
    return _Times(profile.nanoseconds(work) / 1e3, split / 1e3, least_saved(profile, LEAST_GAIN))


def _made(node: Product, sizes: Sequence[int], ctx: XirContext) -> list[Operation]:
    """The parts and what joins them, which is the last."""
    made: list[Operation] = []
    results: list[SSAValue] = []
    is_transposed = isinstance(node, xnnpack.FullyConnectedOp) and node.transpose_weights is not None
    begin = 0
    for size in sizes:
        rows = slice(begin, begin + size)
        operands = [node.input]
        for value, index in ((node.filter, (slice(None), rows) if is_transposed else (rows,)), (node.bias, (rows,))):
            if value is not None:
                assert isinstance(value.owner, xnnpack.ConstantOp)
                made.append(part_of(value.owner, index, ctx))
                operands.append(made[-1].results[0])
        result = TensorType(f32, (*shape_of(node.output)[:-1], size))
        part = type(node).create(operands=operands, result_types=[result], properties=dict(node.properties))
        inherit(part, node)
        made.append(part)
        results.append(part.results[0])
        begin += size
    axis = IntegerAttr(len(shape_of(node.output)) - 1, i32)
    joined = xnnpack.ConcatenateOp.create(operands=results, result_types=[node.output.type], properties={"axis": axis})
    inherit(joined, node)
    return [*made, joined]
