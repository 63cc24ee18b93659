"""The sizes of a plan whose tensors have upper bounds alone: which are open, and how they follow from the inputs'.

A file says of a tensor that its sizes may be smaller than they are written, but not which of them. So all of an input's
sizes are taken to be open, but for those that no other number than the bound fits, such as the features of a linear
layer. What is taken to be open and is not costs speed alone; the other way round, results would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue, SSAValues
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, pte
from xir.dialects.delegate import GraphOp, InfersShapes
from xir.ir.annotations import DIM_NAMES, MAX_SHAPE, MAX_SHAPES
from xir.ir.location import Locatable
from xir.ir.shapes import Shape, same_shape
from xir.ir.symbolic_size import SymbolicSize, is_dynamic
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError
from xir.transforms.pte.raising.refusal import NotRaisedError

DYNAMIC_BOUND = 1
"""ExecuTorch's TensorShapeDynamism: the sizes are upper bounds. 2 is for tensors without bounds."""
MOST_TRIED = 100_000
"""So many ops are followed at most to find the sizes that an input may have; those that are not tried are open."""

Fixed = frozenset[tuple[int, int]]
"""Dimensions of inputs that have one size alone, though their tensors are open: (number of the input, dimension)."""


def is_open(tensor: pte.TensorOp) -> bool:
    """Whether the sizes of a tensor are bounds."""
    return tensor.shape_dynamism.value.data == DYNAMIC_BOUND


def check_bounded(tensor: pte.TensorOp, where: Locatable) -> pte.TensorOp:
    """The tensor; NotRaisedError for one that says nothing of its sizes."""
    if tensor.shape_dynamism.value.data > DYNAMIC_BOUND:
        raise NotRaisedError(where, "the sizes of a tensor are open, and have no bounds")
    return tensor


class OpenSizes:
    """Follows the sizes of a function that grows, from the inputs'."""

    def __init__(self, plan: pte.ExecutionPlanOp, fixed: Fixed):
        self._known = SymbolicSizes(plan)
        self._fixed = fixed

    def input_type(self, tensor: pte.TensorOp, number: int) -> TensorType:
        """The type of an input as memory has it, with its open sizes."""
        shape = list(tensor.shape)
        if is_open(tensor):
            shape = [
                size if size <= 1 or (number, dim) in self._fixed else DYNAMIC_INDEX for dim, size in enumerate(shape)
            ]
        return TensorType(tensor.tensor_type.element_type, [shape[dim] for dim in tensor.order])

    def begin(self, argument: BlockArgument, tensor: pte.TensorOp) -> dict[str, Attribute]:
        """Follow an input; the attributes that say how large it gets."""
        assert isinstance(argument.type, TensorType)
        if argument.type.has_static_shape():
            return {}
        names = [
            f"s{argument.index}_{dim}" if size == DYNAMIC_INDEX else ""
            for dim, size in enumerate(argument.type.get_shape())
        ]
        pairs = zip(names, argument.type.get_shape(), strict=True)
        shape = tuple(self._known.named_size(name) if name else size for name, size in pairs)
        self._known.state(argument, shape)
        for size, bound in zip(shape, tensor.memory_shape, strict=True):
            if is_dynamic(size):
                self._known.limits[size] = bound
        return {
            MAX_SHAPE: DenseArrayBase.from_list(i64, tensor.memory_shape),
            DIM_NAMES: ArrayAttr(map(StringAttr, names)),
        }

    def known(self, value: SSAValue) -> Shape:
        """The sizes of a value of the function."""
        return self._known.known(value)

    def complete(
        self, op: edge.EdgeOp, tensors: Sequence[pte.TensorOp], call: Operation, stated: Shape | None = None
    ) -> None:
        """Give an op's results the sizes that follow from its operands', for tensors that it is written to. The file's
        type stands where sizes are not open, as nothing else can be written there. `stated` is the shape of the first
        result of an op that infers none."""
        if not any(map(is_open, tensors)):
            return
        for value in op.symbols:
            self._known.computed(value)
        unknown = [_unknown(tensor) if is_open(tensor) else tensor.tensor_type for tensor in tensors]
        op.results = SSAValues(OpResult(type, op, number) for number, type in enumerate(unknown))
        if op.row.infer is None:
            self._state_bounds(op, tensors)
            shapes = [(DYNAMIC_INDEX,) * len(each.shape) for each in tensors]
            if stated is not None and len(stated) == len(shapes[0]):
                shapes[0] = stated
                type = _with_sizes(unknown[0], stated)
                op.results = SSAValues(OpResult(each, op, number) for number, each in enumerate((type, *unknown[1:])))
            op.attributes[DIM_NAMES] = ArrayAttr(ArrayAttr(map(_name, shape)) for shape in shapes)
        try:
            found = self._known.fitting(op)
            by_types = op.row.infer(op) if op.row.infer is not None else op.result_types
        except VerifyException as error:
            raise NotRaisedError(call, f"its sizes do not fit together: {error}") from None
        for tensor, result, type in zip(tensors, list(op.results), by_types, strict=True):
            if is_open(tensor):
                least = type if isinstance(type, TensorType) else result.type
                assert isinstance(least, TensorType)
                self._settle(result, found.get(result, least.get_shape()), tensor.shape, call, tensors)

    def _state_bounds(self, op: Operation, tensors: Sequence[pte.TensorOp]) -> None:
        op.attributes[MAX_SHAPES] = ArrayAttr(DenseArrayBase.from_list(i64, tensor.shape) for tensor in tensors)

    def _settle(
        self,
        result: SSAValue,
        found: Shape,
        bounds: Shape,
        call: Operation,
        tensors: Sequence[pte.TensorOp] = (),
    ) -> None:
        """Give a value its type, by what is known of its sizes. If no bound follows, `tensors` have those of its op's
        results."""
        assert isinstance(result.type, TensorType)
        if len(found) != len(bounds) or any(not is_dynamic(a) and a > b for a, b in zip(found, bounds, strict=True)):
            raise NotRaisedError(call, f"it computes sizes {list(found)} where the file has at most {list(bounds)}")
        sizes = [DYNAMIC_INDEX if is_dynamic(size) else size for size in found]
        made = Rewriter.replace_value_with_new_type(result, TensorType(result.type.element_type, sizes))
        try:
            self._known.bounds(made)
        except UnknownSizeError:
            op = made.owner
            if tensors and isinstance(op, Operation) and MAX_SHAPES not in op.attributes:
                self._state_bounds(op, tensors)
                self._known.forget(op)
                self._settle(made, found, bounds, call)
                return
            raise NotRaisedError(call, "it computes a tensor whose sizes have no bounds that follow") from None

    def complete_graph(self, graph: GraphOp, call: Operation) -> None:
        """Give the values of a delegate's graph the sizes that follow from its operands'."""
        pairs = zip(graph.operands, graph.block.args, strict=True)
        if all(_shape(operand) == _shape(argument) for operand, argument in pairs):
            return
        for operand, argument in zip(graph.operands, list(graph.block.args), strict=True):
            assert isinstance(argument.type, TensorType)
            made = Rewriter.replace_value_with_new_type(
                argument, _with_sizes(argument.type, self._known.known(operand))
            )
            self._known.state(made, self._known.known(operand))
        for op in graph.block.ops:
            if not isinstance(op, InfersShapes):
                if op.operands and op.results:
                    raise NotRaisedError(call, f"what sizes '{op.name}' computes is not known")
                continue
            try:
                shapes = self._known.fitting(op)
            except VerifyException as error:
                raise NotRaisedError(call, f"its sizes do not fit together: {error}") from None
            for result in list(op.results):
                assert isinstance(result.type, TensorType)
                bounds = result.type.get_shape()
                self._settle(result, shapes.get(result, (DYNAMIC_INDEX,) * len(bounds)), bounds, call)
        for result, inner in zip(list(graph.results), graph.block_outputs, strict=True):
            # The element types may differ: inside a graph integers have scales.
            assert isinstance(result.type, TensorType)
            Rewriter.replace_value_with_new_type(result, TensorType(result.type.element_type, _shape(inner)))


def _shape(value: SSAValue) -> Shape:
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()


def _unknown(tensor: pte.TensorOp) -> TensorType:
    return TensorType(tensor.tensor_type.element_type, [DYNAMIC_INDEX] * len(tensor.shape))


def _name(size: int) -> StringAttr:
    """How a dimension of a result is written: an expression of those of the inputs."""
    return StringAttr(str(size) if isinstance(size, SymbolicSize) and "#" not in str(size) else "")


def _with_sizes(type: TensorType, shape: Shape) -> TensorType:
    return TensorType(type.element_type, [DYNAMIC_INDEX if is_dynamic(size) else size for size in shape], type.encoding)


def number_type(op: edge.EdgeOp) -> Attribute:
    """The type of a number that an op computes: of a size, or of a tensor's element."""
    if op.row.infer is not None:
        return op.infer_result_types()[0]
    operand = op.operands[0].type
    assert isinstance(operand, TensorType)
    element = operand.element_type
    if element == i1:
        return i1
    return f64 if isinstance(element, AnyFloat) else i64


# Which sizes fit.


def fixed_dims(function: FuncOp) -> Fixed:
    """The open dimensions of a function's arguments that no other size than the bound fits."""
    tried = _Trials(function)
    return frozenset(
        (number, dim)
        for number, argument in enumerate(function.args)
        if isinstance(argument.type, TensorType)
        for dim, size in enumerate(argument.type.get_shape())
        if size == DYNAMIC_INDEX and tried.is_fixed(number, dim)
    )


class _Trials:
    """Tries sizes of a function's arguments, one dimension at a time with all others open."""

    def __init__(self, function: FuncOp):
        self._function = function
        self._ops = [op for op in function.body.block.ops if not isinstance(op, ReturnOp)]
        self._left = MOST_TRIED

    def is_fixed(self, number: int, dim: int) -> bool:
        """Whether a dimension has one size alone."""
        attributes = self._function.arg_attrs
        assert attributes is not None
        bounds = attributes.data[number].data[MAX_SHAPE]
        assert isinstance(bounds, DenseArrayBase)
        bound = int(bounds.get_values()[dim])
        # Nearly all that is open takes one less.
        return not any(self._fits(number, dim, size) for size in range(bound - 1, 0, -1))

    def _fits(self, number: int, dim: int, size: int) -> bool:
        """Whether nothing is known to refuse a size."""
        sizes = SymbolicSizes(self._function)
        argument = self._function.args[number]
        shape = sizes.known(argument)
        sizes.state(argument, (*shape[:dim], size, *shape[dim + 1 :]))
        for op in _followed(self._ops, sizes):
            self._left -= 1
            if self._left < 0:
                return True
            try:
                found = sizes.fitting(op)
            except VerifyException:
                return False
            for result in op.results:
                if not isinstance(result.type, TensorType):
                    sizes.numbers.setdefault(result, None)
                    continue
                known = found.get(result)
                if known is None:
                    continue
                if not same_shape(known, result.type.get_shape()):
                    return False
                if DYNAMIC_INDEX not in known:
                    sizes.state(result, known)
        return True


def _followed(ops: Sequence[Operation], sizes: SymbolicSizes) -> Iterator[Operation]:
    """Ops in order, those of graphs among them, whose arguments have the sizes of the operands."""
    for op in ops:
        if not isinstance(op, GraphOp):
            yield op
            continue
        for operand, argument in zip(op.operands, op.block.args, strict=True):
            sizes.state(argument, sizes.known(operand))
        for inner in op.block.ops:
            if isinstance(inner, InfersShapes):
                yield inner
        for result, value in zip(op.results, op.block_outputs, strict=True):
            sizes.state(result, sizes.known(value))
