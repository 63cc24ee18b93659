"""Drawing a program line by line."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from random_programs.exact import evaluated
from random_programs.program import Input, Kind, Line, Program, drawn_input

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
TYPES = {*FLOATS, *INTEGERS, torch.bool, torch.complex64}

MOST_ELEMENTS = 4000
"""Of a value: it is the forms that matter, not the sizes."""

LARGEST = 200.0
"""What is larger is mostly scaled down, so that not all programs end in infinities."""


class Builder:
    """Draws a program; `values` are what eager computes, so that shapes, types and magnitudes are known."""

    def __init__(self, seed: int, *, open_sizes: bool = False, jumps: bool = True):
        self.seed = seed
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.open_sizes = open_sizes
        self.may_jump = jumps
        self.inputs: dict[str, Input] = {}
        self.weights: dict[str, Tensor] = {}
        self.lines: list[Line] = []
        self.values: dict[str, Tensor] = {}

    # Draws

    def int(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def flag(self, probability: float = 0.5) -> bool:
        return self.random.random() < probability

    def one(self, values: Sequence[Any]) -> Any:
        return self.random.choice(values)

    # Values

    def input(self, dtype: torch.dtype, shape: Sequence[int]) -> str:
        """A new input."""
        low, high = {torch.uint8: (0, 200), torch.int64: (-9, 9)}.get(dtype, (-100, 100))
        scale = self.one([1.0, 1.0, 1.0, 30.0, 1e-3])
        dims = tuple(dim for dim, size in enumerate(shape) if size > 1 and self.flag()) if self.open_sizes else ()
        name = f"x{len(self.inputs)}"
        self.inputs[name] = Input(dtype, tuple(shape), low, high, scale, dims)
        self.values[name] = drawn_input(self.inputs[name], self.generator)
        return name

    def weight(self, *shape: int, dtype: torch.dtype = torch.float32) -> str:
        """A new parameter of normal numbers, divided by the root of how many of them one result adds up."""
        fan_in = max(1, torch.Size(shape).numel() // max(1, shape[0] if shape else 1))
        name = f"w{len(self.weights)}"
        self.weights[name] = (torch.randn(shape, generator=self.generator) / fan_in**0.5).to(dtype)
        self.values[name] = self.weights[name]
        return name

    def add(self, text: str, kind: Kind) -> str | None:
        """A line, whose value's name comes back; None where PyTorch or the sizes refuse it."""
        name = f"v{len(self.lines)}"
        line = Line(name, text, kind)
        try:
            with torch.no_grad():
                value = evaluated(line, self.values)
        except Exception:
            return None
        if value.dtype not in TYPES or not 0 < value.numel() <= MOST_ELEMENTS:
            return None
        if value.dim() > 6 or (value.is_floating_point() and not value.isfinite().any()):
            return None
        self.lines.append(line)
        self.values[name] = value
        if value.is_floating_point() and self.flag(0.9):
            largest = float(value[value.isfinite()].abs().max())
            if largest > LARGEST:
                factor = 2.0 ** -min(int(largest).bit_length(), 90)
                return self.add(f"{name} * {factor}", Kind.COMPUTES) or name
        return name

    def computes(self, text: str) -> str | None:
        return self.add(text, Kind.COMPUTES)

    def moves(self, text: str) -> str | None:
        return self.add(text, Kind.MOVES)

    def jumps(self, text: str) -> str | None:
        return self.add(text, Kind.JUMPS) if self.may_jump else None

    def rounds(self, text: str) -> str | None:
        return self.add(text, Kind.ROUNDS)

    def constant(self, text: str) -> str | None:
        return self.add(text, Kind.CONSTANT)

    def dtype(self, name: str) -> torch.dtype:
        return self.values[name].dtype

    def shape(self, name: str) -> list[int]:
        return list(self.values[name].shape)

    def rank(self, name: str) -> int:
        return self.values[name].dim()

    def is_float(self, name: str) -> bool:
        return self.values[name].is_floating_point()

    def size(self, name: str, dim: int) -> str:
        """The size of a dimension, as text: read from the value where sizes are open."""
        return f"{name}.shape[{dim}]" if self.open_sizes else str(self.shape(name)[dim])

    def named(self, *dtypes: torch.dtype, rank: int | None = None) -> list[str]:
        """The values of some types (all numbers if none is named) and of a rank."""
        return [
            name
            for name, value in self.values.items()
            if not name.startswith("w")
            and (value.dtype in dtypes if dtypes else not value.is_complex())
            and rank in (None, value.dim())
        ]

    def pick(self, *dtypes: torch.dtype, rank: int | None = None) -> str | None:
        """One of these values, the newer the likelier."""
        found = self.named(*dtypes, rank=rank)
        return self.one([*found, *found[-3:], *found[-1:]]) if found else None

    def any_type(self) -> torch.dtype:
        """Of what a line makes or converts to."""
        return self.one([*FLOATS, *FLOATS, torch.bool, *INTEGERS])

    def same_shape(self, name: str) -> str:
        """A value that stands beside another in an elementwise op: often itself."""
        if self.flag(0.2):
            return name
        found = [each for each in self.named() if self.shape(each) == self.shape(name)]
        return self.one([*found, *found[-2:]])

    def number(self) -> str:
        """A value of any type that is no complex one."""
        name = self.pick()
        assert name is not None
        return name

    def real(self, rank: int | None = None) -> str:
        """A value with fractions, made for want of one."""
        name = self.pick(*FLOATS, rank=rank) or self.pick(*FLOATS)
        if name is None:
            name = self.rounds(f"{self.number()}.to({self.one(FLOATS)})")
            assert name is not None
        if rank is None or self.rank(name) == rank:
            return name
        made = self.moves(f"{name}.reshape({self.of_rank(name, rank)})")
        return made or name

    def of_rank(self, name: str, rank: int) -> str:
        """A shape of `rank` dimensions with as many elements, as text."""
        own = self.rank(name)
        if own < rank:
            return ", ".join(["1"] * (rank - own) + [self.size(name, dim) for dim in range(own)])
        return ", ".join(["-1", *(self.size(name, dim) for dim in range(own - rank + 1, own))])

    def finish(self) -> Program:
        """The program; the outputs are what no line reads, and some of what lines read."""
        read = {name for line in self.lines for name in line.reads}
        outputs = [line.name for line in self.lines if line.name not in read or self.flag(0.25)]
        outputs = [name for name in outputs if not self.values[name].is_complex()]
        values = {name: self.values[name] for name in self.inputs}
        program = Program(self.inputs, self.weights, self.lines, outputs, self.seed, values)
        return program.without_dead()
