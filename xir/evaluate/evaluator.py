"""Evaluates functions of edge ops, delegate regions and xnnpack subgraphs, side by side and inside each other.

Numbers are real ones, as far as fp64 goes: what the IR rounds to fp32 or fp16 is not rounded here, and quantised values
are integers that numbers are rounded to once, or not rounded either (`xir.evaluate.quantized`). So two programs that
mean the same agree to many digits, whatever the order of their additions, and what a pass broke shows.

What depends on constants alone, such as positions and indices, is computed in the types that the IR says, as
`fold-constants` does: an index that is rounded down from 6.9999998 there and from 7 here would be another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.dialects import delegate, edge, xnnpack
from xir.dialects.edge.families import GROUPED_PRODUCTS
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type
from xir.evaluate import quantized
from xir.evaluate.inputs import as_returned
from xir.evaluate.nodes import convolve, evaluate
from xir.importer.dtypes import DTYPES
from xir.importer.interpreter import arguments, called, constant_tensor
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.torch_threads import one_thread

Observer = Callable[[SSAValue, Any], None]
"""Is told each result of an op, in the order of evaluation."""

MAX_STEPS = 4096
"""The most calls of its condition and body that a loop is evaluated for: numbers that are drawn may not end it."""

NEAREST = ("edge.upsample_nearest", "edge._upsample_nearest_exact")

SEED = 0
"""Of ops that draw random numbers."""


CHOOSE_QPARAMS = tuple(f"edge.quantized_decomposed.choose_qparams{each}.tensor" for each in ("", "_symmetric"))
"""Take no fp64. The scale's rounding to fp32 is that of the range; zero points are rounded in any case."""


SHORT_SCALE = 2.0**-8
"""The rounding of a scale in bf16."""


class NotEvaluatedError(DiagnosticError):
    """An op that the evaluator has no meaning for, such as a plugin's."""


class Evaluator:
    """Runs the functions of one module on torch tensors."""

    def __init__(
        self,
        ctx: XirContext,
        observe: Observer | None = None,
        *,
        rounds: bool = True,
        checks_types: bool = True,
        noise: Noise | None = None,
    ):
        self.ctx = ctx
        self.rounds = rounds
        """Whether quantised values are integers; without, they keep their fractions."""
        self.checks_types = checks_types
        """Whether results must have the shapes that the IR says."""
        self.observe = observe
        self.noise = noise
        """By which constants and results are moved, if they are."""
        self._state: dict[str, Any] = {}
        """What mutable buffers hold in this call, by name."""
        self._next: dict[str, Any] = {}
        """What updates write, for the next one."""
        self._static: set[SSAValue] = set()
        """The values that depend on constants alone; theirs is the type that the IR says."""

    def run(self, function: FuncOp, inputs: Sequence[Any], state: dict[str, Any] | None = None) -> list[Any]:
        """The function's results, as a caller has them: numbers in fp64, integers and truth values in their own types.

        `state` is what mutable buffers hold, by name, and gets what the function writes to them; those that it has not
        hold their initial values.

        DiagnosticError at an op that does not run on its operands; NotEvaluatedError at one without a meaning.
        """
        block = function.body.block
        self._state, self._next = {} if state is None else state, {}
        with torch.no_grad(), torch.random.fork_rng(devices=[]), one_thread():
            torch.manual_seed(SEED)
            values: dict[SSAValue, Any] = dict(zip(block.args, map(widened, inputs), strict=True))
            results = as_returned(function, [widened(result) for result in self._block(block, values)])
        self._state.update(self._next)
        return results

    def results_of(self, op: Operation, values: dict[SSAValue, Any]) -> Sequence[Any]:
        """The results of one op on the values of its operands, quantised ones as integers.

        Raises as `run`.
        """
        with torch.no_grad():
            return self._op(op, values)

    def _block(self, block: Block, values: dict[SSAValue, Any]) -> list[Any]:
        """Run a block; the values that its terminator names. Values are dropped after their last use in it."""
        dying = last_uses(block)
        for op in block.ops:
            if isinstance(op, ReturnOp | delegate.YieldOp | xnnpack.YieldOp):
                return [values[operand] for operand in op.operands]
            for result, value in zip(op.results, self.computed(op, values), strict=True):
                if self.checks_types:
                    check_type(result, value)
                values[result] = value
                if self.observe is not None:
                    self.observe(result, value)
            for value in dying.get(op, ()):
                del values[value]
        raise AssertionError("a block ends with a terminator")

    def computed(self, op: Operation, values: dict[SSAValue, Any]) -> Sequence[Any]:
        """The results of one op, with which the evaluation goes on."""
        return self._op(op, values)

    def _op(self, op: Operation, values: dict[SSAValue, Any]) -> Sequence[Any]:
        match op:
            case edge.ConstantOp():
                self._static.add(op.result)
                return (constant_tensor(op.value, self.ctx, op),)
            case edge.NoneOp():
                return (None,)
            case edge.MutableBufferOp():
                held = self._state.get(op.buffer.data)
                return (widened(constant_tensor(op.initial, self.ctx, op)) if held is None else held,)
            case edge.UpdateBufferOp():
                self._next[op.declared.buffer.data] = widened(values[op.value])
                return ()
            case edge.EdgeOp():
                return self._edge(op, values)
            case edge.ControlFlowOp():
                return self._control_flow(op, [values[operand] for operand in op.operands])
            case xnnpack.ConstantOp():
                return (self._weight(op),)
            case xnnpack.NodeOp():
                return self._node(op, values)
            case delegate.RegionOp():
                return self._block(op.body.block, values)
            case xnnpack.SubgraphOp():
                block = op.body.block
                operands = [widened(values[operand]) for operand in op.operands]
                return self._block(block, dict(zip(block.args, operands, strict=True)))
            case _:
                raise NotEvaluatedError(op, f"'{op.name}' has no meaning that the evaluator knows")

    def _control_flow(self, op: edge.ControlFlowOp, operands: Sequence[Any]) -> Sequence[Any]:
        calls = 0

        def call(function: FuncOp, inputs: Sequence[Any]) -> list[Any]:
            nonlocal calls
            if (calls := calls + 1) > MAX_STEPS:
                raise NotEvaluatedError(op, f"the loop does not end within {MAX_STEPS // 2} steps on these inputs")
            block = function.body.block
            return self._block(block, dict(zip(block.args, map(widened, inputs), strict=True)))

        return op.run(operands, call)

    def _edge(self, op: edge.EdgeOp, values: Mapping[SSAValue, Any]) -> Sequence[Any]:
        if op.name in quantized.DEQUANTIZES or op.name in quantized.QUANTIZES:
            return (quantized.converted(op, arguments(op, values), self.rounds, self.beyond(op)),)
        if (rows := quantized.looked_up(op, arguments(op, values))) is not None:
            return (rows,)
        if all(operand in self._static for operand in op.operands):
            self._static.update(op.results)
            return called(op, arguments(op, values))
        if op.name in CHOOSE_QPARAMS:
            return [widened(value) for value in called(op, arguments(op, {**values, **in_fp32(op, values)}))]
        if self.noise is not None:
            values = {**values, **{each: self.noise.of(values[each]) for each in op.operands if each in self._static}}
        args = {name: in_fp64(value) for name, value in arguments(op, values).items()}
        if op.name == "edge._softmax" or op.name == "edge._log_softmax":
            args["half_to_float"] = False
        own = depthwise(op, args) or with_fractions(op, args) or nearest(op, args) or grouped(op, args)
        results = [widened(value) for value in own or called(op, args)]
        return results if self.noise is None else [self.noise.of(value) for value in results]

    def beyond(self, op: edge.EdgeOp) -> float:
        """How many steps beyond its integers an op keeps what it does not round.

        A range that is found at run time ends half a step before the numbers that it is of, for its zero point is an
        integer: nothing is cut off there but by rounding.
        """
        scale = op.operands[1:2]
        return 0.0 if self.rounds or all(each in self._static for each in scale) else 1.0

    def _weight(self, op: xnnpack.ConstantOp) -> Any:
        value = widened(torch.tensor(constant_array(op.elements, self.ctx, op)))
        if self.noise is None:
            return value
        element = element_type(op.output)
        if not isinstance(element, UniformType):
            return self.noise.of(value)
        if element.is_blockwise:
            return self.noise.of_scales(value)
        return self.noise.of_integers(value) if is_rounded_by_passes(op, element) else value

    def _node(self, op: xnnpack.NodeOp, values: Mapping[SSAValue, Any]) -> Sequence[Any]:
        operands = quantized.operands_of(op, values)
        try:
            results = evaluate(op, operands)
        except NotImplementedError as error:
            raise NotEvaluatedError(op, f"'{op.name}' has no meaning that the evaluator knows") from error
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            raise DiagnosticError(op, f"'{op.name}' does not run on its operands: {error}") from error
        if isinstance(op, xnnpack.BinaryOp) and element_type(op.output) == f32 and op.kind.data in ("add", "subtract"):
            results = [whole_where_large(value) for value in results]
        if self.noise is not None:
            results = [self.noise.of(value) for value in results]
        return [self.stored(op, value, element_type(result)) for result, value in zip(op.results, results, strict=True)]

    def stored(self, op: xnnpack.NodeOp, value: torch.Tensor, element: Attribute) -> torch.Tensor:
        """What a node leaves of the numbers that it computes.

        The integers of sigmoid and tanh end a step before 1, the number that they are for where nothing is rounded.
        """
        ends_at_one = isinstance(op, xnnpack.UnaryOp) and op.kind.data in ("sigmoid", "tanh")
        return quantized.stored(value, element, self.rounds, beyond=float(ends_at_one and not self.rounds))


@dataclass
class Noise:
    """Moves numbers at random, each by as much as rounding could, as if it were rounded either way.

    Source: D. S. Parker, "Monte Carlo Arithmetic: Exploiting Randomness in Floating-Point Arithmetic", UCLA CSD
    Technical Report 970002, 1997.
    """

    relative: float = 0.0
    """Of numbers with fractions: relative to their magnitudes."""
    quantizes: bool = False
    """Whether what is moved are the constants that a pass makes integers of, with their scales."""
    generator: torch.Generator = field(default_factory=torch.Generator)

    def of(self, value: Any) -> Any:
        """A value, moved if it has fractions."""
        if not self.relative or not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return value * (1 + self.relative * self._drawn(value.shape))

    def of_integers(self, value: torch.Tensor) -> torch.Tensor:
        """Integers, moved by up to half a step."""
        return value.double() + 0.5 * self._drawn(value.shape) if self.quantizes else value

    def of_scales(self, value: torch.Tensor) -> torch.Tensor:
        """A filter whose blocks have scales in bf16, moved as one row by row."""
        return value.double() * (1 + SHORT_SCALE * self._drawn((len(value), 1))) if self.quantizes else value

    def _drawn(self, shape: Sequence[int]) -> torch.Tensor:
        """Between -1 and 1."""
        return 2 * torch.rand(list(shape), generator=self.generator, dtype=torch.float64) - 1


def is_rounded_by_passes(op: xnnpack.ConstantOp, element: UniformType) -> bool:
    """Whether a constant may be integers that no quantiser made, but a pass: biases, operands of arithmetic."""
    readers = [use.operation for use in op.output.uses]
    return element.storage.width.data == 32 or any(isinstance(each, xnnpack.BinaryOp) for each in readers)


def whole_where_large(value: torch.Tensor) -> torch.Tensor:
    """A sum, rounded to fp32 where that has no fractions: rules add 2^23 to round."""
    return torch.where(value.abs() >= 2.0**22, value.float().double(), value)


def last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """Of each op of a block, the block's own values that no op behind it reads."""
    last = {operand: op for op in block.ops for inner in op.walk() for operand in inner.operands}
    found: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        if value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block):
            found.setdefault(op, []).append(value)
    return found


def run_function(function: FuncOp, ctx: XirContext, inputs: Sequence[Any]) -> list[Any]:
    """The results of a function in the types that the IR says."""
    results = Evaluator(ctx).run(function, inputs)
    return [narrowed(value, type) for value, type in zip(results, function.function_type.outputs.data, strict=True)]


def run_module(module: ModuleOp, ctx: XirContext, inputs: Sequence[Any], entry: str = "forward") -> list[Any]:
    """`run_function` of a module's function."""
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    return run_function(next(each for each in functions if each.sym_name.data == entry), ctx, inputs)


def widened(value: Any) -> Any:
    """Floating-point numbers in fp64."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def in_fp32(op: Operation, values: Mapping[SSAValue, Any]) -> dict[SSAValue, Any]:
    """An op's operands that are numbers, in fp32."""
    numbers = ((operand, values[operand]) for operand in op.operands)
    return {operand: value.float() for operand, value in numbers if value.is_floating_point()}


def in_fp64(value: Any) -> Any:
    """An argument of a call that computes in fp64: tensors and types of them."""
    match value:
        case torch.dtype() if value.is_floating_point:
            return torch.float64
        case list():
            return [in_fp64(each) for each in cast("list[Any]", value)]
        case _:
            return widened(value)


def narrowed(value: Any, type: Attribute) -> Any:
    """A value in the type that the IR says."""
    if not isinstance(value, torch.Tensor) or not isinstance(type, TensorType):
        return value
    dtype = DTYPES.get(type.element_type)
    return value if dtype is None else value.to(dtype)


def depthwise(op: edge.EdgeOp, args: dict[str, Any]) -> Sequence[Any] | None:
    """A depthwise convolution, for which torch takes long in fp64; None for others."""
    if op.name not in ("edge.conv2d", "edge.convolution") or args.get("transposed") or args["input"].ndim != 4:
        return None
    x, weight = args["input"], args["weight"]
    if args["groups"] != x.shape[1] or len(weight) != x.shape[1] or x.shape[1] == 1:
        return None
    rows, columns = (*args["padding"], *args["padding"])[:2] if len(args["padding"]) == 1 else args["padding"]
    x = torch.nn.functional.pad(x, (columns, columns, rows, rows))
    stride, dilation = (list(args[name]) * 2 if len(args[name]) == 1 else args[name] for name in ("stride", "dilation"))
    return (convolve(x, weight, args["bias"], stride=stride, dilation=dilation, groups=args["groups"]),)


def with_fractions(op: edge.EdgeOp, args: dict[str, Any]) -> Sequence[Any] | None:
    """What an op on integers is where they kept their fractions; None if they are none, or ATen computes it."""
    if op.name == "edge._int_mm" and any(args[name].is_floating_point() for name in ("self", "mat2")):
        return (args["self"].double() @ args["mat2"].double(),)
    value = args.get("self")
    if op.name != "edge._to_copy" or not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return None
    source = op.argument("self").type
    declared = DTYPES.get(source.element_type) if isinstance(source, TensorType) else None
    is_integer = declared is not None and not declared.is_floating_point
    return (value,) if is_integer and args["dtype"] is not torch.bool else None


def nearest(op: edge.EdgeOp, args: dict[str, Any]) -> Sequence[Any] | None:
    """A resizing that takes the nearest elements, whose places ATen computes in fp32; None for others."""
    if not op.name.startswith(NEAREST):
        return None
    name = "input" if "input" in args else "self"
    value = args[name]
    size = value[:1, :1].numel()
    if not size or size > 1 / torch.finfo(torch.float32).eps:
        return None
    (taken,) = called(op, {**args, name: torch.arange(size, dtype=torch.float32).reshape(1, 1, *value.shape[2:])})
    return (value.flatten(2)[..., taken.flatten().long()].reshape(*value.shape[:2], *taken.shape[2:]),)


def grouped(op: edge.EdgeOp, args: dict[str, Any]) -> Sequence[Any] | None:
    """A product of groups of rows, whose operators take no fp64 or are not torch's; None for others."""
    if op.operator_name not in GROUPED_PRODUCTS or len(op.operands) != 3 or args["offs"] is None:
        return None
    rows, matrices, ends = (args[name] for name in tuple(op.schema.tensors)[:3])
    if rows.ndim != 2 or matrices.ndim != 3:
        return None
    result, start = rows.new_zeros(len(rows), matrices.shape[-1]), 0
    for end, matrix in zip(ends.tolist(), matrices, strict=True):
        result[start:end] = rows[start:end] @ matrix
        start = end
    return (result,)


def check_type(result: SSAValue, value: Any) -> None:
    """Raise unless a value has the shape that the IR says. DiagnosticError at the op that computed it."""
    if not isinstance(result.type, TensorType) or not isinstance(value, torch.Tensor):
        return
    expected = result.type.get_shape()
    fits = len(expected) == value.ndim and all(
        size < 0 or size == got for size, got in zip(expected, value.shape, strict=True)
    )
    if not fits:
        owner = result.owner
        assert isinstance(owner, Operation)
        raise DiagnosticError(owner, f"'{owner.name}' computes {list(value.shape)}, its type says {result.type}")
