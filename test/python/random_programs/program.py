"""A program as text: a line of Python for each value, so that what is drawn, run, reduced and shown is one thing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import torch
from reference.modules import Several
from torch import Tensor, nn
from torch.nn import functional

NAMES: dict[str, Any] = {"torch": torch, "F": functional, "inf": float("inf"), "nan": float("nan")}
"""What texts of lines mean by names that are no values."""

NAME = re.compile(r"\b[vxw]\d+\b")
"""What lines read: values, inputs and weights."""


class Kind(Enum):
    """What a rounding of a line's operands does to its result."""

    MOVES = "only moves elements"
    COMPUTES = "moves the result by as much as the operands"
    ROUNDS = "the line rounds itself, as the program asks"
    JUMPS = "may move the result by anything"
    CONSTANT = "there are no operands"


@dataclass(frozen=True)
class Line:
    """`name = text`, an expression of earlier names."""

    name: str
    text: str
    kind: Kind

    @property
    def reads(self) -> list[str]:
        """The names in the text, as often as they occur."""
        return NAME.findall(self.text)


@dataclass(frozen=True)
class Input:
    """A tensor that the caller gives: any of this type and shape, drawn anew for each run."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    low: int
    high: int
    """The range of integers; what is an index stays one."""
    scale: float
    """Of floating-point numbers."""
    open: tuple[int, ...] = ()
    """The dimensions whose sizes the caller may choose."""


@dataclass(frozen=True)
class Program:
    """Lines over inputs and weights; the outputs are values."""

    inputs: Mapping[str, Input]
    weights: Mapping[str, Tensor]
    lines: Sequence[Line]
    outputs: Sequence[str]
    seed: int = 0
    values: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor], repr=False)
    """What inputs held when the program was drawn or cut."""

    def without_dead(self) -> Program:
        """The program without lines, weights and inputs that no output needs."""
        needed, lines = set(self.outputs), list[Line]()
        for line in reversed(self.lines):
            if line.name in needed:
                needed.update(line.reads)
                lines.append(line)
        return replace(
            self,
            inputs={name: each for name, each in self.inputs.items() if name in needed},
            weights={name: each for name, each in self.weights.items() if name in needed},
            lines=lines[::-1],
        )

    @property
    def text(self) -> str:
        """The class of the program, which `module` makes an object of."""
        body = [f"        {name} = self.{name}" for name in self.weights]
        body += [f"        {line.name} = {line.text}" for line in self.lines]
        return "\n".join(
            [
                "class Program(nn.Module):",
                f"    def forward(self, {', '.join(self.inputs)}):",
                *body,
                f"        return {', '.join(self.outputs)},",
            ]
        )

    def module(self) -> nn.Module:
        """The program as PyTorch runs and exports it."""
        namespace: dict[str, Any] = {**NAMES, "nn": nn}
        exec(compile(self.text, f"<program {self.seed}>", "exec"), namespace)
        made = namespace["Program"]()
        for name, weight in self.weights.items():
            made.register_buffer(name, weight.clone())
        return made.eval()


def merged(programs: Sequence[Program]) -> Program:
    """Independent programs as one of their lines."""
    inputs, weights, values = dict[str, Input](), dict[str, Tensor](), dict[str, Tensor]()
    lines, outputs = list[Line](), list[str]()
    for program in programs:
        names = {name: f"x{len(inputs) + n}" for n, name in enumerate(program.inputs)}
        names |= {name: f"w{len(weights) + n}" for n, name in enumerate(program.weights)}
        names |= {line.name: f"v{len(lines) + n}" for n, line in enumerate(program.lines)}
        inputs |= {names[name]: each for name, each in program.inputs.items()}
        values |= {names[name]: program.values[name] for name in program.inputs}
        weights |= {names[name]: each for name, each in program.weights.items()}
        lines += [renamed(line, names) for line in program.lines]
        outputs += [names[name] for name in program.outputs]
    return Program(inputs, weights, lines, outputs, programs[0].seed, values)


def renamed(line: Line, names: Mapping[str, str]) -> Line:
    """A line with other names."""
    text = NAME.sub(lambda match: names.get(match[0], match[0]), line.text)
    return Line(names.get(line.name, line.name), text, line.kind)


def several(programs: Sequence[Program]) -> tuple[Several, tuple[Tensor, ...]]:
    """Programs as one, and its inputs."""
    inputs = tuple(each.values[name] for each in programs for name in each.inputs)
    return Several((each.module(), len(each.inputs)) for each in programs), inputs


def drawn_input(
    each: Input, generator: torch.Generator, scale: float | None = None, sizes: Mapping[int, int] | None = None
) -> Tensor:
    """Elements for an input; `sizes` are other ones of its open dimensions."""
    shape = [sizes.get(dim, size) for dim, size in enumerate(each.shape)] if sizes else list(each.shape)
    if each.dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not each.dtype.is_floating_point:
        return torch.randint(each.low, each.high + 1, shape, generator=generator).to(each.dtype)
    numbers = torch.randn(shape, generator=generator, dtype=torch.float64) * (each.scale if scale is None else scale)
    return numbers.to(each.dtype)
