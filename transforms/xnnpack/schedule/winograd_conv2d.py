"""Convolutions composed of nodes that take less time, where a measured profile says so.

XNNPACK computes a convolution as a product of matrices, tap by tap. By minimal filtering four neighbouring outputs of a
3x3 kernel take 16 products instead of 36, and sixteen take 36 instead of 144; the sums before and behind them are
depthwise convolutions, additions and joins. Any convolution is one plain product of the pixels under its filter, too.
Whether that pays depends on the shape and the processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, ModuleOp
from xdsl.ir import Block
from xdsl.rewriter import Rewriter

from xir.cost.choices import Choice, Layer, load_choices
from xir.cost.profile import CostProfile, named_profile
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.annotations import COMPOSED
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import Figure, missed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis.composed import report_composed
from xir.transforms.xnnpack.analysis.liveness import activation_bytes, alive_bytes, given_to, steps_of
from xir.transforms.xnnpack.analysis.node_costs import weight_bytes
from xir.transforms.xnnpack.analysis.stays_float import name_of
from xir.transforms.xnnpack.composed_convolutions.costs import needed, predicted
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, Axis, Convolution, Form
from xir.transforms.xnnpack.composed_convolutions.nodes import Builder, Shared

LEAST_GAIN = 0.1
"""The share of the time that a form must save, of the direct one's and, by GEMM, of the best other's: predictions are
not closer than that."""

LEAST_SAVED = 20.0
"""The microseconds that it must save as well: it is up to 190 nodes, which take memory and time to load."""


@dataclass(frozen=True)
class WinogradConv2dPass(XirPass):
    """Compose convolutions of several nodes that take less time: Winograd's minimal filtering, and im2col.

    fp32 convolutions of stride 1 with constant filters of 3 or 5 taps along the height, the width or both become F(m,
    r) with m = 2 or 4 outputs: depthwise convolutions that transform the image, one 1x1 convolution for each product
    (3x1 or 1x3 if one dimension stays direct), and sums. Filters are transformed in fp64.

    In forms by GEMM, all products are 1x1 convolutions of one group, for which XNNPACK has a faster kernel on some
    processors. The pixels under the filter along direct dimensions become channels, with any strides and dilations;
    along both dimensions that is im2col.

    The fastest form is the measured one in `choices`, or the one that a cost profile predicts; without either nothing
    changes. A form that needs more memory than `max-bytes`, together with the delegate's other tensors, is not used.
    Each node has the attribute `xir.composed`, which says what it is a part of.

    Before:
    ```mlir
    %1 = xnnpack.conv2d %0, %w {padding = array<i32: 0, 1, 0, 1>}
         : (tensor<1x1x4x8xf32>, tensor<8x1x3x8xf32>) -> tensor<1x1x4x8xf32>
    ```
    After, as F(1x2), with the four rows of B as filters of two taps:
    ```mlir
    %1 = xnnpack.depthwise_conv2d %0, %b0 {dilation = array<i32: 1, 2>, stride = array<i32: 1, 2>, ...}
         : (tensor<1x1x4x8xf32>, tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32>
    ...
    %5 = xnnpack.conv2d %1, %w0 : (tensor<1x1x2x8xf32>, tensor<8x1x1x8xf32>) -> tensor<1x1x2x8xf32>
    ...
    %9 = xnnpack.binary add %6, %7 : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32> -> tensor<1x1x2x8xf32>
    ...
    %13 = xnnpack.concatenate %11, %12 {axis = 3 : i32} : ... -> tensor<1x1x2x16xf32>
    %14 = xnnpack.static_reshape %13 {...} : tensor<1x1x2x16xf32> -> tensor<1x1x4x8xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED

    cpu: str = "any"
    """The cost profile: a name, such as `zen4`, or a file from `xir-tune`; nothing changes for `any` and `x86`."""
    max_error: float = 4.0
    """The largest root-mean-square error, as a multiple of the direct form's; 1 allows only F(2), less no form."""
    form: tuple[int, ...] | None = None
    """The form (height, width) for every convolution that allows it, whatever it costs; for measuring forms."""

    by_gemm: bool = False
    """Use the variant of `form` whose products are plain ones (GEMM)."""

    choices: str = ""
    """A file of measured forms, written by `xir-aot --tune`."""

    max_bytes: int = 0
    """The most bytes of tensors that a delegate may need at once; 0 for no limit."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        if self.max_bytes < 0:
            raise ValueError(f"max-bytes is a number of bytes, or 0 for no limit, not {self.max_bytes}")
        if self.form is not None and (len(self.form) != 2 or not set(self.form) <= {1, 2, 4}):
            raise ValueError(f"form is height and width, each 1, 2 or 4, not {self.form}")
        self.profile()
        try:
            self.measured()
        except OSError as error:
            raise ValueError(f"cannot read the choices '{self.choices}': {error.strerror}") from error

    def profile(self) -> CostProfile | None:
        """The profile that is asked for; None where there is none."""
        return named_profile(self.cpu)

    def measured(self) -> Mapping[Layer, Choice]:
        """The forms that were measured."""
        return load_choices(Path(self.choices)).layers if self.choices else {}

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Look at every convolution, once."""
        profile, measured = self.profile(), self.measured()
        if profile is None and self.form is None and not measured:
            return
        if profile is not None:
            profile = profile.of_program(weight_bytes(op))
        for subgraph in list(ops_in(op, xnnpack.SubgraphOp)):
            self.compose_in(subgraph.block, profile, measured, ctx)

    def compose_in(
        self, block: Block, profile: CostProfile | None, measured: Mapping[Layer, Choice], ctx: XirContext
    ) -> None:
        """Look at the convolutions of one delegate."""
        shared = Shared()
        composed = False
        room = Room(block, self.max_bytes) if self.max_bytes else None
        for node in [op for op in block.ops if isinstance(op, xnnpack.Conv2dOp)]:
            convolution = convolution_of(node)
            if convolution is None:
                continue
            forms = convolution.forms(self.max_error)
            if room is not None:
                forms = [form for form in forms if room.has(node, convolution, form)]
            form, figures = self.chosen(node, convolution, forms, profile, measured)
            if not form.is_direct and may_try(node, str(form)):
                report_composed(node, self.name, str(form), figures, ctx)
                builder = Builder(node, convolution, form, ctx, shared)
                result = builder.build()
                Rewriter.replace_op(node, builder.ops, [result])
                composed = True
        if composed:
            # The filters and biases that were transformed.
            erase_dead_ops(block, xnnpack.ConstantOp)

    def chosen(
        self,
        node: xnnpack.Conv2dOp,
        convolution: Convolution,
        forms: Sequence[Form],
        profile: CostProfile | None,
        measured: Mapping[Layer, Choice],
    ) -> tuple[Form, dict[str, Figure]]:
        """Which of the forms a convolution is computed in, and the figures that speak for it."""
        if self.form is not None:
            wanted = Form(*self.form, by_gemm=self.by_gemm)
            return wanted if wanted in forms else DIRECT, {}
        choice = measured.get(layer_of(node))
        if choice is not None and (form := Form(*choice.form, choice.by_gemm)) in (DIRECT, *forms):
            return form, {"MeasuredRatio": choice.ratio}
        if profile is None or not forms:
            return DIRECT, {}
        times = predictions(node, convolution, forms, profile)
        best = worthwhile(times)
        shown = min(forms, key=times.__getitem__) if best.is_direct else best
        figures: dict[str, Figure] = {
            "DirectMicroseconds": round(times[DIRECT]),
            "Microseconds": round(times[shown]),
            "ErrorGrowth": round(convolution.error_growth(shown), 1),
        }
        if best.is_direct:
            reason = f"{shown} is predicted to take {figures['Microseconds']} µs, not much less than the direct form"
            missed(node, "composed", f"{name_of(node)} stays direct", reason, figures=figures)
        return best, figures


def worthwhile(times: Mapping[Form, float]) -> Form:
    """The fastest form by its microseconds, where those of more nodes have to save so much that they are worth them."""
    best = DIRECT
    for by_gemm in (False, True):
        forms = [form for form in times if form.by_gemm == by_gemm and not form.is_direct]
        rival = min(forms, key=times.__getitem__, default=best)
        if times[best] - times[rival] >= max(LEAST_GAIN * times[best], LEAST_SAVED):
            best = rival
    return best


class Room:
    """What a limit leaves to each convolution of a delegate, beside the tensors that others need meanwhile."""

    def __init__(self, block: Block, limit: int) -> None:
        self.limit = limit
        self.steps = steps_of(block)
        self.at = {op: index for index, op in enumerate(block.ops)}
        self.alive = alive_bytes(self.steps, given_to(block), activation_bytes)
        self.last = {tensor: index for index, step in enumerate(self.steps) for tensor in step.reads}

    def has(self, node: xnnpack.Conv2dOp, convolution: Convolution, form: Form) -> bool:
        """Whether a form's tensors find room; what needs as little as the convolution itself always does."""
        batch, index = shape_of(node.output)[0], self.at[node]
        if batch == DYNAMIC_INDEX:
            return False
        keeps_image = self.last[self.steps[index].reads[0]] > index
        direct, composed = (needed(convolution, each, batch, node.is_bounded, keeps_image) for each in (DIRECT, form))
        return composed <= direct or self.alive[index] + composed - direct <= self.limit


def predictions(
    node: xnnpack.Conv2dOp, convolution: Convolution, forms: Sequence[Form], profile: CostProfile
) -> dict[Form, float]:
    """The microseconds of the direct form and of others; those of one image where their number is open."""
    batch = max(shape_of(node.output)[0], 1)
    return {form: predicted(convolution, form, batch, node.is_bounded, profile) / 1e3 for form in (DIRECT, *forms)}


def layer_of(node: xnnpack.Conv2dOp) -> Layer:
    """What a convolution is called in files of choices; an open number of images is 0."""
    batch, *image = shape_of(node.input)
    shape = (0 if batch == DYNAMIC_INDEX else batch, *image)
    padding, stride, dilation = (tuple(ints(each)) for each in (node.padding, node.stride, node.dilation))
    return Layer(shape, shape_of(node.filter), padding, stride, dilation, node.is_bounded)


def convolution_of(node: xnnpack.Conv2dOp) -> Convolution | None:
    """A convolution that forms may compute; None for others, and for a band of one: each would have its own filters."""
    static = (node.filter, *(() if node.bias is None else (node.bias,)))
    is_float = all(isinstance(element_type(value), Float32Type) for value in (*node.operands, node.output))
    if not is_float or not all(isinstance(value.owner, xnnpack.ConstantOp) for value in static):
        return None
    if COMPOSED in node.attributes:
        return None
    if node.groups.value.data != 1:
        return None
    _, height, width, channels = shape_of(node.input)
    if DYNAMIC_INDEX in (height, width):
        return None
    top, right, bottom, left = ints(node.padding)
    strides, dilations = ints(node.stride), ints(node.dilation)
    return Convolution(
        Axis(height, node.kernel_height, top, bottom, strides[0], dilations[0]),
        Axis(width, node.kernel_width, left, right, strides[1], dilations[1]),
        channels,
        node.output_channels,
    )
