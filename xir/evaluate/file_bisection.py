"""The first node of a `.pte` file whose value is not what eager computes.

Each node is computed by its definition from what eager has for its operands, and its result looked for among eager's
values, as a number or in another layout. So a difference is the node's own, or that of its constants, whatever comes
before it, and can be held to roundings. Results that eager does not have are common, as fusion and decomposition make
them: a node is wrong if an output depends on it that eager does not have either.

Where all is as in eager, what the kernels computed is compared with the definitions of nodes, and with ATen for kernels
outside of delegates, each on what it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import torch
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, IntegerType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import edge, pte, xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack import DynamicType
from xir.dialects.xnnpack.base import NodeOp
from xir.evaluate import quantized
from xir.evaluate.evaluator import Evaluator
from xir.evaluate.file_values import FileValues, PlanStep, RunFile, values_of_file
from xir.evaluate.inputs import as_called, as_stored, draw_inputs
from xir.evaluate.kernel_calls import NotCalledError, call_kernel
from xir.importer.interpreter import constant_tensor
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError

EXACT = 1e-4
"""How far one node may be from eager, of its largest magnitude: constants of fp32, folded."""

HALVES = 1e-2
"""The same with constants of fp16 or bf16."""

RUN_TIME_RANGES = 3e-2
"""The same where operands are quantised at run time: a few are one step of 1/127 away."""

STEP = 1.01
"""How many steps a quantised result may be away: ties are rounded either way."""

TIES = 0.05
"""How many of its elements may be."""

NEAR = 12
"""How many ops behind the operands what eager computes in a node's place is looked for."""


@dataclass(frozen=True)
class EagerValue:
    """What eager computes."""

    value: SSAValue
    tensor: torch.Tensor
    low: float
    high: float


@dataclass(frozen=True)
class FileDifference:
    """Where a file leaves eager."""

    step: PlanStep | None
    """The node or instruction; None where an output is another of eager's values."""
    result: SSAValue
    error: float
    """Relative to the largest magnitude of what eager has; infinite where it has nothing of that size."""
    actual: float
    expected: float
    eager: Operation | None
    """The op that computes it in the model."""
    output: int
    """The first output that it is seen in."""
    by_kernel: bool = False
    """Whether the file says what eager computes, and the kernel computes something else."""


def eager_values(function: FuncOp, ctx: XirContext, inputs: Sequence[Any]) -> list[EagerValue]:
    """What the ops of a function compute, its arguments first."""
    found: list[EagerValue] = []

    def observe(value: SSAValue, computed: Any) -> None:
        if isinstance(computed, torch.Tensor) and computed.numel() and not isinstance(value.owner, edge.ConstantOp):
            tensor = computed.float() if computed.is_floating_point() else computed
            finite = torch.nan_to_num(tensor.double())
            found.append(EagerValue(value, tensor, float(finite.min()), float(finite.max())))

    for argument, value in zip(function.body.block.args, inputs, strict=True):
        observe(argument, value)
    Evaluator(ctx, observe).run(function, inputs)
    return found


@dataclass
class FileBisection:
    """Follows a file's plan beside eager."""

    ctx: XirContext
    eager: Sequence[EagerValue]
    file: FileValues
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    """What is taken for a value of the file: eager's where it has it."""
    matched: dict[SSAValue, EagerValue] = field(default_factory=dict[SSAValue, EagerValue])

    def __post_init__(self) -> None:
        self._by_count: dict[int, list[EagerValue]] = {}
        for each in self.eager:
            self._by_count.setdefault(each.tensor.numel(), []).append(each)
        self._evaluator = Evaluator(self.ctx)
        self._makers = {self._key(result): step for step in self.file.steps for result in step.results}

    def run(self, outputs: Sequence[SSAValue]) -> FileDifference | None:
        """The first difference, None if there is none. `outputs` are eager's."""
        for value in self.file.tensors:
            if self._key(value) == value and value not in self._makers:
                self._settle(value, self.file.tensors[value], EXACT)
        for step in self.file.steps:
            for result, computed in zip(step.results, self._computed(step), strict=False):
                if computed is not None:
                    self._settle(result, computed, self._allowed(step, result))
        found = self._first_difference(outputs)
        return found if found is not None else self._wrong_kernel()

    def _key(self, value: SSAValue) -> SSAValue:
        return self.file.places.get(value, value)

    # Following.

    def _computed(self, step: PlanStep) -> Sequence[Any]:
        """The results of a step by its definition; what the kernel computed where that is not known."""
        defined = self._defined(step, self.values)
        if defined is not None:
            return defined
        return [self.file.tensors.get(self._key(result)) for result in step.results]

    def _defined(self, step: PlanStep, values: dict[SSAValue, Any]) -> Sequence[Any] | None:
        """The results of a step by its definition, on operands of these values; None where that is not known."""
        try:
            if isinstance(step.op, NodeOp):
                operands = {value: self._operand(value, values) for value in step.operands}
                if all(value is not None for value in operands.values()):
                    return self._evaluator.results_of(step.op, operands)
            elif isinstance(step.op, pte.KernelCallOp):
                written = call_kernel(step.op, self._tensors_of(step, values))
                return [written[result] for result in step.results]
        except (DiagnosticError, NotCalledError, RuntimeError, KeyError):
            # A plugin's node, or an operator that ATen lacks.
            pass
        return None

    def _tensors_of(self, step: PlanStep, values: dict[SSAValue, Any]) -> dict[SSAValue, torch.Tensor]:
        """What an instruction reads, constants as well."""
        known = {value: values[self._key(value)] for value in step.operands if self._key(value) in values}
        for value in step.operands:
            if isinstance(op := value.owner, pte.TensorOp) and op.data is not None and op.buffer is None:
                known[value] = constant_tensor(op.data, self.ctx, op)
        return known

    def _operand(self, value: SSAValue, values: dict[SSAValue, Any]) -> Any:
        if isinstance(value.owner, xnnpack.ConstantOp):
            return self._evaluator.results_of(value.owner, {})[0]
        found = values.get(self._key(value))
        return None if found is None else found

    def _settle(self, value: SSAValue, computed: torch.Tensor, allowed: float) -> None:
        """Take eager's numbers for a value, if it has them."""
        key, element = self._key(value), self._element(value)
        found = self._match(quantized.numbers(computed, element), element, allowed)
        if found is None:
            self.values[key] = computed
            return
        self.matched[key], numbers = found
        self.values[key] = (
            quantized.stored(numbers, element, rounds=True) if isinstance(element, UniformType) else numbers
        )

    def _element(self, value: SSAValue) -> Attribute:
        type = value.type if isinstance(value.type, TensorType) else self.file.types[value]
        return type.element_type

    def _allowed(self, step: PlanStep, result: SSAValue) -> float:
        """How far a result may be from eager's."""
        elements = [self._element(value) for value in (*step.operands, result) if self._has_type(value)]
        if any(isinstance(element, DynamicType) for element in elements):
            return RUN_TIME_RANGES
        return HALVES if any(isinstance(element, Float16Type | BFloat16Type) for element in elements) else EXACT

    def _has_type(self, value: SSAValue) -> bool:
        return isinstance(value.type, TensorType) or value in self.file.types

    def _match(
        self, numbers: torch.Tensor, element: Attribute, allowed: float
    ) -> tuple[EagerValue, torch.Tensor] | None:
        """Eager's value that these numbers are, in their layout."""
        if not numbers.numel():
            return None
        low, high = float(torch.nan_to_num(numbers.double()).min()), float(torch.nan_to_num(numbers.double()).max())
        slack = max(allowed * max(abs(low), abs(high)) * 1.5, step_of(element, numbers) * STEP)
        for each in self._by_count.get(numbers.numel(), ()):
            if abs(each.low - low) > slack or abs(each.high - high) > slack:
                continue
            for candidate in layouts(each.tensor, tuple(numbers.shape)):
                if is_close(numbers, candidate, element, allowed):
                    return each, candidate.double() if candidate.is_floating_point() else candidate
        return None

    # Looking back.

    def _first_difference(self, outputs: Sequence[SSAValue]) -> FileDifference | None:
        pending: list[tuple[SSAValue, int]] = []
        by_value = {each.value: each for each in self.eager}
        for index, (value, expected) in enumerate(zip(self.file.outputs, outputs, strict=False)):
            key = self._key(value)
            if key not in self.matched:
                pending.append((key, index))
            elif expected in by_value and not self._is(key, by_value[expected]):
                other = self.matched[key]
                return FileDifference(
                    None, value, float("inf"), other.high, by_value[expected].high, owner_of(expected), index
                )
        seen, found = set[SSAValue](), list[tuple[int, PlanStep, SSAValue, int]]()
        order = {id(step): number for number, step in enumerate(self.file.steps)}
        while pending:
            key, index = pending.pop()
            step = self._makers.get(key)
            if key in seen or step is None:
                continue
            seen.add(key)
            unexplained = [
                self._key(value)
                for value in step.operands
                if self._key(value) not in self.matched and self._key(value) in self._makers
            ]
            pending += [(value, index) for value in unexplained]
            if not unexplained:
                found.append((order[id(step)], step, key, index))
        if not found:
            return None
        _, step, key, index = min(found, key=lambda each: each[0])
        return self._difference(step, key, index)

    def _is(self, key: SSAValue, expected: EagerValue) -> bool:
        """Whether what a value was found to be is this one too."""
        found = self.matched[key]
        if found is expected or found.tensor.shape != expected.tensor.shape:
            return found.value is expected.value or found.tensor.numel() == expected.tensor.numel()
        scale = max(abs(expected.low), abs(expected.high), 1e-30)
        return bool((found.tensor.double() - expected.tensor.double()).abs().max() <= 0.25 * scale)

    def _difference(self, step: PlanStep, key: SSAValue, output: int) -> FileDifference:
        result = next(value for value in step.results if self._key(value) == key)
        numbers = quantized.numbers(self.values[key], self._element(result))
        best: tuple[float, EagerValue, torch.Tensor] | None = None
        for each in self._behind(step):
            for candidate in layouts(each.tensor, tuple(numbers.shape)):
                away = float((numbers.double() - candidate.double()).square().mean())
                if best is None or away < best[0]:
                    best = away, each, candidate
        if best is None:
            behind = next(iter(self._behind(step, sizes=False)), None)
            eager = None if behind is None else owner_of(behind.value)
            return FileDifference(
                step, result, float("inf"), float(numbers.double().max()), float("nan"), eager, output
            )
        _, each, candidate = best
        error = relative(numbers, candidate)
        place = int((numbers.double() - candidate.double()).abs().argmax())
        actual, expected = float(numbers.flatten()[place]), float(candidate.flatten()[place])
        return FileDifference(step, result, error, actual, expected, owner_of(each.value), output)

    def _behind(self, step: PlanStep, sizes: bool = True) -> Iterator[EagerValue]:
        """What eager computes soon from the operands, but for what the file has elsewhere."""
        counts = {self.values[self._key(result)].numel() for result in step.results if self._key(result) in self.values}
        taken = {each.value for each in self.matched.values()}
        known = {each.value: each for each in self.eager}
        level = {self.matched[self._key(value)].value for value in step.operands if self._key(value) in self.matched}
        seen = set(level)
        for _ in range(NEAR):
            level = {
                result
                for value in level
                for use in value.uses
                for result in use.operation.results
                if isinstance(use.operation, edge.EdgeOp) and result not in seen
            }
            seen |= level
            for value in sorted(level & known.keys() - taken, key=list(known).index):
                if not sizes or known[value].tensor.numel() in counts:
                    yield known[value]

    # Kernels.

    def _wrong_kernel(self) -> FileDifference | None:
        """The first node or instruction that its kernel computes otherwise, on operands that kernels computed."""
        actual: dict[SSAValue, Any] = {self._key(value): tensor for value, tensor in self.file.tensors.items()}
        for step in self.file.steps:
            for result, computed in zip(step.results, self._defined(step, actual) or (), strict=False):
                key = self._key(result)
                if key not in actual:
                    actual[key] = computed
                    continue
                if isinstance(step.op, pte.KernelCallOp) and self._chooses(step, result):
                    continue
                element = self._element(result)
                got, wanted = (quantized.numbers(each, element) for each in (actual[key], computed))
                if not is_close(got, wanted, element, 10 * self._allowed(step, result)):
                    place = int((got.double() - wanted.double()).abs().argmax())
                    numbers = float(got.flatten()[place]), float(wanted.flatten()[place])
                    found = self.matched.get(key)
                    eager = None if found is None else owner_of(found.value)
                    return FileDifference(step, result, relative(got, wanted), *numbers, eager, 0, by_kernel=True)
        return None

    def _chooses(self, step: PlanStep, result: SSAValue) -> bool:
        """Whether a kernel gives integers for numbers: places of the largest, of which there may be several, or what
        numbers are rounded to."""
        numbers = [self._element(value) for value in step.operands if self._has_type(value)]
        return isinstance(self._element(result), IntegerType) and any(isinstance(each, AnyFloat) for each in numbers)


def bisect_file(
    model: tuple[ModuleOp, XirContext],
    file: tuple[ModuleOp, XirContext],
    name: str = "forward",
    inputs: Sequence[Any] | None = None,
    run: RunFile | None = None,
    **how: Any,
) -> FileDifference | None:
    """The first node of a file that leaves what a model's edge module computes; None if none does.

    `inputs` are those of a caller of the method (default: drawn). `run` runs the file elsewhere; here `how` are options
    of `load_program`: libraries of kernels, operators that the file may call, a limit of time. The file's module is
    changed. DiagnosticError if the file or the model has no such method, or takes other inputs; XirRuntimeError if the
    file does not run.
    """
    module, ctx = model
    function = function_of(module, name)
    stored = draw_inputs(function) if inputs is None else as_stored(function, inputs)
    eager = eager_values(function, ctx, stored)
    values = values_of_file(*file, name, as_called(function, stored), run, **how)
    last = function.body.block.last_op
    assert last is not None
    return FileBisection(file[1], eager, values).run(list(last.operands))


def function_of(module: ModuleOp, name: str) -> FuncOp:
    """A function of a module. DiagnosticError if there is none of that name."""
    function = next((op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == name), None)
    if function is None:
        raise DiagnosticError(module, f"the model has no method '{name}'")
    return function


def owner_of(value: SSAValue) -> Operation | None:
    """The op that computes a value, None for an argument."""
    return value.owner if isinstance(value.owner, Operation) else None


def layouts(tensor: torch.Tensor, shape: tuple[int, ...]) -> Iterator[torch.Tensor]:
    """A tensor in memory of another shape: as it lies, or its dimensions in another order."""
    if tensor.numel() != torch.Size(shape).numel():
        return
    yield tensor.reshape(shape)
    squeezed = tensor.squeeze()
    wanted = tuple(size for size in shape if size != 1)
    if squeezed.ndim != len(wanted) or not 2 <= squeezed.ndim <= 5:
        return
    for order in list(permutations(range(squeezed.ndim)))[1:]:
        if tuple(squeezed.shape[axis] for axis in order) == wanted:
            yield squeezed.permute(order).reshape(shape)


def step_of(element: Attribute, numbers: torch.Tensor) -> float:
    """The largest step of a quantised type, 0 for others."""
    return float(quantized.parameters(element, numbers.shape)[0].max()) if isinstance(element, UniformType) else 0.0


def is_close(numbers: torch.Tensor, other: torch.Tensor, element: Attribute, allowed: float) -> bool:
    """Whether two values are one but for roundings."""
    if not numbers.is_floating_point() and not other.is_floating_point():
        return bool((numbers == other).all())
    x, y = torch.nan_to_num(numbers.double()), torch.nan_to_num(other.double())
    distance = (x - y).abs()
    step = step_of(element, numbers)
    if step:
        return bool(distance.max() <= STEP * step) and float((distance > step / 2).double().mean()) <= TIES
    return bool(distance.max() <= allowed * y.abs().max() + 1e-30)


def relative(numbers: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference, relative to the largest magnitude of the other."""
    x, y = torch.nan_to_num(numbers.double()), torch.nan_to_num(other.double())
    return float((x - y).abs().max() / y.abs().max().clamp(min=1e-30))
