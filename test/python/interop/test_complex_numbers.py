"""Complex numbers and Fourier transforms, pairs of real ones in the IR: against eager, in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

import pytest
import torch
from reference.both_runtimes import Program, check, holds, lower
from reference.dozens import check_together, dozens
from torch import Tensor
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge
from xir.ir.diagnostics import DiagnosticError
from xir.runtime import Runtime


def rotary(x: Tensor, angles: Tensor) -> Tensor:
    """As Llama's first code turns queries and keys, [N, L, heads, features]."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * angles[:, None]).flatten(3)


def arithmetic(x: Tensor) -> Tensor:
    z = torch.complex(x, 1 - x)
    quotient = (2j - z) / (z * (1 - 2j) + 3)
    power = (z * z.conj()).real + z.exp().imag + (x * 1j).abs()
    return quotient.real + quotient.imag + power + torch.polar(x.abs(), x).imag


HANN = torch.hann_window(64)
ANGLES = torch.polar(torch.ones(16, 4), torch.linspace(0, 9, 64).view(16, 4))

CASES: dict[str, tuple[Callable[..., Tensor], tuple[int, ...], tuple[Tensor, ...]]] = {
    "rotary": (rotary, (2, 16, 3, 8), (ANGLES,)),
    "times_i": (lambda x: torch.view_as_real(torch.view_as_complex(x) * 1j), (5, 2), ()),
    "arithmetic": (arithmetic, (4, 6), ()),
    "moves": (
        lambda x, c: torch.view_as_real(torch.cat((c[None] + x, c[None].conj()), 0).transpose(0, 1)[2:]).flatten(1),
        (3, 16, 4),
        (ANGLES,),
    ),
    "matmul": (lambda x: torch.view_as_real(torch.complex(x, x + 1) @ torch.complex(x.mT, -x.mT)), (2, 3, 4), ()),
    "rfft": (lambda x: torch.fft.rfft(x).abs(), (2, 63), ()),
    "fft_of_planes": (lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, (2, 16, 12), ()),
    "fft_of_3000": (lambda x: torch.view_as_real(torch.fft.fft(x, norm="ortho")), (2, 3000), ()),
    "fft_of_a_prime": (lambda x: torch.view_as_real(torch.fft.ifft(x).resolve_conj()), (2, 1031), ()),
    "filter": (
        lambda x, c: torch.fft.irfft(torch.fft.rfft(x) * torch.view_as_complex(c), n=64),
        (2, 64),
        (torch.linspace(-1, 1, 66).view(33, 2),),
    ),
    "irfft_of_odd_planes": (
        lambda x: torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho") * 0.5, s=(6, 9), norm="ortho"),
        (2, 6, 9),
        (),
    ),
    "spectrogram": (lambda x, w: torch.stft(x, 64, 16, window=w, return_complex=True).abs() ** 2, (2, 400), (HANN,)),
    "stft_both_sides": (
        lambda x, w: torch.view_as_real(
            torch.stft(x, 64, 20, 48, w, center=False, normalized=True, onesided=False, return_complex=True)
        ),
        (400,),
        (torch.hamming_window(48),),
    ),
    "istft": (
        lambda x, w: torch.istft(torch.stft(x, 64, 16, window=w, return_complex=True), 64, 16, window=w, length=390),
        (2, 400),
        (HANN,),
    ),
    "istft_normalized": (
        lambda x, w: torch.istft(torch.stft(x, 64, 16, 60, w, normalized=True, return_complex=True), 64, 16, 60, w,
                                 normalized=True),
        (400,),
        (torch.hamming_window(60),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_delegate(name: str) -> None:
    function, shape, constants = CASES[name]
    holds(Program(function, *constants), [torch.randn(shape) for _ in range(2)])


def z_of(x: Tensor) -> Tensor:
    return torch.complex(x, -2 * x)


MADE: dict[str, Callable[[Tensor], Tensor]] = {
    "ones": lambda x: torch.ones(6, dtype=torch.complex64) * x,
    "zeros": lambda x: torch.zeros(6, dtype=torch.complex64) + x,
    "full": lambda x: torch.full((6,), 1 + 2j) * x,
    "eye": lambda x: torch.eye(6, dtype=torch.complex64) @ z_of(x).mT,
    "oblong_eye": lambda x: torch.eye(6, 3, dtype=torch.complex64) + x[:, :3].sum(),
    "ones_like": lambda x: torch.ones_like(z_of(x)) * x,
    "zeros_like": lambda x: torch.zeros_like(z_of(x)) + x,
    "full_like": lambda x: torch.full_like(z_of(x), 3 - 1j) * x,
    "complex_like_real": lambda x: torch.ones_like(x, dtype=torch.complex64) * x,
    "new_ones": lambda x: z_of(x).new_ones(6) * x,
    "new_full": lambda x: z_of(x).new_full((6,), 2j) + x,
    "fill": lambda x: torch.fill(z_of(x), 1j) * x,
    "whole_times_complex": lambda x: torch.arange(6) * z_of(x),
    "whole_less_complex": lambda x: torch.arange(6) - z_of(x),
    "whole_over_complex": lambda x: torch.arange(6) / (z_of(x) + 5j),
    "whole_times_number": lambda x: torch.arange(6) * 1j + x,
    "truth_times_complex": lambda x: (x > 0) * z_of(x),
    "whole_as_complex": lambda x: (4 * x).int().to(torch.complex64),
    "cat_of_both": lambda x: torch.cat([x, z_of(x), torch.ones(1, 6, dtype=torch.complex64), torch.ones(1, 6).long()]),
    "stack_of_both": lambda x: torch.stack([z_of(x), torch.ones(4, 6, dtype=torch.complex64)]),
    "where": lambda x: torch.where(x > 0, z_of(x), torch.where(x < -1, x, 2.0)),
    "where_number": lambda x: torch.where(x > 0, z_of(x), 2.0),
    "product": lambda x: z_of(x) @ torch.ones(6, 3, dtype=torch.complex64),
    "kron": lambda x: torch.kron(z_of(x), torch.eye(2, dtype=torch.complex64)),
    "roll": lambda x: torch.fft.fftshift(z_of(x)),
    "triangle": lambda x: z_of(x).tril() + z_of(x).triu(1),
    "diagonal": lambda x: torch.diag_embed(z_of(x)) + torch.diag(z_of(x)[0]),
    "addcmul": lambda x: torch.lerp(z_of(x), torch.addcmul(z_of(x), z_of(x), z_of(x + 1), value=2), 0.25),
    "unbind": lambda x: torch.stack(z_of(x).unbind(0)[::-1]),
    "index_put": lambda x: torch.index_put(z_of(x), (torch.tensor([0, 2]),), x[:1] * 1j),
    "unfold": lambda x: z_of(x).unfold(1, 2, 2).permute(2, 1, 0),
    "trace": lambda x: torch.trace(z_of(x)) + torch.take(z_of(x), torch.tensor([3, 5])),
    "vdot": lambda x: torch.vdot(z_of(x)[0], z_of(x)[1]).reshape(1),
    "stft_of_complex": lambda x: torch.stft(z_of(x).flatten(), 8, window=torch.ones(8), return_complex=True),
    "istft_of_all_frequencies": lambda x: 1j * torch.istft(z_of(x).mT, 6, window=torch.ones(6)),
    "griffin_lim": lambda x: torch.stft(
        torch.istft(torch.polar(x.abs().mT[:5], torch.ones(5, 4)), 8, 2, window=HANN[:8], length=8), 8, 2,
        window=HANN[:8], return_complex=True
    ) * torch.ones(5, 5, dtype=torch.complex64),
}  # fmt: skip


@pytest.mark.parametrize("functions", dozens([*MADE.items()], itemgetter(0)))
def test_made_in_the_program(functions: list[tuple[str, Callable[[Tensor], Tensor]]]) -> None:
    """Complex tensors that come from no operand, and operands of other types beside complex ones."""

    def check_all(functions: Sequence[tuple[str, Callable[[Tensor], Tensor]]]) -> None:
        model = Program(lambda x: [torch.view_as_real(function(x)) for _, function in functions]).eval()
        x = torch.randn(4, 6)
        program = to_edge(torch.export.export(model, (x,)))
        for form in (program, program.to_backend(XnnpackPartitioner())):
            found = Runtime.get().load_program(form.to_executorch().buffer).load_method().execute([x])
            torch.testing.assert_close(found, model(x), rtol=1e-5, atol=1e-5)

    check_together(check_all, functions, itemgetter(0))


def test_any_batch() -> None:
    model = Program(lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real.relu())
    holds(model, [torch.randn(n, 8, 16) for n in (3, 5, 1)], ({0: Dim("batch", max=5)},))


def test_angles_are_a_kernel() -> None:
    model = Program(lambda x: torch.complex(x, x + 1).angle() + x)
    x = torch.randn(4, 4)
    check(model, lower(model, x), [x], ["edge.atan2"])


@pytest.mark.parametrize(
    ("function", "complex_input", "message"),
    [
        (lambda x: x.abs(), True, "input 'x' is complex, which no file can say: take torch.view_as_real"),
        (lambda x: x * 1j, False, r"output #0 is complex, which no file can say: return torch.view_as_real\(x\)"),
        (
            lambda x: torch.linalg.inv(x * 1j).abs(),
            False,
            "of complex numbers has no form here: compute with torch.view",
        ),
    ],
    ids=["input", "output", "inverse"],
)
@pytest.mark.filterwarnings("ignore")
def test_refusals(function: Callable[[Tensor], Tensor], complex_input: bool, message: str) -> None:
    x = torch.randn(4, 4, dtype=torch.complex64 if complex_input else torch.float32)
    with pytest.raises(DiagnosticError, match=message):
        to_edge(torch.export.export(Program(function), (x,)))
