"""Complex numbers and Fourier transforms, pairs of real ones in the IR: against eager, in both runtimes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from reference.both_runtimes import Program, check, delegates, lower
from torch import Tensor
from torch.export import Dim

from xir.api import to_edge
from xir.ir.diagnostics import DiagnosticError


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
    torch.manual_seed(1)
    model, x = Program(function, *constants).eval(), torch.randn(shape)
    lowered = lower(model, x)
    check(model, lowered, [x, torch.randn(shape)])
    assert delegates(lowered) == 1


def test_any_batch() -> None:
    torch.manual_seed(1)
    model = Program(lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real.relu())
    lowered = lower(model, torch.randn(3, 8, 16), ({0: Dim("batch", max=5)},))
    check(model, lowered, [torch.randn(n, 8, 16) for n in (5, 1, 3)])


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
