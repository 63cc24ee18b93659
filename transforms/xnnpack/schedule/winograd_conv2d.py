"""Convolutions composed of nodes that take less time, where a measured profile says so.

XNNPACK computes a convolution as a product of matrices, tap by tap. By minimal filtering four neighbouring outputs of a
3x3 kernel take 16 products instead of 36, and sixteen take 36 instead of 144; the sums before and behind them are
depthwise convolutions, additions and joins. Any convolution is one plain product of the pixels under its filter, too.
Whether that pays depends on the shape and the processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import Rewriter

from xir.cost.choices import ConvolutionLayer, MeasuredChoice, load_choices
from xir.cost.processors import Processors, caveat, check_growth, processors
from xir.cost.profile import CostProfile
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
from xir.transforms.xnnpack.analysis.node_costs import Stored, stored_constants, weight_bytes
from xir.transforms.xnnpack.analysis.stays_float import name_of
from xir.transforms.xnnpack.composed_convolutions.choosing import Predicted, allotted, least_gains, worthwhile
from xir.transforms.xnnpack.composed_convolutions.costs import added_bytes, needed, predicted
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, Axis, Convolution, Form
from xir.transforms.xnnpack.composed_convolutions.nodes import ConvolutionBuilder, Shared


@dataclass(frozen=True)
class WinogradConv2dPass(XirPass):
    """Compose convolutions of several nodes that take less time: Winograd's minimal filtering, and im2col.

    fp32 convolutions of stride 1 with constant filters of 3 or 5 taps along the height, the width or both become F(m,
    r) with m = 2 or 4 outputs: depthwise convolutions that transform the image, one 1x1 convolution for each product
    (3x1 or 1x3 if one dimension stays direct), and sums. Filters are transformed in fp64.

    In forms by GEMM, all products are 1x1 convolutions of one group, for which XNNPACK has a faster kernel on some
    processors. The pixels under the filter along direct dimensions become channels, with any strides and dilations;
    along both dimensions that is im2col.

    The fastest form is the measured one in `choices`, or the one that cost profiles predict; without either nothing
    changes. With several profiles, a form has to be faster by each of them, and the one with the best mean is used;
    then two threads count as much as one, unless `threads` says how many. Threads wait for each other at the end of
    each node.
    Transformed filters are larger: within `max-growth`, the forms that save the most time for a byte come first. A form
    that needs more memory than `max-arena`, together with the delegate's other tensors, is not used. Each node has the
    attribute `xir.composed`, which says what it is a part of.

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
    proved: ClassVar[str] = (
        "F(2, 3) along one dimension and both, with padding and bias, on images of up to four by five pixels"
    )

    cpu: str = "any"
    """The processors: `generic`, `native`, a cost profile such as `zen4`, or a file from `xir-tune`; nothing changes
    for `any` and `x86`."""
    max_error: float = 4.0
    """The largest root-mean-square error, as a multiple of the direct form's; 1 allows only F(2), less no form."""
    form: tuple[int, ...] | None = None
    """The form (height, width) for every convolution that allows it, whatever it costs; for measuring forms."""

    by_gemm: bool = False
    """Use the variant of `form` whose products are plain ones (GEMM)."""

    choices: str = ""
    """A file of measured forms, written by `xir-aot --tune`."""

    max_arena: int = 0
    """The most bytes of tensors that a delegate may need at once; 0 for no limit."""

    max_growth: float | None = None
    """How much more bytes the program's weights may take, as a share of them; by default 0.25 for `generic`, and
    without limit for one processor."""

    threads: int = 0
    """The threads that share each node: forms save time on so many. With 0 they save it on one, and by several profiles
    lose at most a tenth on two."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        if self.max_arena < 0:
            raise ValueError(f"max-arena is a number of bytes, or 0 for no limit, not {self.max_arena}")
        if self.form is not None and (len(self.form) != 2 or not set(self.form) <= {1, 2, 4}):
            raise ValueError(f"form is height and width, each 1, 2 or 4, not {self.form}")
        check_growth(self.max_growth)
        self.processors()
        try:
            self.measured()
        except OSError as error:
            raise ValueError(f"cannot read the choices '{self.choices}': {error.strerror}") from error

    def processors(self) -> Processors:
        """Those that are asked for."""
        return processors(self.cpu, self.threads)

    def measured(self) -> Mapping[ConvolutionLayer, MeasuredChoice]:
        """The forms that were measured."""
        return load_choices(Path(self.choices)).layers if self.choices else {}

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Look at every convolution, choose, and then rewrite."""
        cpus, measured = self.processors(), self.measured()
        if not cpus.profiles and self.form is None and not measured:
            return
        constants = stored_constants(op)
        least = least_gains(cpus.profiles, cpus.is_generic)
        chooser = FormChooser(self, cpus.of_program(weight_bytes(op)), cpus.also_on_two, least, measured, constants)
        blocks = [subgraph.block for subgraph in ops_in(op, xnnpack.SubgraphOp)]
        found = [list(self.candidates(block, chooser)) for block in blocks]
        budget = cpus.budget(sum(constant.bytes for constant in constants.values()), self.max_growth)
        taken = iter(allotted([each.options for candidates in found for each in candidates], budget))
        for block, candidates in zip(blocks, found, strict=True):
            self.compose(block, [(each, next(taken)) for each in candidates], ctx)

    def candidates(self, block: Block, chooser: FormChooser) -> Iterator[Candidate]:
        """The convolutions of a delegate that forms may compute, and what speaks for each."""
        room = Room(block, self.max_arena) if self.max_arena else None
        for node in block.ops:
            convolution = convolution_of(node) if isinstance(node, xnnpack.Conv2dOp) else None
            if convolution is None or not isinstance(node, xnnpack.Conv2dOp):
                continue
            forms = convolution.forms(self.max_error)
            if room is not None:
                forms = [form for form in forms if room.has(node, convolution, form)]
            yield chooser.candidate(node, convolution, forms)

    def compose(self, block: Block, chosen: Sequence[tuple[Candidate, Form]], ctx: XirContext) -> None:
        """Rewrite the convolutions of a delegate that are computed in other forms."""
        shared = Shared()
        composed = False
        for candidate, form in chosen:
            if form.is_direct:
                candidate.tell_why_direct()
            elif may_try(candidate.node, str(form)):
                said = caveat(self.processors().profiles)
                report_composed(candidate.node, self.name, str(form), candidate.figures(form), ctx, said)
                builder = ConvolutionBuilder(candidate.node, candidate.convolution, form, ctx, shared)
                result = builder.build()
                Rewriter.replace_op(candidate.node, builder.ops, [result])
                composed = True
        if composed:
            # The filters and biases that were transformed.
            erase_dead_ops(block, xnnpack.ConstantOp)


@dataclass(frozen=True)
class Candidate:
    """A convolution, and the forms that it may be computed in."""

    node: xnnpack.Conv2dOp
    convolution: Convolution
    options: Mapping[Form, Predicted]
    """Those that are worth it, and the direct one."""
    times: Mapping[Form, Predicted]
    """All that were predicted; nothing where it was not predictions that chose."""
    measured: Mapping[str, Figure]
    """The figures of what was measured."""

    def figures(self, form: Form) -> dict[str, Figure]:
        """What speaks for a form."""
        if form not in self.times:
            return dict(self.measured)
        return {
            "DirectMicroseconds": round(self.times[DIRECT].mean),
            "Microseconds": round(self.times[form].mean),
            "ErrorGrowth": round(self.convolution.error_growth(form), 1),
            "AddedBytes": self.times[form].added,
        }

    def tell_why_direct(self) -> None:
        """A remark for whoever asks for it."""
        others = [form for form in self.times if not form.is_direct]
        if not others:
            return
        shown = min(others, key=lambda form: self.times[form].mean)
        figures = self.figures(shown)
        if shown in self.options:
            reason = f"{shown} would add {figures['AddedBytes']} bytes of weights, more than max-growth leaves"
        else:
            reason = f"{shown} is predicted to take {figures['Microseconds']} µs, not much less than the direct form"
        missed(self.node, "composed", f"{name_of(self.node)} stays direct", reason, figures=figures)


@dataclass(frozen=True)
class FormChooser:
    """Finds the forms of a convolution that are worth it."""

    options: WinogradConv2dPass
    profiles: Sequence[CostProfile]
    also_on_two: bool
    """Whether two threads count as much as one."""
    least: Sequence[float]
    """The share of the direct form's time that a form must save by each."""
    measured: Mapping[ConvolutionLayer, MeasuredChoice]
    constants: Mapping[Attribute, Stored]
    """Those of the program."""

    def candidate(self, node: xnnpack.Conv2dOp, convolution: Convolution, forms: Sequence[Form]) -> Candidate:
        """The forms that may compute a convolution: the one that was asked for or measured, else those predicted to
        save enough time."""
        if self.options.form is not None:
            wanted = Form(*self.options.form, by_gemm=self.options.by_gemm)
            return Candidate(node, convolution, {wanted if wanted in forms else DIRECT: Predicted.NOTHING}, {}, {})
        choice = self.measured.get(layer_of(node))
        if choice is not None and (form := Form(*choice.form, choice.by_gemm)) in (DIRECT, *forms):
            return Candidate(node, convolution, {form: Predicted.NOTHING}, {}, {"MeasuredRatio": choice.ratio})
        if not self.profiles or not forms:
            return Candidate(node, convolution, {DIRECT: Predicted.NOTHING}, {}, {})
        times = predictions(
            node, convolution, forms, self.profiles, self.also_on_two, keeps_filter=self.is_shared(node.filter)
        )
        return Candidate(node, convolution, worthwhile(times, self.least), times, {})

    def is_shared(self, filter: SSAValue) -> bool:
        """Whether other nodes read a filter, too, so that the file keeps it whatever becomes of one of them."""
        return isinstance(filter.owner, xnnpack.ConstantOp) and self.constants[filter.owner.value].readers > 1


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
    node: xnnpack.Conv2dOp,
    convolution: Convolution,
    forms: Sequence[Form],
    profiles: Sequence[CostProfile],
    also_on_two: bool,
    keeps_filter: bool = False,
) -> dict[Form, Predicted]:
    """What the direct form and others take by each profile, and on two threads if asked; those of one image where their
    number is open.

    With `keeps_filter` others' filters are added to the direct one's, which something else reads.
    """
    batch = max(shape_of(node.output)[0], 1)
    shared = [profile.on_threads(2) for profile in profiles] if also_on_two else []

    def by_each(form: Form, profiles: Sequence[CostProfile]) -> tuple[float, ...]:
        return tuple(predicted(convolution, form, batch, node.is_bounded, profile) / 1e3 for profile in profiles)

    return {
        form: Predicted(by_each(form, profiles), added_bytes(convolution, form, keeps_filter), by_each(form, shared))
        for form in (DIRECT, *forms)
    }


def layer_of(node: xnnpack.Conv2dOp) -> ConvolutionLayer:
    """What a convolution is called in files of choices; an open number of images is 0."""
    batch, *image = shape_of(node.input)
    shape = (0 if batch == DYNAMIC_INDEX else batch, *image)
    padding, stride, dilation = (tuple(ints(each)) for each in (node.padding, node.stride, node.dilation))
    return ConvolutionLayer(shape, shape_of(node.filter), padding, stride, dilation, node.is_bounded)


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
