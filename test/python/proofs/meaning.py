"""What each node means as terms, from its op's definition: another implementation than `xir.evaluate`, and than ATen.

Functions that no pass looks into, such as exp, are uninterpreted: equal for equal operands, else anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from math import prod

import numpy as np
import z3
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from proofs.extended import Term, number, plus, softmax, times, within
from proofs.terms import Terms, along, each, largest, numbers, stored
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, shape_of
from xir.ir.annotations import UNASKED

UNARY: Mapping[str, Callable[[Term], Term]] = {
    "abs": lambda x: z3.If(x < 0, -x, x),
    "negate": lambda x: -x,
    "square": lambda x: x * x,
}

BINARY: Mapping[str, Callable[[Term, Term], Term]] = {
    "add": plus,
    "subtract": lambda x, y: x - y,
    "multiply": times,
    "maximum": lambda x, y: z3.If(x > y, x, y),
    "minimum": lambda x, y: z3.If(x < y, x, y),
}


def results_of(op: xnnpack.NodeOp, values: Mapping[SSAValue, Terms], rounds: bool) -> list[Terms]:
    """The results of a node: what moves elements of one type moves what is stored, all else computes with numbers."""
    types = {element_type(value) for value in (*op.operands, *op.results)}
    if len(types) == 1 and isinstance(op, MOVES):
        return [moved(op, [values[value] for value in op.operands])]
    operands = [numbers(values[value], element_type(value)) for value in op.operands]
    results = [moved(op, operands)] if isinstance(op, MOVES) else computed(op, operands)
    return [stored(result, element_type(value), rounds) for result, value in zip(results, op.results, strict=True)]


MOVES = (
    xnnpack.ConcatenateOp,
    xnnpack.ConvertOp,
    xnnpack.CopyOp,
    xnnpack.StaticConstantPadOp,
    xnnpack.StaticReshapeOp,
    xnnpack.StaticSliceOp,
    xnnpack.StaticTransposeOp,
)


def moved(op: Operation, operands: Sequence[Terms]) -> Terms:
    """The elements of operands at other places."""
    match op:
        case xnnpack.StaticTransposeOp():
            return operands[0].transpose(ints(op.perm))
        case xnnpack.StaticReshapeOp():
            return operands[0].reshape(shape_of(op.output))
        case xnnpack.StaticSliceOp():
            box = zip(ints(op.offsets), ints(op.sizes), strict=True)
            return operands[0][tuple(slice(start, start + size) for start, size in box)]
        case xnnpack.StaticConstantPadOp():
            filled = number(op.padding_value.value.data)
            if z3.is_int(operands[0].flat[0]):
                filled = stored(np.array(filled, object), element_type(op.output)).item()
            amounts = list(zip(ints(op.pre_paddings), ints(op.post_paddings), strict=True))
            return np.pad(operands[0], amounts, constant_values=filled)
        case xnnpack.ConcatenateOp():
            return np.concatenate(list(operands), op.axis.value.data)
        case xnnpack.ConvertOp() if is_asked_for(op):
            return each(z3.Function(str(element_type(op.output)), z3.RealSort(), z3.RealSort()), operands[0])
        case xnnpack.ConvertOp() | xnnpack.CopyOp():
            return operands[0]
        case _:
            raise NotImplementedError(op.name)


def is_asked_for(op: xnnpack.ConvertOp) -> bool:
    """Whether a program wants numbers rounded to 16 bits; a conversion of the compiler's own need not round."""
    is_narrowed = element_type(op.input) == f32 and element_type(op.output) in (f16, bf16)
    return is_narrowed and UNASKED not in op.attributes


def bounded(op: xnnpack.BoundedOp, value: Terms) -> list[Terms]:
    """A value within the node's bounds."""
    return [each(lambda term: within(term, *op.bounds), value)]


@singledispatch
def computed(op: Operation, operands: Sequence[Terms]) -> list[Terms]:
    """The results of a node that computes."""
    raise NotImplementedError(op.name)


@computed.register
def _(op: xnnpack.UnaryOp, operands: Sequence[Terms]) -> list[Terms]:
    anything = z3.Function(op.kind.data, z3.RealSort(), z3.RealSort())
    return [each(UNARY.get(op.kind.data, anything), operands[0])]


@computed.register
def _(op: xnnpack.BinaryOp, operands: Sequence[Terms]) -> list[Terms]:
    anything = z3.Function(op.kind.data, z3.RealSort(), z3.RealSort(), z3.RealSort())
    return bounded(op, each(BINARY.get(op.kind.data, anything), *operands))


@computed.register
def _(op: xnnpack.ClampOp, operands: Sequence[Terms]) -> list[Terms]:
    return bounded(op, operands[0])


@computed.register
def _(op: xnnpack.FullyConnectedOp, operands: Sequence[Terms]) -> list[Terms]:
    x, filter, *bias = operands
    return bounded(op, added(x @ (filter if op.transpose_weights is not None else filter.T), bias))


@computed.register
def _(op: xnnpack.BatchMatrixMultiplyOp, operands: Sequence[Terms]) -> list[Terms]:
    lhs, rhs = operands
    return [lhs @ (rhs if op.transpose_b is None else np.swapaxes(rhs, -1, -2))]


@computed.register
def _(op: xnnpack.Conv2dOp, operands: Sequence[Terms]) -> list[Terms]:
    x, filter, *bias = operands
    groups = op.groups.value.data
    pixels = windows(op, x, filter.shape[1:3], number(0.0))
    pixels = pixels.reshape(*pixels.shape[:3], groups, -1, *pixels.shape[4:])
    sums = np.einsum("nhwgckl,goklc->nhwgo", pixels, filter.reshape(groups, -1, *filter.shape[1:]))
    return bounded(op, added(sums.reshape(shape_of(op.output)), bias))


@computed.register
def _(op: xnnpack.DepthwiseConv2dOp, operands: Sequence[Terms]) -> list[Terms]:
    x, filter, *bias = operands
    pixels = windows(op, x, filter.shape[1:3], number(0.0))
    sums = np.einsum("nhwckl,klcm->nhwcm", pixels, filter.reshape(*filter.shape[1:3], x.shape[3], -1))
    return bounded(op, added(sums.reshape(shape_of(op.output)), bias))


@computed.register
def _(op: xnnpack.GlobalAveragePooling2dOp, operands: Sequence[Terms]) -> list[Terms]:
    (x,) = operands
    return bounded(op, (x.sum((-3, -2)) / (x.shape[-3] * x.shape[-2])).reshape(shape_of(op.output)))


@computed.register
def _(op: xnnpack.SoftmaxOp, operands: Sequence[Terms]) -> list[Terms]:
    return [along(softmax, operands[0], -1)]


@computed.register
def _(op: xnnpack.StaticReduceOp, operands: Sequence[Terms]) -> list[Terms]:
    """Sums only: z3 knows no others as one term."""
    assert op.kind.data == "sum", op.kind.data
    return [np.asarray(operands[0].sum(axis=ints(op.axes)), object).reshape(shape_of(op.output))]


@computed.register
def _(op: xnnpack.MaxPooling2dOp, operands: Sequence[Terms]) -> list[Terms]:
    (x,) = operands
    outside = z3.Real("nothing")
    rows = windows(op, x, ints(op.kernel), outside).reshape(-1, prod(ints(op.kernel)))
    parts = [largest(term for term in row if term is not outside) for row in rows]
    return bounded(op, np.array(parts, object).reshape(shape_of(op.output)))


def windows(
    op: xnnpack.ConvolutionOp | xnnpack.MaxPooling2dOp, x: Terms, kernel: Sequence[int], outside: Term
) -> Terms:
    """The pixels [N, H, W, C, kH, kW] that each pixel of the result is made of; beyond the image they are `outside`."""
    top, right, bottom, left = ints(op.padding)
    x = np.pad(x, [(0, 0), (top, bottom), (left, right), (0, 0)], constant_values=outside)
    (down, along), (rows, columns) = ints(op.stride), ints(op.dilation)
    reach = [(taps - 1) * apart + 1 for taps, apart in zip(kernel, (rows, columns), strict=True)]
    return sliding_window_view(x, reach, (1, 2))[:, ::down, ::along, :, ::rows, ::columns]


def added(value: Terms, bias: Sequence[Terms]) -> Terms:
    """A value and a bias, if there is one."""
    return each(lambda x, y: x + y, value, bias[0]) if bias else value
