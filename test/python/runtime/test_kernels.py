"""The portable kernels against torch's out variants of the same names: dtypes, broadcasts, shapes, parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from runtime.kernel_cases import CASES, FLOATS, Case, Out, rand, table
from runtime.kernel_program import KernelProgram, flatten, reference

from xir.runtime import Runtime, XirRuntimeError, fallback, manual_seed, portable_kernels

# torch rounds each step to a 16-bit float, the kernels only the result: they differ in the last place of a step.
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@pytest.fixture(autouse=True)
def no_fallback(monkeypatch: pytest.MonkeyPatch):
    """A kernel that leaves a case to torch fails it."""
    monkeypatch.setattr(fallback, "find_kernel", lambda name: None)


def called(name: str, arguments: Sequence[Any], like: torch.Tensor) -> torch.Tensor:
    """The result of a program of one call, of the shape and dtype of `like`."""
    program = KernelProgram()
    program.call(name, arguments, [like])
    return program.run()[0]


INT8, ONES = torch.int8, torch.ones(1, 2, 9, 1)
FITS = {"query": (1, 4, 2, 8), "key": (1, 2, 9, 8), "value": (1, 2, 9, 8), "mask": (2, 9)}


@pytest.mark.parametrize(
    ("changed", "dtypes", "scales", "error"),
    [
        ({"key": (1, 3, 9, 8), "value": (1, 3, 9, 8)}, (), (), "do not fit"),
        ({"key": (2, 2, 9, 8), "value": (2, 2, 9, 8)}, (), (), "do not fit"),
        ({"value": (1, 2, 8, 8), "mask": (2, 8)}, (), (), "do not fit"),
        ({"key": (1, 2, 9, 4)}, (), (), "do not fit"),
        *(({"mask": mask}, (), (), rf"\[{str(mask)[1:-1]}\]") for mask in ((2, 10), (3, 9), (2, 2, 9), (2, 0))),
        ({}, (INT8, INT8), (None, None), "integers without scales"),
        ({}, (INT8, INT8), (ONES, None), "integers without scales"),
        ({}, (INT8, INT8), (ONES, torch.ones(1, 2, 8, 1)), r"\[1, 2, 8, 1\]"),
        ({}, (INT8, INT8), (ONES, torch.ones(1, 2, 9)), r"\[1, 2, 9\]"),
        ({}, (INT8, INT8), (ONES, ONES.half()), "these scales"),
        ({}, (torch.float32, torch.float32), (ONES, None), "floats with scales"),
        ({}, (INT8, torch.float32), (ONES, None), "keys and values of two dtypes"),
        ({}, (torch.uint8, torch.uint8), (ONES, ONES), "values of this dtype"),
    ],
)
def test_prefixes_and_scales_that_do_not_fit(changed: Any, dtypes: Any, scales: Any, error: str):
    query, key, value, mask = (torch.zeros(shape) for shape in (FITS | changed).values())
    if dtypes:
        key, value = key.to(dtypes[0]), value.to(dtypes[1])
    with pytest.raises(XirRuntimeError, match=error):
        called("xir::attend_prefix.out", [query, key, value, mask, *(scales or (None, None)), None], query)


def test_all_integers_of_a_cache():
    """Attention to one key is its value times its scale, to the bit, however many vectors it takes."""
    integers = torch.arange(-128, 128).to(torch.int8)
    value, one = integers.reshape(1, 1, 1, -1), torch.ones(1, 1, 1, 1)
    arguments = [one, one.char(), value, torch.ones(1, 1), one, one * 0.3, None]
    result = called("xir::attend_prefix.out", arguments, torch.empty(1, 1, 1, 256))
    assert torch.equal(result.flatten(), integers.float() * 0.3)


def test_all_halves_of_a_cache():
    """Attention to one key is its value."""
    halves = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.half)
    value, one = torch.stack((halves, halves.flip(0))).reshape(1, 1, 2, -1), torch.ones(1, 1, 2, 1).half()
    arguments = [torch.ones(1, 1, 1, 1), one, value, torch.ones(1, 1), None, None, None]
    result = called("xir::attend_prefix.out", arguments, torch.empty(1, 1, 1, 2**16))
    torch.testing.assert_close(result.flatten(), halves.float(), rtol=0, atol=0, equal_nan=True)


def test_what_lies_behind_a_prefix_is_not_read():
    query, cache, mask = rand(1, 2, 1, 8), rand(1, 2, 9, 8), torch.ones(1, 5, dtype=torch.bool)
    hidden = cache.clone()
    hidden[:, :, 5:] = math.nan
    result = called("xir::attend_prefix.out", [query, hidden, hidden, mask, None, None, None], query)
    expected = torch.nn.functional.scaled_dot_product_attention(query, cache[:, :, :5], cache[:, :, :5])
    torch.testing.assert_close(result, expected)


@pytest.mark.parametrize(("kind", "per_byte"), [("byte", 1), ("4bit", 2), ("2bit", 4)])
@pytest.mark.parametrize("index", [-1, 6])
def test_rows_that_a_table_lacks(kind: str, per_byte: int, index: int):
    arguments = (table(per_byte), torch.ones(6), None, 0, 1, torch.tensor([index]))
    with pytest.raises(XirRuntimeError, match=f"index {index} of 6"):
        called(f"quantized_decomposed::embedding_{kind}.out", arguments, torch.empty(1, 24))


def check(name: str, cases: Sequence[Case]) -> None:
    """One program with a call for each case."""
    kernels, expected = KernelProgram(), list[torch.Tensor]()
    described: list[str] = []
    for case in cases:
        dtypes = case[-1] if isinstance(case[-1], Out) else None
        arguments = case[:-1] if dtypes is not None else case
        wanted = reference(name, arguments, dtypes)
        kernels.call(name, arguments, wanted)
        expected += flatten(wanted)
        described += [describe(arguments)] * len(flatten(wanted))
    for got, want, what in zip(kernels.run(), expected, described, strict=True):
        assert got.dtype == want.dtype
        try:
            tolerance = TOLERANCE.get(want.dtype)
            torch.testing.assert_close(got, want, equal_nan=True, rtol=tolerance, atol=tolerance)
        except AssertionError as error:
            raise AssertionError(f"{name}({what})\n{error}") from None


def describe(arguments: Sequence[Any]) -> str:
    return ", ".join(f"{a.dtype}{list(a.shape)}" if isinstance(a, torch.Tensor) else repr(a)[:60] for a in arguments)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_torch(name: str):
    cases = list(CASES[name])
    assert cases, "no cases"
    for start in range(0, len(cases), 40):
        check(name, cases[start : start + 40])


RANDOM = {"aten::rand.out", "aten::randn.out", "aten::randperm.out"}
"""Results that nobody knows before."""


def draw(name: str, *arguments: Any, like: torch.Tensor, seed: int | None = None) -> torch.Tensor:
    """What a program of one random kernel answers."""
    if seed is not None:
        manual_seed(seed)
    return called(name, arguments, like)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers(dtype: torch.dtype):
    drawn = draw("aten::rand.out", [200, 200], like=torch.empty(200, 200, dtype=dtype), seed=1).double()
    assert drawn.min() >= 0
    assert drawn.max() < 1
    digits = {torch.float16: 11, torch.bfloat16: 8}.get(dtype, 24)
    assert len(drawn.unique()) > 0.7 * min(2**digits, drawn.numel())
    # The mean and the variance of 40,000 numbers are this near in all but one of a million draws.
    assert abs(drawn.mean() - 0.5) < 5 * math.sqrt(1 / 12 / drawn.numel()) + 2.0**-digits
    assert abs(drawn.var() - 1 / 12) < 0.003


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers(dtype: torch.dtype):
    drawn = draw("aten::randn.out", [200, 200], like=torch.empty(200, 200, dtype=dtype), seed=2).double()
    assert drawn.isfinite().all()
    assert abs(drawn.mean()) < 5 / math.sqrt(drawn.numel())
    assert abs(drawn.var() - 1) < 5 * math.sqrt(2 / drawn.numel())
    assert abs((drawn.abs() < 1).double().mean() - 0.6827) < 0.015
    assert abs((drawn.abs() < 2).double().mean() - 0.9545) < 0.01


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32])
def test_random_orders(dtype: torch.dtype):
    drawn = draw("aten::randperm.out", 500, like=torch.empty(500, dtype=dtype), seed=3)
    assert sorted(drawn.tolist()) == list(range(500))
    assert (drawn == torch.arange(500)).sum() < 10
    # Each of three numbers is as likely in each place.
    kernels = KernelProgram()
    kernels.call("aten::randperm.out", [3], [torch.empty(3, dtype=dtype)])
    method = Runtime.get().load_program(kernels.file()).load_method("forward")
    orders = torch.stack([torch.as_tensor(method.execute([])[0]) for _ in range(300)])
    assert all(60 < (orders[:, place] == number).sum() < 140 for place in range(3) for number in range(3))


@pytest.mark.parametrize(("name", "argument"), [("aten::rand.out", [9]), ("aten::randperm.out", 9)])
def test_a_seed_repeats_the_numbers(name: str, argument: Any):
    first, again, next_one, other = (draw(name, argument, like=torch.empty(9), seed=seed) for seed in (7, 7, None, 8))
    assert torch.equal(first, again)
    assert not torch.equal(first, next_one)
    assert not torch.equal(first, other)


WITHOUT_ORACLE = RANDOM | {"aten::copy_", "aten::index_put_", "aten::empty.out", "dim_order_ops::_empty_dim_order.out"}
"""Results that nobody compares, and in-place kernels, whose result is no tensor of its own."""


def test_every_kernel_has_cases():
    """Numbers that programs compute are tested with dynamic shapes; for caches see `interop/test_llm_kernels`."""
    others = ("executorch_prim::", "aten::sym_", "aten::_local", "llama::")
    names = {name for name in portable_kernels() if not name.startswith(others)}
    assert names - WITHOUT_ORACLE == CASES.keys()
