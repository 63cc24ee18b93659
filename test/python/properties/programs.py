"""Random PyTorch programs, and what has to hold for each: one delegate, or kernels that both runtimes have, and eager's
numbers in both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from hypothesis import strategies as st
from random_programs.program import NAMES
from reference.runtimes import load_stock
from torch import Tensor, nn

from xir import runtime
from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.dialects.edge.kernels import executorch_kernels

ValueT = TypeVar("ValueT")
Calls = Mapping[str, Callable[..., Tensor]]

LARGEST = 50.0
"""What a step makes larger than this is scaled down, so that no program leaves the range where fp32 is accurate."""

ROWS = 9
"""Of the tables that tokens are numbers of rows of."""

SLACK = 64.0
"""How many times eager's own rounding error, which fp64 tells, a result may be off: other orders of summation."""

TOLERANCE = 2e-5
"""What it may be off in any case, of its largest magnitude."""


@dataclass(frozen=True)
class Step:
    """One call: `run(*operands, *weights, *state)`, the operands being numbers of earlier values."""

    text: str
    run: Callable[..., Tensor]
    operands: tuple[int, ...]
    weights: tuple[Tensor, ...] = ()
    state: tuple[Tensor, ...] = ()
    """What buffers hold at first that the call may write to."""


class Program(nn.Module):
    """Steps over inputs; the results are all values that no later step reads."""

    def __init__(self, inputs: Sequence[Tensor], steps: Sequence[Step]):
        super().__init__()
        self.inputs = tuple(inputs)
        self.steps = tuple(steps)
        for number, step in enumerate(steps):
            for index, weight in enumerate(step.weights):
                self.register_parameter(f"step{number}_weight{index}", nn.Parameter(weight, requires_grad=False))
            for index, buffer in enumerate(step.state):
                self.register_buffer(f"step{number}_state{index}", buffer.clone())
        read = {operand for step in steps for operand in step.operands}
        self.outputs = [n for n in range(len(inputs), len(inputs) + len(steps)) if n not in read]

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        values = list(inputs)
        for number, step in enumerate(self.steps):
            weights = [self.get_parameter(f"step{number}_weight{index}") for index in range(len(step.weights))]
            state = [self.get_buffer(f"step{number}_state{index}") for index in range(len(step.state))]
            values.append(step.run(*(values[operand] for operand in step.operands), *weights, *state))
        return tuple(values[output] for output in self.outputs)

    def __repr__(self) -> str:
        lines = [f"v{n} = input{list(value.shape)}" for n, value in enumerate(self.inputs)]
        for number, step in enumerate(self.steps, len(self.inputs)):
            operands = ", ".join(f"v{operand}" for operand in step.operands)
            weights = "".join(f", w{list(weight.shape)}" for weight in step.weights)
            state = "".join(f", state{list(buffer.shape)}" for buffer in step.state)
            lines.append(f"v{number} = {step.text}({operands}{weights}{state})")
        return "\n" + "\n".join(lines) + "\n"


class Builder:
    """Draws a program step by step; `values` are what eager computes, so that shapes and magnitudes are known."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
        self.inputs: list[Tensor] = []
        self.steps: list[Step] = []
        self.values: list[Tensor] = []

    def input(self, *shape: int) -> int:
        """A new input, before the first step."""
        return self.given(self.random(*shape))

    def given(self, value: Tensor) -> int:
        """A new input of these elements, before the first step."""
        assert not self.steps
        self.inputs.append(value)
        self.values.append(value)
        return len(self.values) - 1

    def tokens(self, *shape: int) -> Tensor:
        """Numbers of the rows of a table of `ROWS`."""
        return torch.randint(0, ROWS, shape, generator=self.generator)

    def whole_inputs(self) -> list[int]:
        """The inputs that are whole numbers."""
        return [n for n, value in enumerate(self.inputs) if not value.is_floating_point()]

    def float_inputs(self) -> list[int]:
        """The inputs that are none; ops that jump read these alone, which no rounding has moved."""
        return [n for n, value in enumerate(self.inputs) if value.is_floating_point()]

    def random(self, *shape: int) -> Tensor:
        """Quarters between -3 and 3, no two programs alike: rounding never decides which way a step function goes."""
        return torch.randint(-12, 13, shape, generator=self.generator).float() / 4 + 0.0625

    def weight(self, *shape: int) -> Tensor:
        """Normal numbers, divided by the root of how many of them one result adds up."""
        fan_in = max(1, torch.Size(shape).numel() // max(1, shape[0] if shape else 1))
        return torch.randn(shape, generator=self.generator) / fan_in**0.5

    def with_bias(self, outputs: int, *shape: int) -> list[Tensor]:
        """A filter of some outputs, and a bias or none."""
        return [self.weight(outputs, *shape), *([self.weight(outputs)] if self.flag() else [])]

    def divisor(self, number: int) -> int:
        """One of the numbers that divide another."""
        return self.one(each for each in range(1, number + 1) if number % each == 0)

    def int(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def one(self, values: Iterable[ValueT]) -> ValueT:
        return self.draw(st.sampled_from(list(values)))

    def pick(self, rank: int | None = None) -> int:
        """A value, of some rank if given; the newer the likelier. A step makes one of that rank if there is none."""
        fitting = [
            n for n, value in enumerate(self.values) if rank in (None, value.dim()) and value.is_floating_point()
        ]
        if not fitting:
            value = self.pick()
            shape = self.shape_with_rank(self.values[value].shape, rank or 1)
            return self.step(f"reshape{shape}", lambda x: x.reshape(shape), value)
        return self.draw(st.sampled_from([*fitting, *fitting[-3:], *fitting[-1:]]))

    def pick_tensor(self) -> int:
        """A value that is no scalar."""
        value = self.pick()
        return self.pick(1) if not self.values[value].dim() else value

    @staticmethod
    def shape_with_rank(shape: Sequence[int], rank: int) -> list[int]:
        """A shape of `rank` dimensions with as many elements."""
        if len(shape) < rank:
            return [1] * (rank - len(shape)) + list(shape)
        merged = torch.Size(shape[: len(shape) - rank + 1]).numel()
        return [merged, *shape[len(shape) - rank + 1 :]]

    def shape(self, value: int) -> list[int]:
        return list(self.values[value].shape)

    def like(self, value: int) -> list[int]:
        """The values of a value's shape, numbers of floating point as all that steps compute."""
        shape = self.shape(value)
        return [n for n, each in enumerate(self.values) if list(each.shape) == shape and each.is_floating_point()]

    def step(
        self,
        text: str,
        run: Callable[..., Tensor],
        *operands: int,
        weights: Sequence[Tensor] = (),
        state: Sequence[Tensor] = (),
    ) -> int:
        """Add a call, and after it a product that brings a large result back; the number of the last value."""
        with torch.no_grad():
            buffers = [buffer.clone() for buffer in state]
            result = run(*(self.values[operand] for operand in operands), *weights, *buffers)
        self.steps.append(Step(text, run, operands, tuple(weights), tuple(state)))
        self.values.append(result)
        number, largest = len(self.values) - 1, float(result.abs().max())
        if largest <= LARGEST:
            return number
        factor = 2.0 ** -int(largest).bit_length()
        return self.step(f"{factor} * ", lambda x: x * factor, number)

    def line(
        self,
        forms: Sequence[str],
        operands: Mapping[str, int],
        weights: Mapping[str, Tensor] | None = None,
        **parts: Any,
    ) -> int:
        """Add a call that is one of some texts, `{x} + {y}`, of those operands and weights that it names."""
        form = self.one(forms)
        read = {name: value for name, value in operands.items() if f"{{{name}}}" in form}
        held = {name: value for name, value in (weights or {}).items() if f"{{{name}}}" in form}
        names = [*read, *held]
        text = form.format(**{name: name for name in names}, **parts)
        run = eval(f"lambda {', '.join(names)}: {text}", NAMES)
        return self.step(text, run, *read.values(), weights=[*held.values()])

    def one_step(self, calls: Calls, *operands: int, weights: Sequence[Tensor] = ()) -> int:
        """Add one of some calls, by their texts."""
        text, run = self.one(calls.items())
        return self.step(text, run, *operands, weights=weights)

    def finish(self) -> Program:
        return Program(self.inputs, self.steps)


def check(program: Program) -> None:
    """Compile it into one delegate and nothing else, and into kernels alone; run both in both runtimes, compare."""
    imported = to_edge(torch.export.export(program, program.inputs))
    delegated = imported.to_backend(XnnpackPartitioner())
    ops = list(delegated.module.walk())
    outside = [f"{op.name}: {op.attributes.get('xir.reason')}" for op in ops if isinstance(op, edge.EdgeOp)]
    assert not outside, outside
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    portable = imported.to_executorch()
    assert (executorch_kernels() & runtime.portable_kernels()).issuperset(portable.kernel_names)
    inputs = list(program.inputs)
    with torch.no_grad():
        expected = program(*inputs)
        exact = program.double()(*(value.double() for value in inputs))
    program.float()
    for variant, buffer in (("delegated", delegated.to_executorch().buffer), ("portable", portable.buffer)):
        ours = runtime.Runtime.get().load_program(buffer, threads=1).load_method().execute(inputs)
        stock = load_stock(buffer).forward(inputs)
        for name, results in ((f"xir, {variant}", ours), (f"ExecuTorch, {variant}", stock)):
            for output, got, want, reference in zip(program.outputs, results, expected, exact, strict=True):
                assert got.shape == want.shape, f"v{output} in {name}: {list(got.shape)}, not {list(want.shape)}"
                scale = float(want.abs().max())
                allowed = SLACK * float((want - reference).abs().max()) + TOLERANCE * scale + 1e-7
                difference = float((got - want).abs().max())
                assert difference <= allowed, f"v{output} in {name} is off by {difference}, {scale} its largest"
