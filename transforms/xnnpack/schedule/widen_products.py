"""Products leave integers where XNNPACK is faster in fp32.

With AVX2 XNNPACK multiplies 8-bit numbers hardly faster than numbers of fp32, and rescales each result, which a
product of few terms does not pay for: a 1x1 convolution of 16 channels takes 1.4 times as long as in fp32 with the
conversions. Instructions for 8-bit dot products (VNNI) turn that around.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, i8
from xdsl.rewriter import Rewriter

from xir.cost.processors import check_growth, processors
from xir.cost.profile import CostProfile
from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import missed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis import node_costs
from xir.transforms.xnnpack.analysis.stays_float import name_of, report_float
from xir.transforms.xnnpack.composed_convolutions.choosing import Predicted, allotted
from xir.transforms.xnnpack.schedule._widening import Times, least_gain, one_image, tell_narrow, times_of, widened

Product = xnnpack.Conv2dOp | xnnpack.FullyConnectedOp


@dataclass(frozen=True)
class WidenProductsPass(XirPass):
    """Compute integer products, 1x1 convolutions and linear layers, in fp32, where that is faster.

    Filter and bias are the quantised ones, dequantised. Cost profiles with integer kernels predict where this is
    faster; with several profiles, it has to be faster by each. Without such profiles, or where sizes are open, nothing
    changes; an open number of images counts as one. Filters in fp32 take four times the bytes: within `max-growth`,
    products that save the most time for a byte come first.

    Before:
    ```mlir
    %1 = xnnpack.conv2d %0, %w : (tensor<1x56x56x16x!q>, tensor<96x1x1x16x!w>) -> tensor<1x56x56x96x!p>
    ```
    After, with `cpu=zen3`:
    ```mlir
    %1 = xnnpack.convert %0 : tensor<1x56x56x16x!q> -> tensor<1x56x56x16xf32>
    %2 = xnnpack.conv2d %1, %w' : (tensor<1x56x56x16xf32>, tensor<96x1x1x16xf32>) -> tensor<1x56x56x96xf32>
    %3 = xnnpack.convert %2 : tensor<1x56x56x96xf32> -> tensor<1x56x56x96x!p>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    proved: ClassVar[str] = "products of two terms with scales by channel and bias, where scales are powers of 2"

    cpu: str = "any"
    """The processors that the file is for: `generic`, `native`, or those of a cost profile; nothing changes for `any`
    and `x86`."""

    max_growth: float | None = None
    """How much more bytes the program's weights may take, as a share of them; by default 0.25 for `generic`, and
    without limit for one processor."""

    threads: int = 0
    """How many threads share each node by the profiles; 0 counts as one."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        check_growth(self.max_growth)
        processors(self.cpu, self.threads)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Look at every product, choose, and then rewrite."""
        cpus = processors(self.cpu, self.threads)
        if not cpus.profiles:
            return
        profiles = cpus.of_program(node_costs.weight_bytes(op))
        constants = node_costs.stored_constants(op)
        found = list(candidates(op, profiles))
        options = [each.options(constants) for each in found]
        budget = cpus.budget(sum(constant.bytes for constant in constants.values()), self.max_growth)
        for candidate, is_chosen in zip(found, allotted(options, budget), strict=True):
            if is_chosen:
                candidate.widen(ctx)
            else:
                candidate.tell_why_not()
        for subgraph in ops_in(op, xnnpack.SubgraphOp):
            # The filters and biases on integers.
            erase_dead_ops(subgraph.block, xnnpack.ConstantOp)


@dataclass(frozen=True)
class IntegerProduct:
    """A product on integers, and what it takes on each processor."""

    node: Product
    times: Sequence[Times]

    def options(self, constants: node_costs.StoredConstants) -> dict[bool, Predicted]:
        """Whether it is widened -> what it takes then; without True where that saves too little on a processor."""
        stays = Predicted(tuple(each.narrow for each in self.times), 0)
        if not all(each.gains for each in self.times):
            return {False: stays}
        filter = self.node.filter
        assert isinstance(filter.owner, xnnpack.ConstantOp)
        is_shared = constants[filter.owner.value].readers > 1
        added = (4 if is_shared else 3) * prod(shape_of(filter))
        return {False: stays, True: Predicted(tuple(each.floats for each in self.times), added)}

    def widen(self, ctx: XirContext) -> None:
        """Rewrite it."""
        if not may_try(self.node, "widen") or (ops := widened(self.node, ctx)) is None:
            return
        slowest = least_gain(self.times)
        text, figures = "{} computes in floating point", slowest.figures
        report_float([self.node], WidenProductsPass.name, text, str(slowest), ctx, figures)
        Rewriter.replace_op(self.node, ops)

    def tell_why_not(self) -> None:
        """A remark for whoever asks for it."""
        slowest = least_gain(self.times)
        if not slowest.gains:
            tell_narrow(self.node, slowest)
            return
        reason = f"{slowest}, but its filter in fp32 has more bytes than max-growth leaves"
        missed(self.node, "stays-integer", f"{name_of(self.node)} computes on integers", reason)


def candidates(module: ModuleOp, profiles: Sequence[CostProfile]) -> Iterator[IntegerProduct]:
    """The products on 8-bit integers with constant filters whose times all profiles tell."""
    for node in ops_in(module, Product):
        times = [predicted(node, profile) for profile in profiles] if is_static(node) else [None]
        known = [each for each in times if each is not None]
        if len(known) == len(times):
            yield IntegerProduct(node, known)


def is_static(node: Product) -> bool:
    """Whether all is 8-bit integers, with a filter and a bias that are constants."""
    values = (node.input, node.filter, node.output)
    constants = (node.filter, *(() if node.bias is None else (node.bias,)))
    return all(
        isinstance(element := element_type(value), UniformType) and element.storage == i8 for value in values
    ) and all(isinstance(value.owner, xnnpack.ConstantOp) for value in constants)


def predicted(node: Product, profile: CostProfile) -> Times | None:
    """What it takes; None for what is no plain product, and where the profile or the sizes do not tell."""
    if isinstance(node, xnnpack.FullyConnectedOp):
        # A linear layer is a 1x1 convolution of as many pixels as it has rows.
        image, result = ((1, 1, prod(shape_of(value)[:-1]), shape_of(value)[-1]) for value in (node.input, node.output))
        is_open = DYNAMIC_INDEX in (*shape_of(node.input), *shape_of(node.output))
    else:
        image, result = one_image(node.input), one_image(node.output)
        is_open = DYNAMIC_INDEX in (*image, *result) or not node.is_pointwise
    if is_open:
        return None
    filter = (result[-1], 1, 1, image[-1])
    return times_of(node_costs.convolution(image, filter, result, is_pointwise=True), image, result, profile)
