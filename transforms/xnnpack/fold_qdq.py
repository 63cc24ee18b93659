"""Raise dequantise → node → quantise to one node on integers.

Rules build floating-point nodes between conversions. The pass first lets each conversion move to where it meets a node:
one that dequantises moves down over nodes that only move data, one that quantises up, so that data moves as integers.
A node between such conversions then is one node on integers if XNNPACK has it: the node is built with quantised types,
and its verifier says. What it refuses stays as it was, in floating point in the same subgraph.

A chain of elementwise nodes with one operand each is best left alone: XNNPACK makes one table look-up of everything
between two conversions, as `_tables.py` says. What then still computes in floating point is reported, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeGuard, TypeVar

import numpy as np
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType, f32, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import movement_of, rearranges
from xir.dialects.xnnpack.quantization import is_quantised, stored_bounds
from xir.ir.constants import constant_array, make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.transforms.analysis.static_tensor import dequantised, quantised, range_of, with_short_scales
from xir.transforms.xnnpack._stays_float import report_filter, report_floats

OpT = TypeVar("OpT", bound=Operation)

KNOWN_RANGES = {
    "sigmoid": UniformType.per_tensor(i8, f32, 1 / 256, -128),
    "tanh": UniformType.per_tensor(i8, f32, 1 / 128),
}
"""Functions whose results are in a range known beforehand, with the type that resolves it."""


@dataclass(frozen=True)
class FoldQdqPass(XirPass):
    """Turn nodes between dequantise and quantise into nodes on integers, where XNNPACK has them.

    Weights and biases become integers, and what no node takes as integers is dequantised now. A remark says of each op
    that stays in floating point why it does.

    Before:
    ```mlir
    %1 = xnnpack.convert %0 : tensor<1x4x!quant.uniform<i8:f32, 0.5>> -> tensor<1x4xf32>
    %2 = xnnpack.binary add %1, %1 : tensor<1x4xf32>, tensor<1x4xf32> -> tensor<1x4xf32>
    %3 = xnnpack.convert %2 : tensor<1x4xf32> -> tensor<1x4x!quant.uniform<i8:f32, 1.0>>
    ```
    After:
    ```mlir
    %3 = xnnpack.binary add %0, %0
         : tensor<1x4x!quant.uniform<i8:f32, 0.5>>, tensor<1x4x!quant.uniform<i8:f32, 0.5>>
           -> tensor<1x4x!quant.uniform<i8:f32, 1.0>>
    ```
    """

    uses_origins: ClassVar[bool] = True

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Fold in every subgraph of the module."""
        for subgraph in list(op.walk()):
            if isinstance(subgraph, xnnpack.SubgraphOp):
                Folder(ctx, subgraph.body.block).run()


class Folder:
    """Folds one block. Ops are looked at once, in program order."""

    def __init__(self, ctx: XirContext, block: Block):
        self.ctx = ctx
        self.block = block
        self.reported: set[Operation] = set()
        """The nodes whose filters were said to stay in floating point."""

    def run(self) -> None:
        """Move the conversions to the nodes, fold, and clear up."""
        if not any(isinstance(op, xnnpack.ConvertOp) for op in self.block.ops):
            return
        for op in list(self.block.ops):
            self.sink_dequantise(op)
        for op in list(self.block.ops):
            if isinstance(op, xnnpack.ConvertOp) and op.parent is not None and is_quantise(op):
                self.fold_quantise(op)
        for op in list(self.block.ops):
            if isinstance(op, xnnpack.WeightedOp):
                self.fold_dynamic(op)
        self.erase_unused()
        report_floats(self.block, self.ctx)
        for op in list(self.block.ops):
            if isinstance(op, xnnpack.WeightedOp):
                self.fold_weights(op)
        self.erase_unused()
        for op in list(self.block.ops):
            if isinstance(op, xnnpack.ConvertOp):
                self.fold_leftover(op)
        self.erase_unused()

    def erase_unused(self) -> None:
        """Erase what nothing reads any more, such as the float form of a filter: it is not worth computing."""
        for op in reversed(list(self.block.ops)):
            if op.results and all(result.first_use is None for result in op.results):
                self.erase(op)

    # Moving conversions

    def sink_dequantise(self, op: Operation) -> None:
        """move(dequantise(x)) → dequantise(move(x)), which moves a quarter of the bytes."""
        if not is_move(op):
            return
        sources = [dequantised_from(value) for value in op.operands]
        first = sources[0]
        if first is None or any(source is None or element_type(source) != element_type(first) for source in sources):
            return
        element = element_type(first)
        if not is_activation(first) or not keeps_numbers(op, element):
            return
        moved = self.rebuilt(op, [source for source in sources if source is not None], [element])
        if moved is not None:
            self.replace(op, [self.convert(moved.results[0], f32, op)])

    def fold_quantise(self, op: xnnpack.ConvertOp) -> None:
        """Make the node before a quantise op compute integers, or move the op up before the node."""
        pending = [op]
        while pending:
            op = pending.pop()
            producer, wanted = op.input.owner, element_type(op.output)
            source = dequantised_from(op.input)
            if source is not None and element_type(source) == wanted:
                self.pass_on(op, source)
                continue
            if not isinstance(producer, xnnpack.NodeOp) or not op.input.has_one_use() or source is not None:
                continue
            assert isinstance(wanted, UniformType)
            if (folded := self.on_integers(producer, wanted)) is not None:
                self.replace(op, folded.results)
                self.erase(producer)
            elif is_move(producer) or isinstance(producer, xnnpack.ClampOp):
                pending += self.hoist(op, producer, wanted)

    def hoist(self, op: xnnpack.ConvertOp, move: xnnpack.NodeOp, wanted: UniformType) -> list[xnnpack.ConvertOp]:
        """quantise(move(x)) → move(quantise(x)): rounding is the same before and after. Returns the new conversions."""
        if isinstance(move, xnnpack.ClampOp) and covers(move.bounds, wanted):
            quantise = self.convert(move.input, wanted, move)
            self.replace(op, [quantise])
            self.erase(move)
            return [conversion(quantise)]
        quantised_operands = {value: self.convert(value, wanted, move) for value in dict.fromkeys(move.operands)}
        moved = self.rebuilt(move, [quantised_operands[value] for value in move.operands], [wanted])
        if moved is None:
            for value in quantised_operands.values():
                self.erase(conversion(value))
            return []
        self.replace(op, moved.results)
        self.erase(move)
        return [conversion(value) for value in quantised_operands.values()]

    # Folding

    def on_integers(self, node: xnnpack.NodeOp, wanted: UniformType) -> xnnpack.NodeOp | None:
        """The node with quantised operands and a result of type `wanted`; None if there is none in XNNPACK."""
        # XNNPACK's kernel for a leaky ReLU on integers multiplies by factors in 1/256; a look-up is exact, and as fast.
        if len(node.results) != 1 or isinstance(node, xnnpack.LeakyReluOp):
            return None
        operands: list[SSAValue] = []
        for value in node.operands:
            if isinstance(node, xnnpack.WeightedOp) and value is node.bias:
                continue
            source = self.integers_of(value, node)
            if source is None:
                return None
            operands.append(source)
        if isinstance(node, xnnpack.WeightedOp) and node.bias is not None:
            bias = self.integer_bias(node.bias, operands[0], operands[1], node)
            if bias is None:
                return None
            operands.append(bias)
        return self.rebuilt(node, operands, [wanted])

    def integers_of(self, value: SSAValue, node: xnnpack.NodeOp) -> SSAValue | None:
        """The integers that an operand of `node` was dequantised from, or can be computed in."""
        source = dequantised_from(value)
        if source is not None:
            return source
        owner = value.owner
        if isinstance(node, xnnpack.WeightedOp) and value is node.filter and isinstance(owner, xnnpack.ConstantOp):
            return self.signs_of(owner, node)
        if not isinstance(node, xnnpack.BinaryOp):
            return None
        if isinstance(owner, xnnpack.ConstantOp) and np.prod(shape_of(value)) > 1:
            return self.integer_constant(owner, node)
        if isinstance(owner, xnnpack.UnaryOp) and value.has_one_use() and owner.kind.data in KNOWN_RANGES:
            source = dequantised_from(owner.input)
            if source is not None and is_activation(source):
                made = self.rebuilt(owner, [source], [KNOWN_RANGES[owner.kind.data]])
                return None if made is None else made.results[0]
        return None

    def signs_of(self, op: xnnpack.ConstantOp, node: xnnpack.WeightedOp) -> SSAValue | None:
        """A filter that sums or picks elements: the weights of each channel are one number, its negative or 0."""
        axis = node.channel_axis
        numbers = constant_array(op.value, self.ctx, op)
        magnitudes = np.abs(np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1))
        scales = magnitudes.max(1)
        if not scales.all() or ((magnitudes != 0) & (magnitudes != scales[:, None])).any():
            return None
        element = UniformType.per_axis(i8, f32, axis, scales.astype(np.float64).tolist())
        return self.constant(np.sign(numbers).astype(np.int8), element, op, node)

    def integer_constant(self, op: xnnpack.ConstantOp, node: xnnpack.NodeOp) -> SSAValue | None:
        """A constant operand of an elementwise node in integers, over the range of its numbers."""
        numbers = constant_array(op.value, self.ctx, op)
        low, high = min(float(numbers.min()), 0.0), max(float(numbers.max()), 0.0)
        if not np.isfinite([low, high]).all() or low == high:
            return None
        element = range_type(low, high)
        array = quantised(numbers, element, range_of(element))
        return self.constant(array, element, op, node)

    def integer_bias(self, bias: SSAValue, value: SSAValue, kernel: SSAValue, node: xnnpack.NodeOp) -> SSAValue | None:
        """A constant bias as 32-bit integers with the scale of input · filter."""
        source, weights = element_type(value), element_type(kernel)
        if not isinstance(bias.owner, xnnpack.ConstantOp) or not isinstance(element_type(bias), Float32Type):
            return None
        if not isinstance(source, UniformType) or not isinstance(weights, UniformType) or weights.is_blockwise:
            return None
        numbers = constant_array(bias.owner.value, self.ctx, bias.owner).astype(np.float64)
        scales = np.float32(source.scale) * weights.scale_array().astype(np.float32)
        if not (scales >= np.finfo(np.float32).smallest_normal).all():
            return None
        array = np.clip(np.rint(numbers / scales), -(2**31), 2**31 - 1).astype(np.int32)
        if weights.is_per_tensor:
            element = UniformType.per_tensor(i32, f32, float(scales.item()))
        else:
            element = UniformType.per_axis(i32, f32, 0, scales.astype(np.float64).tolist())
        return self.constant(array, element, bias.owner, node)

    def fold_dynamic(self, node: xnnpack.WeightedOp) -> None:
        """Give a node whose input is quantised at run time the integers of that, and its filter in integers."""
        kernel = dequantised_from(node.filter)
        source = None if kernel is None else self.quantised_at_run_time(node)
        if kernel is None or source is None:
            return
        rest = [] if node.bias is None else [node.bias]
        folded = self.rebuilt(node, [source, self.as_held(kernel, node), *rest], [element_type(node.output)])
        if folded is not None:
            self.replace(node, folded.results)
        else:
            report_filter(node, element_type(source), element_type(kernel), self.ctx)
            self.reported.add(node)

    def fold_weights(self, node: xnnpack.WeightedOp) -> None:
        """Give a node whose input stays in floating point its filter in integers, and add the bias behind it.

        XNNPACK's kernels would multiply the bias by the filter's scales (`src/f32-qc8w-gemm`).
        """
        kernel = dequantised_from(node.filter)
        if kernel is None:
            return
        held, result = self.as_held(kernel, node), element_type(node.output)
        is_clamped = node.bias is not None and node.bounds != (-math.inf, math.inf)
        folded = None if is_clamped else self.rebuilt(node, [node.input, held], [result])
        if folded is None:
            if node not in self.reported and dequantised_from(node.input) is None:
                report_filter(node, element_type(node.input), element_type(held), self.ctx)
            return
        product = folded.results[0]
        if node.bias is not None:
            properties = {"kind": xnnpack.BinaryKindAttr("add")}
            add = xnnpack.BinaryOp.create(
                operands=[product, node.bias], result_types=[product.type], properties=properties
            )
            product = self.insert(add, node, node).output
        self.replace(node, [product])

    def as_held(self, kernel: SSAValue, node: xnnpack.WeightedOp) -> SSAValue:
        """A constant filter with the scales that XNNPACK has where the input's are not known: one for each output
        channel also where one serves all, and those of blocks in bf16."""
        element, owner = element_type(kernel), kernel.owner
        if not isinstance(element, UniformType) or not isinstance(owner, xnnpack.ConstantOp):
            return kernel
        wanted = element
        if element.is_per_tensor:
            axis = node.channel_axis
            scales = [element.scale] * shape_of(kernel)[axis]
            zero_points = [element.zero_point] * len(scales)
            wanted = UniformType.per_axis(element.storage, f32, axis, scales, zero_points, range_of(element))
        elif element.is_blockwise:
            wanted = with_short_scales(element)
        if wanted == element:
            return kernel
        made = xnnpack.ConstantOp.create(
            properties=dict(owner.properties), result_types=[TensorType(wanted, shape_of(kernel))]
        )
        return self.insert(made, owner, node).results[0]

    def quantised_at_run_time(self, node: xnnpack.WeightedOp) -> SSAValue | None:
        """The node's input quantised by rows, if it was quantised at run time, be it before it was moved."""
        moves: list[Operation] = []
        value = node.input
        while isinstance(move := value.owner, Operation) and (rearranges(move) or pads_with_zeros(move)):
            moves.append(move)
            value = move.operands[0]
        source = dequantised_from(value)
        if source is None or not isinstance(element_type(source), xnnpack.DynamicType):
            return None
        value = conversion(source).input
        for move in reversed(moves):
            made = self.rebuilt(move, [value], [element_type(value)], before=node)
            assert made is not None, "a move of floating-point numbers is one in any place"
            value = made.results[0]
        rows = 1 if isinstance(node, xnnpack.FullyConnectedOp) else 3
        return self.convert(value, xnnpack.DynamicType.of(rows), node)

    def fold_leftover(self, op: xnnpack.ConvertOp) -> None:
        """Dequantise what no node took as integers: a constant now; numbers quantised at run time never were."""
        source = op.input.owner
        if isinstance(source, xnnpack.ConstantOp) and isinstance(element := element_type(op.input), UniformType):
            array = dequantised(storage_array(source.value, self.ctx, source), element)
            elements = make_dense(array, self.ctx, constant_name(source))
            self.replace(op, [self.insert(xnnpack.ConstantOp(elements), source, op).results[0]])
        elif isinstance(source, xnnpack.ConvertOp) and isinstance(element_type(op.input), xnnpack.DynamicType):
            self.pass_on(op, source.input)

    # Building

    def rebuilt(
        self,
        op: Operation,
        operands: Sequence[SSAValue],
        elements: Sequence[Attribute],
        before: Operation | None = None,
    ) -> xnnpack.NodeOp | None:
        """A node over other operands, its results of other element types; None if XNNPACK has no such node."""
        types = [TensorType(each, shape_of(result)) for each, result in zip(elements, op.results, strict=True)]
        properties = dict(op.properties)
        # A clamp keeps a bound: XNNPACK would take one without for nothing to do, whatever its types.
        if isinstance(op, xnnpack.BoundedOp) and not isinstance(op, xnnpack.ClampOp) and is_scaled(elements[0]):
            drop_implied_bounds(properties, op.bounds, elements[0])
        made = type(op).create(operands=operands, result_types=types, properties=properties)
        assert isinstance(made, xnnpack.NodeOp)
        try:
            made.verify_()
        except VerifyException:
            made.erase()
            return None
        return self.insert(made, op, before or op)

    def convert(self, value: SSAValue, element: Attribute, like: Operation) -> SSAValue:
        """`value` converted to another element type, in front of `like`."""
        result = TensorType(element, shape_of(value))
        return self.insert(xnnpack.ConvertOp.create(operands=[value], result_types=[result]), like, like).results[0]

    def constant(
        self, array: np.ndarray, element: UniformType, like: xnnpack.ConstantOp, before: Operation
    ) -> SSAValue:
        """Stored integers as a constant, in front of `before`."""
        elements = make_dense(array, self.ctx, constant_name(like), element.storage)
        return self.insert(xnnpack.ConstantOp(elements, TensorType(element, array.shape)), like, before).results[0]

    def insert(self, op: OpT, like: Operation, before: Operation) -> OpT:
        """Put `op`, which stands for `like`, in front of another."""
        inherit(op, like)
        self.block.insert_op_before(op, before)
        return op

    def replace(self, op: Operation, values: Iterable[SSAValue]) -> None:
        """Put values in the place of an op's results, and erase it."""
        for old, new in zip(op.results, values, strict=True):
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
        self.erase(op)

    def erase(self, op: Operation) -> None:
        op.detach()
        op.erase()

    def pass_on(self, op: xnnpack.ConvertOp, value: SSAValue) -> None:
        """Put `value` in the place of a conversion; a copy of it, where that makes it an output of its own."""
        if is_output(op.output) and (not isinstance(value.owner, xnnpack.NodeOp) or is_output(value)):
            copied = xnnpack.CopyOp.create(operands=[value], result_types=[op.output.type])
            value = self.insert(copied, op, op).output
        self.replace(op, [value])


def is_output(value: SSAValue) -> bool:
    """Whether a value is an output of the subgraph, which has to be a node's, and one output only."""
    return any(isinstance(use.operation, xnnpack.YieldOp) for use in value.uses)


def dequantised_from(value: SSAValue) -> SSAValue | None:
    """The quantised value that a conversion to floating point made `value` from."""
    owner = value.owner
    if not isinstance(owner, xnnpack.ConvertOp) or not isinstance(element_type(owner.output), Float32Type):
        return None
    return owner.input if is_quantised(element_type(owner.input)) else None


def is_scaled(element: Attribute) -> TypeGuard[UniformType]:
    """Whether an element type is quantised with known scales."""
    return isinstance(element, UniformType)


def conversion(value: SSAValue) -> xnnpack.ConvertOp:
    """The conversion that makes `value`."""
    assert isinstance(value.owner, xnnpack.ConvertOp)
    return value.owner


def is_quantise(op: xnnpack.ConvertOp) -> bool:
    """Whether a conversion rounds numbers to integers with a known scale."""
    return isinstance(element_type(op.input), Float32Type) and isinstance(element_type(op.output), UniformType)


def is_activation(value: SSAValue) -> bool:
    """Whether a value is quantised by tensor."""
    element = element_type(value)
    return isinstance(element, UniformType) and element.is_per_tensor


def is_move(op: Operation) -> bool:
    """Whether a node gives elements of its operands, or constants, without computing: rounding goes before or after."""
    return movement_of(op) is not None


def pads_with_zeros(op: Operation) -> bool:
    """Whether a node adds zeros, which are in the range of any numbers that are quantised at run time."""
    return isinstance(op, xnnpack.StaticConstantPadOp) and op.padding_value.value.data == 0


def keeps_numbers(op: Operation, element: Attribute) -> bool:
    """Whether a move gives the same numbers on integers: its constants are among those that integers stand for."""
    assert isinstance(element, UniformType)
    if isinstance(op, xnnpack.StaticConstantPadOp):
        number = np.array([op.padding_value.value.data], np.float32)
        integers = quantised(number, element, range_of(element))
        return bool(dequantised(integers, element) == number)
    return not isinstance(op, xnnpack.BoundedOp) or op.bounds == (float("-inf"), float("inf"))


def covers(bounds: tuple[float, float], element: UniformType) -> bool:
    """Whether bounds leave out no integer of a type."""
    return stored_bounds(bounds, element) == range_of(element)


def drop_implied_bounds(properties: dict[str, Attribute], bounds: tuple[float, float], element: UniformType) -> None:
    """Remove output bounds that the integers of a type keep anyway."""
    low, high = stored_bounds(bounds, element)
    if low == element.storage_min.data:
        properties.pop("output_min", None)
    if high == element.storage_max.data:
        properties.pop("output_max", None)


def range_type(low: float, high: float) -> UniformType:
    """The 8-bit type that resolves the numbers from `low` to `high`, zero among them."""
    scale = float(np.float32((high - low) / 255))
    return UniformType.per_tensor(i8, f32, scale, round(-128 - low / scale))


def constant_name(op: xnnpack.ConstantOp) -> str:
    """The name of a constant, to derive the names of its rewritten forms from."""
    handle = getattr(op.value, "resource_handle", None)
    return "constant" if handle is None else handle.data
