"""What is off by one in a pass is disproved: each change of a source, by the graphs of that pass's test."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest
from reference.planting import planted

from proofs import test_attend_live_prefix as prefixes
from proofs import test_avoid_xnnpack_faults as faults
from proofs import test_band_spatial as bands
from proofs import test_canonicalize as canonicalize
from proofs import test_collapse_dims as dims
from proofs import test_crop_padding as cropped
from proofs import test_cse as equal
from proofs import test_drop_softmax_guards as guards
from proofs import test_fill_hidden_rows as hidden
from proofs import test_fold_affine as affine
from proofs import test_fold_batch_norm as norms
from proofs import test_fold_constants as constants
from proofs import test_fold_lookups as lookups
from proofs import test_fold_positions as positions
from proofs import test_fold_qdq as qdq
from proofs import test_fold_width_stride as stride
from proofs import test_fuse_conv_relu as clamps
from proofs import test_fuse_prefix_attention as fused
from proofs import test_fuse_quantized_embedding as embedding
from proofs import test_isolate_tables as tables
from proofs import test_lower_masks as masks
from proofs import test_make_bit_exact as exact
from proofs import test_pad_channels as channels
from proofs import test_propagate_converts as converts
from proofs import test_propagate_layout as layouts
from proofs import test_put_slices as puts
from proofs import test_raise_grouped_query as heads
from proofs import test_raise_int_mm as int_mm
from proofs import test_raise_items as items
from proofs import test_skip_masked_keys as skipped
from proofs import test_slices as slices
from proofs import test_unmerge_dynamic_dims as merged
from proofs import test_widen_depthwise as depthwise
from proofs import test_widen_products as widened
from proofs import test_winograd_conv2d as winograd
from proofs.proof import EXACT, Reading, prove
from xir.ir.diagnostics import DiagnosticError
from xir.ir.passes import XirPass
from xir.transforms.edge.attend_live_prefix import AttendLivePrefixPass
from xir.transforms.edge.crop_padding import CropPaddingPass
from xir.transforms.edge.fill_hidden_rows import FillHiddenRowsPass
from xir.transforms.edge.fold_batch_norm import FoldBatchNormPass
from xir.transforms.edge.fold_constants import FoldConstantsPass
from xir.transforms.edge.fold_lookups import FoldLookupsPass
from xir.transforms.edge.fold_positions import FoldPositionsPass
from xir.transforms.edge.fuse_quantized_embedding import FuseQuantizedEmbeddingPass
from xir.transforms.edge.lower_masks import LowerMasksPass
from xir.transforms.edge.put_slices import PutSlicesPass
from xir.transforms.edge.raise_grouped_query import RaiseGroupedQueryPass
from xir.transforms.edge.raise_int_mm import RaiseIntMmPass
from xir.transforms.edge.raise_items import RaiseItemsPass
from xir.transforms.edge.unmerge_dynamic_dims import UnmergeDynamicDimsPass
from xir.transforms.general.canonicalize import CanonicalizePass
from xir.transforms.general.cse import CsePass
from xir.transforms.registry import PASSES
from xir.transforms.xnnpack.finish.avoid_xnnpack_faults import AvoidXnnpackFaultsPass
from xir.transforms.xnnpack.finish.isolate_tables import IsolateTablesPass
from xir.transforms.xnnpack.finish.make_bit_exact import MakeBitExactPass
from xir.transforms.xnnpack.optimize.bubble_up_slice import BubbleUpSlicePass
from xir.transforms.xnnpack.optimize.fold_affine import FoldAffinePass
from xir.transforms.xnnpack.optimize.fold_qdq import FoldQdqPass
from xir.transforms.xnnpack.optimize.fold_width_stride import FoldWidthStridePass
from xir.transforms.xnnpack.optimize.fuse_conv_relu import FuseConvReluPass
from xir.transforms.xnnpack.optimize.propagate_converts import PropagateConvertsPass
from xir.transforms.xnnpack.optimize.propagate_layout import PropagateLayoutPass
from xir.transforms.xnnpack.optimize.split_fully_connected import SplitFullyConnectedPass
from xir.transforms.xnnpack.schedule.band_spatial import BandSpatialPass
from xir.transforms.xnnpack.schedule.widen_depthwise import WidenDepthwisePass
from xir.transforms.xnnpack.schedule.winograd_conv2d import WinogradConv2dPass
from xir.transforms.xnnpack.select.drop_softmax_guards import DropSoftmaxGuardsPass


@dataclass(frozen=True)
class Fault:
    """One mistake in a pass, and graphs that it breaks."""

    module: str
    """Below `xir`."""
    before: str
    after: str
    compiler_pass: XirPass
    texts: Callable[[], Iterable[str]]
    reading: Reading = EXACT


NUMBERS = Reading(weights=False)
PATTERNS = "dialects.xnnpack.canonicalization_patterns"
OPTIMIZE = "transforms.xnnpack.optimize"

FAULTS = {
    "transposes composed the other way": Fault(
        PATTERNS,
        "[ints(inner.perm)[axis] for axis in ints(op.perm)]",
        "[ints(op.perm)[axis] for axis in ints(inner.perm)]",
        CanonicalizePass(),
        lambda: canonicalize.transposes(3),
    ),
    "any transpose taken for none": Fault(
        PATTERNS,
        "list(ints(op.perm)) == list(range(len(op.perm)))",
        "ints(op.perm)[0] == 0",
        CanonicalizePass(),
        lambda: canonicalize.transposes(3),
    ),
    "the flag of a product kept": Fault(
        PATTERNS,
        "if op.transpose_b is None:",
        "if op.transpose_b is not None:",
        CanonicalizePass(),
        lambda: canonicalize.products(2),
    ),
    "a clamp's bound dropped": Fault(
        f"{OPTIMIZE}.fuse_conv_relu",
        "high = min(producer.bounds[1], op.bounds[1])",
        "high = op.bounds[1]",
        FuseConvReluPass(),
        clamps.on_numbers,
    ),
    "integers that end too early": Fault(
        f"{OPTIMIZE}.fuse_conv_relu",
        "return max(low, clamp.bounds[0]) < lowest or min(high, clamp.bounds[1]) > highest",
        "return max(low, clamp.bounds[0]) < lowest",
        FuseConvReluPass(),
        clamps.on_integers,
        Reading(rounds=False),
    ),
    "a constant permuted before it has all dimensions": Fault(
        f"{OPTIMIZE}.propagate_layout",
        "array.reshape((1,) * (len(layout) - array.ndim) + array.shape)",
        "array.reshape(array.shape + (1,) * (len(layout) - array.ndim))",
        PropagateLayoutPass(),
        lambda: layouts.between_transposes(3, layouts.BETWEEN["row"]),
    ),
    "offsets that stay where the layout moves": Fault(
        f"{OPTIMIZE}._layouts",
        "u32s([ints(values)[axis] for axis in layout])",
        "u32s(ints(values))",
        PropagateLayoutPass(),
        lambda: layouts.between_transposes(3, layouts.BETWEEN["slice"]),
    ),
    "an inverse left out": Fault(
        f"{OPTIMIZE}.propagate_layout",
        "step = compose(inverse(held.perm), layout)",
        "step = compose(held.perm, layout)",
        PropagateLayoutPass(),
        layouts.joined,
    ),
    "rows cut one later": Fault(
        f"{OPTIMIZE}.bubble_up_slice",
        '"offsets": u32s(offsets)',
        '"offsets": u32s([max(offset - 1, 0) for offset in offsets])',
        BubbleUpSlicePass(),
        lambda: slices.sliced(slices.MADE["unary"]),
    ),
    "columns of another slice": Fault(
        f"{OPTIMIZE}.split_fully_connected",
        "axis = 0 if op.transpose_weights is None else 1",
        "axis, rows = (0 if op.transpose_weights is None else 1), rows[::-1]",
        SplitFullyConnectedPass(),
        lambda: slices.split(4, False, True, ""),
    ),
    "a filter padded on the other side": Fault(
        f"{OPTIMIZE}.fold_width_stride",
        "missing = (skipped, kernel_width * step - skipped - op.kernel_width)",
        "missing = (kernel_width * step - skipped - op.kernel_width, skipped)",
        FoldWidthStridePass(),
        stride.convolutions,
        Reading(rounds=False),
    ),
    "moves of integers with another zero": Fault(
        f"{OPTIMIZE}._move_conversions",
        "return bool(dequantized(integers, element) == number)",
        "return True",
        FoldQdqPass(),
        lambda: qdq.moves(qdq.MOVES["pad by another number"]),
    ),
    "a clamp that leaves out integers dropped": Fault(
        f"{OPTIMIZE}._fold_quantize",
        "return stored_bounds(bounds, element) == range_of(element)",
        "return stored_bounds(bounds, element)[0] == range_of(element)[0]",
        FoldQdqPass(),
        lambda: qdq.moves(qdq.MOVES["clamp"]),
    ),
    "a bias one too large": Fault(
        f"{OPTIMIZE}._fold_quantize",
        "integers = np.rint(numbers / scales)",
        "integers = np.rint(numbers / scales) + 1",
        FoldQdqPass(),
        qdq.weighted,
        NUMBERS,
    ),
    "a rounding that the program asks for left out": Fault(
        f"{OPTIMIZE}.propagate_converts",
        "return UNASKED in op.attributes and element_type",
        "return element_type",
        PropagateConvertsPass(),
        converts.conversions,
    ),
    "an offset that a factor does not reach": Fault(
        f"{OPTIMIZE}.fold_affine",
        "bias = arrays[1] * affine.factor + affine.offset",
        "bias = arrays[1] + affine.offset",
        FoldAffinePass(),
        affine.behind,
        NUMBERS,
    ),
    "features scaled before their offset counts": Fault(
        f"{OPTIMIZE}.fold_affine",
        "(by_feature * affine.offset).sum(axis=1",
        "(by_feature * affine.offset).sum(axis=0",
        FoldAffinePass(),
        affine.in_front,
        NUMBERS,
    ),
    "weights for a new channel that are not zero": Fault(
        "transforms.xnnpack.schedule.pad_channels",
        "padded = np.zeros(self.grown_shape(numbers.shape, axes), np.float32)",
        "padded = np.ones(self.grown_shape(numbers.shape, axes), np.float32)",
        channels.PADDED,
        channels.products,
    ),
    "rows of a band one too late": Fault(
        "transforms.xnnpack.schedule._bands",
        "begin = first * stride - ints(op.padding)[0]",
        "begin = first * stride - ints(op.padding)[0] + (first > 0)",
        BandSpatialPass(max_arena=150),
        bands.chains,
    ),
    "weights in fp32 one step too large": Fault(
        "transforms.xnnpack.schedule._widening",
        "numbers = dequantized(numbers, element)",
        "numbers = dequantized(numbers + 1, element)",
        WidenDepthwisePass(cpu="x86"),
        depthwise.depthwise,
        NUMBERS,
    ),
    "bounds lost in fp32": Fault(
        "transforms.xnnpack.schedule._widening",
        "properties=dict(op.properties),",
        "properties={},",
        widened.WIDENED,
        widened.products,
        NUMBERS,
    ),
    "a bias at another product": Fault(
        "transforms.xnnpack.composed_convolutions.nodes",
        "return np.multiply.outer(shares.T, values).astype(np.float32)",
        "return np.multiply.outer(shares.T[::-1], values).astype(np.float32)",
        WinogradConv2dPass(form=(2, 2)),
        winograd.convolutions,
        NUMBERS,
    ),
    "a product's bounds dropped": Fault(
        "transforms.xnnpack.finish.make_bit_exact",
        "if op.is_bounded:",
        "if not op.is_bounded:",
        MakeBitExactPass(),
        exact.products,
        NUMBERS,
    ),
    "an average by one pixel too few": Fault(
        "transforms.xnnpack.finish.make_bit_exact",
        "1 / (height * width)",
        "1 / (height * width - 1)",
        MakeBitExactPass(),
        exact.averages,
        NUMBERS,
    ),
    "a copy that turns dimensions": Fault(
        "transforms.xnnpack.finish.isolate_tables",
        "perm = u32s(range(rank_of(value)))",
        "perm = u32s(range(rank_of(value))[::-1])",
        IsolateTablesPass(),
        tables.long_chains,
    ),
    "the other operand copied": Fault(
        "transforms.xnnpack.known_faults.fault",
        "if operand is value:",
        "if operand is not value:",
        AvoidXnnpackFaultsPass(),
        faults.extremes,
        NUMBERS,
    ),
    "operands that count for nothing": Fault(
        "transforms.general.cse",
        "operands = tuple([id(operand) for operand in op.operands])",
        "operands = tuple(sorted([id(operand) for operand in op.operands]))",
        CsePass(),
        equal.pairs,
        NUMBERS,
    ),
    "dimensions that were neighbours before": Fault(
        "transforms.edge.collapse_dims",
        "if runs and behind.get(runs[-1][-1]) == dim:",
        "if runs and behind.get(dim) == runs[-1][-1]:",
        dims.FEW,
        dims.permuted,
        NUMBERS,
    ),
    "one dimension merged with another kind": Fault(
        "transforms.edge.collapse_dims",
        "merged(shape, [range(dim), [dim], range(dim + 1, len(shape))])",
        "merged(shape, [[*range(1, dim), 0][:dim], range(dim, dim + 1), range(dim + 1, len(shape))][::-1])",
        dims.FEW,
        dims.along,
        NUMBERS,
    ),
    "a slice without its step": Fault(
        "transforms.edge.put_slices",
        "positions = range(shape[dim])[start:end:step]",
        "positions = range(shape[dim])[start:][: len(range(shape[dim])[start:end:step])]",
        PutSlicesPass(),
        puts.slices,
    ),
    "a row from the other end": Fault(
        "transforms.edge.put_slices",
        "positions = [op.index % shape[dim]]",
        "positions = [abs(op.index) % shape[dim]]",
        PutSlicesPass(),
        puts.rows,
    ),
    "a padding that no stride counts": Fault(
        "transforms.edge.crop_padding",
        "behind = padding - dropped * stride",
        "behind = padding - dropped",
        CropPaddingPass(),
        cropped.convolutions,
        Reading(sizes=(5,)),
    ),
    "a factor one too large": Fault(
        "transforms.edge.raise_items",
        'return edge.SubTensorOp(self=item, other=op.self, alpha=op.argument("alpha"))',
        'return edge.SubTensorOp(self=item, other=op.self, alpha=op.argument("alpha") + 1)',
        RaiseItemsPass(),
        items.numbers,
    ),
    "heads that are repeated in turn": Fault(
        "transforms.edge.raise_grouped_query",
        "wrap_dim(unsqueeze.dim, rank + 1) != rank - 2",
        "wrap_dim(unsqueeze.dim, rank + 1) not in (rank - 2, rank - 3)",
        RaiseGroupedQueryPass(),
        heads.attention,
    ),
    "dimensions split in the other order": Fault(
        "transforms.edge.unmerge_dynamic_dims",
        "edge.PermuteOp(self=self.viewed(op, root, sources), dims=order)",
        "edge.PermuteOp(self=self.viewed(op, root, sources), dims=order[::-1])",
        UnmergeDynamicDimsPass(),
        merged.heads,
        Reading(sizes=(2, 3)),
    ),
    "the rest of a table from a row earlier": Fault(
        "transforms.edge.fold_lookups",
        "self.table(op)[number:]",
        "self.table(op)[number - 1 :]",
        FoldLookupsPass(),
        lookups.past_padding,
        lookups.EACH,
    ),
    "positions that begin one later": Fault(
        "transforms.edge.fold_positions",
        "value = build.call(edge.AddScalarOp(self=value, other=first))",
        "value = build.call(edge.AddScalarOp(self=value, other=first + 1))",
        FoldPositionsPass(),
        positions.lines,
        Reading(sizes=(3,)),
    ),
    "halves of a byte in the other order": Fault(
        "transforms.edge.fuse_quantized_embedding",
        "shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)",
        "shifts = (0, 4) if bits == 4 else (0, 2, 4, 6)",
        FuseQuantizedEmbeddingPass(),
        embedding.tables,
        NUMBERS,
    ),
    "weights that are not transposed": Fault(
        "transforms.edge.raise_int_mm",
        '((numbers.T, "integers"), (by_channel, "scales"))',
        '((numbers, "integers"), (by_channel, "scales"))',
        RaiseIntMmPass(),
        int_mm.weights,
        NUMBERS,
    ),
    "a mask that shows one row taken for all": Fault(
        "transforms.xnnpack.select.drop_softmax_guards",
        "(values > -inf).any(axis=-1).all()",
        "(values > -inf).any(axis=-1).any()",
        DropSoftmaxGuardsPass(),
        guards.guarded,
        NUMBERS,
    ),
    "rows that are hidden again in part": Fault(
        "transforms.edge.fill_hidden_rows",
        "(hidden & ~replaced).any()",
        "(hidden & ~replaced).all()",
        FillHiddenRowsPass(),
        hidden.hidden,
        NUMBERS,
    ),
    "rows that see nothing but count": Fault(
        "transforms.edge.lower_masks",
        "rows = build.call(edge.MulTensorOp(self=result, other=seen), shape_of(result))",
        "rows = build.call(edge.MulTensorOp(self=result, other=build.times(seen, 0.0)), shape_of(result))",
        LowerMasksPass(),
        masks.attention,
        masks.EACH,
    ),
    "a comparison that leaves out the number itself": Fault(
        "transforms.edge._float_masks",
        'return self.inverted(self.compared("edge.gt", value, number))',
        'return self.inverted(self.compared("edge.gt", value, number - 1))',
        LowerMasksPass(),
        masks.causal,
        Reading(weights=False, sizes=(3,)),
    ),
    "keys up to the first query's last": Fault(
        "transforms.xnnpack.optimize.skip_masked_keys",
        "max(behind for _, behind in ranges)",
        "min(behind for _, behind in ranges)",
        skipped.SKIP,
        skipped.halves,
        NUMBERS,
    ),
    "a prefix that ends one key early": Fault(
        "transforms.edge.attend_live_prefix",
        "edge.ExecutorchPrimAddScalarOp(a=last, b=hidden.offset + 1)",
        "edge.ExecutorchPrimAddScalarOp(a=last, b=hidden.offset)",
        AttendLivePrefixPass(block=1),
        prefixes.comparisons,
        prefixes.EACH,
    ),
    "a prefix that begins later": Fault(
        "transforms.edge.fuse_prefix_attention",
        "op.step == 1 and op.start == 0",
        "op.step == 1 and op.start in (0, 1)",
        fused.FUSE,
        fused.prefixes,
        Reading(sizes=(2,)),
    ),
    "a bias that the norm does not scale": Fault(
        "transforms.edge.fold_batch_norm",
        'static_array(bias, "bias", ctx) * scale',
        'static_array(bias, "bias", ctx)',
        FoldBatchNormPass(),
        norms.norms,
        NUMBERS,
    ),
    "an axis of scales that moves the other way": Fault(
        "transforms.edge.fold_constants",
        "return [dim % rank for dim in op.dims].index(axis)",
        "return op.dims[axis] % rank",
        FoldConstantsPass(),
        constants.dequantized,
        NUMBERS,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_disproved(name: str) -> None:
    fault = FAULTS[name]
    with planted(fault.module, fault.before, fault.after):
        assert any(is_disproved(text, fault) for text in fault.texts())


def test_passes_that_say_so_are_proved() -> None:
    say_so = {name for name, load in PASSES.items() if load().proved}
    assert say_so == {type(fault.compiler_pass).name for fault in FAULTS.values()}


TESTED_ALONE = {
    "rewrites no computation": (
        "check-bit-exact check-delegates check-quantization check-xnnpack drop-dead-resources form-delegates"
        " mark-delegates plan-memory separate-packed-constants"
    ),
    "goes from one IR to another by rules, each of which is tested": (
        "decompose-for-kernels legalize-to-xnnpack lower-to-pte partition-xnnpack raise-from-pte"
    ),
    "sorts rows by what a router computes, of whose permutations a formula would have a case each": "densify-experts",
}
"""Why passes are tested and not proved."""


def test_every_pass_is_proved_or_has_a_reason() -> None:
    """A new pass needs a decision."""
    listed = " ".join(TESTED_ALONE.values()).split()
    assert sorted(listed) == sorted(name for name, load in PASSES.items() if not load().proved)


def is_disproved(text: str, fault: Fault) -> bool:
    """Whether there are values for which a graph computes something else; what the verifier refuses shows nothing."""
    with contextlib.suppress(DiagnosticError):
        return prove(text, fault.compiler_pass, reading=fault.reading).counterexample != ""
    return False
