"""Functions of complex numbers in fp32, part by part, against eager in fp64: near 0, near ±1 and ±i, and far away."""

from __future__ import annotations

from collections.abc import Callable

import torch
from reference.modules import Function
from reference.roundings import Bounds, noises
from torch import Tensor

import xir
from xir.runtime import Runtime

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **{name: getattr(torch, name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log1p", "log2", "log10",
        "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    )},
    "cumprod": lambda z: z.reshape(-1, 5).cumprod(1),
    "prod": lambda z: z.reshape(-1, 7).prod(1),
    "quotients": lambda z: z / z.roll(1, 0),
    **{f"power {n}": lambda z, n=n: z**n for n in (-2, -1, -0.5, 0, 0.5, 1, 2, 3)},
}  # fmt: skip

CENTERS = (0, 1, -1, 1j, -1j, -3, 2 + 3j)


def every_function(x: Tensor) -> tuple[Tensor, ...]:
    """What all of them make of pairs of real numbers."""
    z = torch.view_as_complex(x)
    return tuple(torch.view_as_real(function(z)) for function in FUNCTIONS.values())


def numbers() -> Tensor:
    """[numbers, 2]: around each centre at several distances, on neither axis."""
    generator = torch.Generator().manual_seed(0)
    found = [
        torch.tensor([complex(center).real, complex(center).imag]) + torch.randn(50, 2, generator=generator) * size
        for center in CENTERS
        for size in (1e-3, 0.1, 1.0)
    ]
    return torch.cat(found)


def test_both_parts_are_as_good_as_inputs_let_them_be() -> None:
    x, model = numbers(), Function(every_function)
    near = [model(noise.moved(x.double(), torch.float32)) for noise in noises(0, 12)]
    program = xir.to_edge(torch.export.export(model, (x,))).to_backend(xir.XnnpackPartitioner())
    got = Runtime.get().load_program(program.to_executorch().buffer).load_method().execute([x])
    wrong = dict[str, str]()
    for index, (name, eager, exact) in enumerate(zip(FUNCTIONS, model(x), model(x.double()), strict=True)):
        bounds = Bounds.of(eager, exact, [each[index] for each in near])
        wrong[name] = bounds.wrong(torch.as_tensor(got[index]))
    assert {name: each for name, each in wrong.items() if each} == {}
