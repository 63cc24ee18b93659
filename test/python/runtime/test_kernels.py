"""The portable kernels against torch's out variants of the same names: dtypes, broadcasts, shapes, parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
import torch
from runtime.kernels import KernelProgram, flatten, reference

from xir.runtime import XirRuntimeError, fallback, manual_seed, portable_kernels

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL = (*FLOATS, *INTS, torch.bool)
INDEX = torch.int64

# torch rounds each step to a 16-bit float, the kernels only the result: they differ in the last place of a step.
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

Case = tuple[Any, ...]
"""A kernel's arguments, then perhaps `Out(dtypes)`."""


class Out(tuple[torch.dtype, ...]):
    """The dtypes of a kernel's results, where they are not the first tensor's."""


def out(*dtypes: torch.dtype) -> Out:
    return Out(dtypes)


@pytest.fixture(autouse=True)
def no_fallback(monkeypatch: pytest.MonkeyPatch):
    """A kernel that leaves a case to torch fails it."""
    monkeypatch.setattr(fallback, "find_kernel", lambda name: None)


def rand(*shape: int, dtype: torch.dtype = torch.float32, low: float = -3, high: float = 3) -> torch.Tensor:
    """Elements of [low, high], the same in each run."""
    generator = torch.Generator().manual_seed(math.prod(shape) + len(shape))
    if dtype.is_floating_point:
        return (torch.rand(shape, generator=generator) * (high - low) + low).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    return torch.randint(
        int(max(low, 0 if dtype == torch.uint8 else low)), int(high) + 1, shape, generator=generator
    ).to(dtype)


SPECIAL = torch.tensor([0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, math.inf, -math.inf, math.nan, 1e-8, 6.0, -6.0, 1e20])


def unary(dtypes: Iterable[torch.dtype] = ALL, low: float = -3, high: float = 3, special: bool = True) -> list[Case]:
    """One operand of each dtype, channels last too; integers become floats where the result is one."""
    cases: list[Case] = [(rand(2, 3, 4, dtype=dtype, low=low, high=high),) for dtype in dtypes]
    cases.append((rand(2, 3, 4, 5, low=low, high=high).to(memory_format=torch.channels_last),))
    cases += [(torch.tensor(0.5),), (torch.empty(0, 3),)]
    return [*cases, *([(SPECIAL,)] if special else [])]


def to_float(cases: list[Case]) -> list[Case]:
    """Integers in, float32 out."""
    return [case if case[0].dtype.is_floating_point else (*case, out(torch.float32)) for case in cases]


def to_bool(cases: list[Case]) -> list[Case]:
    return [(*case, out(torch.bool)) for case in cases]


SHAPES = [
    ((2, 3), (2, 3)),
    ((2, 1, 4), (3, 1)),
    ((5,), ()),
    ((), ()),
    ((2, 3, 4), (4,)),
    ((0, 3), (1, 3)),
    ((700,), (2, 1)),
]


MIXED = (
    (torch.float32, torch.int64),
    (torch.int32, torch.float32),
    (torch.uint8, torch.int8),
    (torch.bool, torch.int16),
)
EVERY_PAIR = tuple(itertools.permutations(ALL, 2))


def binary(
    dtypes: Iterable[torch.dtype] = ALL,
    result: torch.dtype | None = None,
    nonzero: bool = False,
    scalars: Sequence[Any] = (),
    mixed: Sequence[tuple[torch.dtype, ...]] = MIXED,
    floating: bool = False,
) -> Iterator[Case]:
    """Two tensors, or a tensor and each of `scalars`."""

    def values(shape: Sequence[int], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
        x = rand(*shape, seed + 2, dtype=dtype)[..., seed] if shape != () else rand(seed + 1, dtype=dtype)[seed]
        return torch.where(x == 0, torch.ones_like(x), x) if nonzero else x

    def case(a: torch.Tensor, b: Any) -> Case:
        common = torch.result_type(a, b)
        kind = result or (torch.float32 if floating and not common.is_floating_point else common)
        return (a, b, out(kind))

    for dtype in dtypes:
        if scalars:
            for s in scalars:
                yield case(values((2, 5), dtype), s)
            continue
        for left, right in SHAPES:
            yield case(values(left, dtype), values(right, dtype, 1))
    for a, b in () if scalars else mixed:
        if a in dtypes and b in dtypes:
            for shape in ((4,), ()):
                yield case(values((4,), a), values(shape, b, 1))


def with_alpha(cases: Iterable[Case], *alphas: Any) -> Iterator[Case]:
    for a, b, kind in cases:
        for alpha in alphas:
            if kind[0].is_floating_point or isinstance(alpha, int):
                yield (a, b, alpha, kind)


NO_BOOL = (*FLOATS, *INTS)
CASES: dict[str, Any] = {
    **{
        f"aten::{name}.out": to_float(unary())
        for name in ("atan", "asinh", "erf", "sinh", "sin", "cos", "sigmoid", "tanh", "exp", "expm1", "exp2")
    },
    **{
        f"aten::{name}.out": to_float(unary(low=0.1))
        for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal")
    },
    **{f"aten::{name}.out": to_float(unary(NO_BOOL, low=-1, high=1)) for name in ("acos", "asin", "atanh")},
    "aten::acosh.out": to_float(unary(low=1)),
    "aten::cosh.out": to_float(unary()),
    "aten::tan.out": to_float(unary(low=-1, high=1)),
    **{
        f"aten::{name}.out": unary(NO_BOOL)
        for name in ("square", "abs", "neg", "relu", "sign", "ceil", "floor", "round", "trunc")
    },
    "aten::bitwise_not.out": [(rand(2, 3, dtype=dtype),) for dtype in (*INTS, torch.bool)],
    **{f"aten::{name}.out": to_bool(unary()) for name in ("isinf", "isnan", "logical_not")},
    **{f"aten::{name}.out": unary(FLOATS) for name in ("silu", "mish", "hardswish", "hardsigmoid")},
    "aten::gelu.out": [(*case, mode) for case in unary(FLOATS, special=False) for mode in ("none", "tanh")],
    "aten::elu.out": [(*case, 1.5, 0.75, 2.0) for case in unary(FLOATS)],
    "aten::leaky_relu.out": [(*case, 0.125) for case in unary(FLOATS)],
    "aten::softplus.out": [(*case, 1.5, 2.0) for case in unary(FLOATS)],
    "aten::logit.out": [(rand(3, 4, dtype=d, low=0.01, high=0.99), eps) for d in FLOATS for eps in (None, 0.1)],
    "aten::hardtanh.out": [(*case, -1, 2) for case in unary((*FLOATS, *INTS[:4]))],
    "aten::clamp.out": [
        *((*case, *bounds) for case in unary(NO_BOOL) for bounds in ((1, 2), (None, 1), (0, None), (2, 1))),
        *((rand(4, dtype=d), -0.5, 1.5, out(d if d.is_floating_point else torch.float32)) for d in NO_BOOL),
    ],
    "aten::clamp.Tensor_out": [
        (rand(3, 4, dtype=d), *b)
        for d in NO_BOOL
        for b in (
            (rand(4, dtype=d, high=0), rand(1, dtype=d, low=1)),
            (None, rand(4, dtype=d)),
            (rand(3, 1, dtype=d), None),
        )
    ],
    "aten::add.out": with_alpha(binary(mixed=EVERY_PAIR), 1, 2, 0.5),
    "aten::add.Scalar_out": with_alpha(binary(scalars=(2, 0.5, True)), 1, 3),
    "aten::sub.out": with_alpha(binary(NO_BOOL), 1, 2, 0.5),
    "aten::sub.Scalar_out": with_alpha(binary(NO_BOOL, scalars=(2, 0.5)), 1, 3),
    "aten::rsub.Scalar_out": with_alpha(binary(NO_BOOL, scalars=(2, 0.5)), 1, 3),
    "aten::mul.out": binary(),
    "aten::mul.Scalar_out": binary(scalars=(2, 0.5, True)),
    "aten::div.out": binary(floating=True, nonzero=True),
    "aten::div.Scalar_out": binary(floating=True, scalars=(2, 0.5)),
    "aten::maximum.out": binary(),
    "aten::minimum.out": binary(),
    "aten::atan2.out": binary(floating=True),
    "aten::where.self_out": [
        (rand(2, 1, 4, dtype=torch.bool), a, b, out(torch.result_type(a, b)))
        for x in ALL
        for y in ALL
        for a, b in ((rand(3, 1, dtype=x), rand(4, dtype=y)),)
    ],
    "aten::masked_fill.Scalar_out": [
        *((rand(2, 3, dtype=d), rand(3, dtype=torch.bool), 2) for d in ALL),
        *((rand(2, 3, dtype=torch.bool), rand(3, dtype=torch.bool), value) for value in (-0.5, 0.0, math.nan)),
    ],
    "aten::masked_fill.Tensor_out": [
        *((rand(2, 3, dtype=d), rand(3, dtype=torch.bool), torch.tensor(2, dtype=d)) for d in ALL),
        (rand(2, 3, dtype=torch.bool), rand(3, dtype=torch.bool), torch.tensor(0.5)),
    ],
    **{f"aten::{name}.Tensor_out": binary(result=torch.bool) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{
        f"aten::{name}.Scalar_out": binary(result=torch.bool, scalars=(1, 0.5))
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    **{f"aten::logical_{name}.out": binary(result=torch.bool) for name in ("and", "or", "xor")},
    **{f"aten::bitwise_{name}.Tensor_out": binary((*INTS, torch.bool)) for name in ("and", "or", "xor")},
    **{f"aten::bitwise_{name}.Scalar_out": binary((*INTS, torch.bool), scalars=(3,)) for name in ("and", "or", "xor")},
}


LAST = torch.channels_last
CASES.update(
    {
        "aten::sum.IntList_out": [
            (x, dims, keep, None, out(x.dtype if x.dtype.is_floating_point else torch.int64))
            for x in (*(rand(2, 3, 4, dtype=d) for d in ALL), rand(2, 3, 4, 5).to(memory_format=LAST))
            for dims in ([0], [-1, 1], None, [])
            for keep in (False, True)
        ],
        "aten::mean.out": [
            (x, dims, keep, None)
            for x in (
                *(rand(2, 3, 40, dtype=d) for d in FLOATS),
                rand(2, 3, 4, 5).to(memory_format=LAST),
                torch.tensor(2.5),
            )
            for dims in ([-1], None, [0])
            for keep in (False, True)
        ],
        **{
            f"aten::{name}.out": [
                (x, dims, keep)
                for x in (*(rand(2, 3, 40, dtype=d) for d in ALL), torch.tensor([[1.0, math.nan], [math.inf, 2.0]]))
                for dims in ([0], [-1], [])
                for keep in (False, True)
            ]
            for name in ("amax", "amin")
        },
        "aten::prod.int_out": [
            (rand(2, 3, 4, dtype=d), 1, True, None, out(d if d.is_floating_point else torch.int64)) for d in ALL
        ],
        "aten::prod.out": [(rand(2, 3, dtype=d), None, out(d if d.is_floating_point else torch.int64)) for d in ALL],
        **{f"aten::{name}.unary_out": [(rand(2, 30, dtype=d),) for d in ALL] for name in ("max", "min")},
        **{
            f"aten::{name}": [
                (x, dim, keep, out(x.dtype, INDEX))
                for x in (*(rand(3, 4, 5, dtype=d) for d in ALL), torch.tensor([1.0, math.nan, 3.0]))
                for dim in (0, -1)
                for keep in (False, True)
            ]
            for name in ("max.dim_max", "min.dim_min")
        },
        **{
            f"aten::{name}.out": [
                (x, dim, keep, out(INDEX))
                for x in (*(rand(3, 4, 5, dtype=d) for d in NO_BOOL), torch.tensor([1.0, math.nan, 3.0]))
                for dim in (0, -1, None)
                for keep in (False, True)
            ]
            for name in ("argmax", "argmin")
        },
        **{
            f"aten::{name}.out": [
                (rand(3, 4, dtype=d, low=0, high=1), dim, keep, out(torch.bool))
                for d in ALL
                for dim in (0, -1)
                for keep in (False, True)
            ]
            for name in ("any", "all")
        },
        **{
            f"aten::{name}.all_out": [(rand(2, dtype=d, low=0, high=1), out(torch.bool)) for d in ALL]
            for name in ("any", "all")
        },
        "aten::any.dims_out": [(rand(3, 4, 2, dtype=torch.bool), dims, False) for dims in ([0, 2], None, [1], [])],
        "aten::var.correction_out": [
            (x, dims, correction, keep)
            for x in (*(rand(3, 4, 5, dtype=d) for d in FLOATS), rand(2, 3, 4, 5).to(memory_format=LAST) + 100)
            for dims in ([0], [1, -1], None)
            for correction in (None, 0, 2)
            for keep in (False, True)
        ],
        "aten::linalg_vector_norm.out": [
            (x, order, dims, keep, None)
            for x in (*(rand(3, 4, 5, dtype=d) for d in FLOATS), rand(2, 3, 4, 5).to(memory_format=LAST))
            for order in (2, 1, 0, 3, 2.5, -1, math.inf, -math.inf)
            for dims, keep in (([0], False), ([1, -1], True), (None, False))
        ]
        + [(SPECIAL, order, None, False, None) for order in (2, 0, math.inf, -math.inf)],
        "aten::var.out": [(rand(3, 40), [-1], unbiased, True) for unbiased in (False, True)],
        "aten::var_mean.correction_out": [(rand(3, 40, dtype=d), [0], 1, False) for d in FLOATS],
        **{
            f"aten::{name}.out": [
                (x, dim, False)
                for x in (
                    *(rand(3, 4, 5, dtype=d) for d in FLOATS),
                    torch.tensor(3.0),
                    rand(2, 3, 4, 5).to(memory_format=LAST),
                )
                for dim in ((0, 1, -1) if x.dim() else (0,))
            ]
            for name in ("_softmax", "_log_softmax")
        },
        "aten::cumsum.out": [
            (rand(3, 4, 5, dtype=d), dim, None, out(d if d.is_floating_point else torch.int64))
            for d in ALL
            for dim in (0, -1)
        ],
        "aten::cumprod.out": [
            (rand(3, 4, 5, dtype=d), dim, None, out(d if d.is_floating_point else torch.int64))
            for d in ALL
            for dim in (0, -1)
        ],
        "aten::topk.values": [
            (rand(3, 40, dtype=d), k, dim, largest, True, out(d, INDEX))
            for d in (torch.float32, torch.float64)
            for k, dim in ((5, -1), (1, 1), (2, 0), (0, 0))
            for largest in (True, False)
        ],
        "aten::sort.values": [
            (rand(3, 40, dtype=d), dim, descending, out(d, INDEX))
            for d in (torch.float32, torch.float64)
            for dim in (0, -1)
            for descending in (True, False)
        ],
        # Products.
        "aten::mm.out": [
            (rand(m, k, dtype=d), rand(k, n, dtype=d))
            for d in (*FLOATS, *INTS)
            for m, k, n in ((2, 3, 4), (1, 7, 5), (3, 0, 2))
        ]
        + [(rand(37, 300).round(), rand(300, 801).round()), (rand(101, 7), rand(7, 33))],
        "aten::bmm.out": [(rand(3, 5, 6, dtype=d), rand(3, 6, 4, dtype=d)) for d in (*FLOATS, *INTS)],
        "aten::addmm.out": [
            (rand(*bias, dtype=d), rand(3, 6, dtype=d), rand(6, 4, dtype=d), beta, alpha)
            for d in (*FLOATS, torch.int64)
            for bias in ((4,), (3, 4), (3, 1))
            for beta, alpha in ((1, 1), (0, 1), (2, 3))
        ],
        "aten::baddbmm.out": [(rand(3, 5, 4), rand(3, 5, 6), rand(3, 6, 4), 0.5, 2)],
        "aten::linear.out": [
            (rand(*lead, 6, dtype=d), rand(4, 6, dtype=d), bias)
            for d in FLOATS
            for lead in ((), (3,), (2, 3))
            for bias in (None, rand(4, dtype=d))
        ],
        # Norms.
        "aten::_native_batch_norm_legit_no_training.out": [
            (x, w, b, rand(3, dtype=x.dtype), rand(3, dtype=x.dtype, low=0.5), 0.1, 1e-5)
            for x in (
                *(rand(2, 3, 4, 5, dtype=d) for d in FLOATS[:2]),
                rand(2, 3, 4, 5).to(memory_format=LAST),
                rand(2, 3),
            )
            for w, b in ((None, None), (rand(3, dtype=x.dtype), rand(3, dtype=x.dtype)))
        ],
        "aten::native_layer_norm.out": [
            (rand(2, 3, 20, dtype=d), shape, w, b, 1e-5)
            for d in FLOATS[:2]
            for shape in ([20], [3, 20])
            for w, b in ((None, None), (rand(*shape, dtype=d), rand(*shape, dtype=d)))
        ],
        "aten::native_group_norm.out": [
            (rand(2, 6, 4, 5, dtype=d), w, b, 2, 6, 20, groups, 1e-5)
            for d in FLOATS[:2]
            for groups in (1, 3)
            for w, b in ((None, None), (rand(6, dtype=d), rand(6, dtype=d)))
        ],
        # Pooling and resampling.
        "aten::max_pool2d_with_indices.out": [
            (x, *window, ceil, out(x.dtype, INDEX))
            for x in (
                *(rand(2, 3, 9, 8, dtype=d) for d in FLOATS),
                rand(3, 9, 8),
                rand(2, 3, 9, 8).to(memory_format=LAST),
            )
            for window in (([3, 3], [2, 2], [1, 1], [1, 1]), ([2], [], [0], [1]), ([2, 3], [3, 1], [1, 0], [2, 2]))
            for ceil in (False, True)
        ],
        "aten::avg_pool2d.out": [
            (x, *window, ceil, include, divisor)
            for x in (rand(2, 3, 9, 8), rand(3, 9, 8, dtype=torch.float64))
            for window in (([3, 3], [2, 2], [1, 1]), ([2], [], [0]), ([2, 3], [3, 1], [1, 0]))
            for ceil in (False, True)
            for include in (False, True)
            for divisor in (None, 5)
        ],
        "aten::avg_pool1d.out": [
            (rand(2, 3, 9), [3], [2], [1], ceil, include) for ceil in (False, True) for include in (False, True)
        ],
        **{
            f"aten::{name}.out": [
                (x, size)
                for x in (rand(2, 3, 9, 8), rand(3, 7, 5, dtype=torch.float64))
                for size in ([1, 1], [4, 3], [9, 11])
            ]
            for name in ("_adaptive_avg_pool2d", "adaptive_avg_pool2d")
        },
        "aten::adaptive_avg_pool1d.out": [(rand(2, 3, 9), [size]) for size in (1, 4, 12)],
        "aten::adaptive_max_pool2d.out": [
            (rand(2, 3, 9, 8), size, out(torch.float32, INDEX)) for size in ([1, 1], [4, 3])
        ],
        "aten::grid_sampler_2d.out": [
            (rand(2, 3, 5, 4, dtype=d), rand(2, 6, 7, 2, dtype=d, low=-2, high=2), mode, padding, align)
            for d in FLOATS[:2]
            for mode in range(3)
            for padding in range(3)
            for align in (True, False)
        ]
        + [
            (rand(1, 2, 1, 1), rand(1, 3, 3, 2), mode, padding, align)
            for mode in range(3)
            for padding in range(3)
            for align in (True, False)
        ]
        + [(rand(1, 2, 3, 3), torch.tensor([[[[1e30, 0.0], [-1e30, 3.0]]]]), mode, 0, False) for mode in range(2)],
        "aten::upsample_bilinear2d.vec_out": [
            (rand(2, 3, 5, 4, dtype=d), *to)
            for d in FLOATS[:2]
            for to in (
                ([9, 7], False, None),
                ([9, 7], True, None),
                ([2, 3], False, None),
                (None, False, [2.0, 1.5]),
                (None, True, [2.5, 2.0]),
            )
        ],
        "aten::upsample_bilinear2d.out": [(rand(2, 3, 5, 4), [9, 7], corners, None, None) for corners in (False, True)],
        "aten::upsample_nearest2d.vec_out": [
            (rand(2, 3, 5, 4), *to) for to in (([9, 7], None), ([2, 3], None), (None, [2.0, 1.5]))
        ],
        "aten::upsample_nearest2d.out": [(rand(2, 3, 5, 4), [9, 7], None, None)],
    }
)


def convolutions() -> Iterator[Case]:
    """Kernels, strides, paddings, dilations, groups; plain and transposed; one and two dimensions."""
    for dtype in FLOATS[:2]:
        for groups, into, of in ((1, 4, 6), (2, 4, 6), (4, 4, 4), (4, 4, 8)):
            for kernel, stride, padding, dilation in (
                ((1, 1), (1, 1), (0, 0), (1, 1)),
                ((3, 3), (1, 1), (1, 1), (1, 1)),
                ((3, 2), (2, 3), (2, 1), (2, 1)),
                ((5, 1), (3, 1), (1, 0), (1, 1)),
            ):
                bias = rand(of, dtype=dtype)
                weight = rand(of, into // groups, *kernel, dtype=dtype)
                x = rand(2, into, 9, 8, dtype=dtype)
                yield (x, weight, bias, stride, padding, dilation, False, (0, 0), groups)
                back = rand(into, of // groups, *kernel, dtype=dtype)
                extra = tuple(min(1, s - 1) for s in stride)
                yield (x, back, None, stride, padding, dilation, True, extra, groups)
                yield (x[..., 0], weight[..., 0], bias, stride[:1], padding[:1], dilation[:1], False, (0,), groups)
                yield (x[..., 0], back[..., 0], bias, stride[:1], padding[:1], dilation[:1], True, extra[:1], groups)
    x = rand(1, 3, 20, 30).to(memory_format=LAST)
    yield (x, rand(40, 3, 3, 3), None, (2, 2), (1, 1), (1, 1), False, (0, 0), 1)
    yield (
        rand(1, 300, 9, 11).round(),
        rand(130, 300, 1, 1).round(),
        rand(130).round(),
        (1, 1),
        (0, 0),
        (1, 1),
        False,
        (0, 0),
        1,
    )


CASES["aten::convolution.out"] = convolutions()

# Elements of every dtype are only moved.
EACH = [rand(2, 3, 4, dtype=dtype) for dtype in ALL]
IMAGE = rand(2, 3, 4, 5).to(memory_format=LAST)
POSITIONS = torch.tensor([[2, 0, 1, 1], [0, 1, 2, 0], [1, 1, 0, 2]])
CASES.update(
    {
        "aten::view_copy.out": [
            *((x, size) for x in (*EACH, rand(4, 6)) for size in ([6, 4], [-1], [1, 2, -1, 2, 1])),
            *((IMAGE, [6, 20]), (torch.tensor(3.0), [1, 1]), (torch.empty(0, 3), [3, 0])),
        ],
        "aten::_unsafe_view.out": [(x, [6, 4]) for x in EACH],
        **{
            f"aten::{name}.out": [(x,) for x in (*EACH, IMAGE, torch.tensor(1.0))]
            for name in ("alias_copy", "detach_copy", "lift_fresh_copy")
        },
        "aten::clone.out": [(x, None) for x in (*EACH, IMAGE)],
        "aten::permute_copy.out": [(x, dims) for x in EACH for dims in ([2, 0, 1], [0, -1, 1])]
        + [(IMAGE, [3, 1, 2, 0]), (torch.tensor(1.0), [])],
        "aten::transpose_copy.int_out": [(x, *dims) for x in EACH for dims in ((0, 1), (-1, 0), (1, 1))],
        "aten::t_copy.out": [(rand(3, 4),), (rand(4),), (torch.tensor(1),)],
        "aten::unsqueeze_copy.out": [(x, dim) for x in (*EACH, torch.tensor(1.0)) for dim in (0, -1)],
        "aten::squeeze_copy.dim_out": [(rand(1, 3, 1), dim) for dim in (0, 1, -1)],
        "aten::squeeze_copy.dims_out": [(rand(1, 3, 1), dims) for dims in ([0], [0, 1, -1], [])],
        "aten::squeeze_copy.out": [(rand(1, 3, 1),), (rand(2, 3),)],
        "aten::expand_copy.out": [(rand(3, 1, dtype=d), [2, -1, 4], False) for d in ALL]
        + [(torch.tensor(2.0), [3, 2], False)],
        "aten::repeat.out": [(x, [2, 1, 3]) for x in EACH]
        + [(rand(2, 3), [2, 3, 2]), (torch.tensor(2.0), [3]), (rand(2), [0])],
        "aten::slice_copy.Tensor_out": [
            (x, *bounds)
            for x in EACH
            for bounds in ((1, 0, 2, 1), (-1, 1, None, 2), (2, -3, -1, 1), (0, 5, 9, 1), (2, None, 100, 3))
        ],
        "aten::select_copy.int_out": [(x, dim, index) for x in EACH for dim, index in ((0, 1), (-1, -2), (1, 0))],
        "aten::narrow_copy.out": [(rand(4, 5), 1, 1, 3), (rand(4, 5), -1, -2, 2)],
        "aten::flip.out": [(x, dims) for x in EACH for dims in ([0], [1, -1], [])],
        "aten::roll.out": [
            (rand(3, 4), [1], []),
            (rand(3, 4), [1, -2], [0, 1]),
            (rand(3, 4), [7], [1]),
            (rand(3, 4), [1, 1], [0, 0]),
        ],
        "aten::unfold_copy.out": [(rand(3, 9), 1, 4, 2), (rand(3, 9), 0, 2, 1)],
        "aten::diagonal_copy.out": [
            (rand(3, 4, 5), offset, *dims) for offset in (0, 1, -2, 5) for dims in ((0, 1), (2, 0))
        ],
        "aten::as_strided_copy.out": [(rand(4, 5), [2, 3], [1, 6], 2)],
        "aten::pixel_shuffle.out": [(rand(2, 12, 3, 4), 2), (rand(9, 3, 4), 3)],
        "aten::pixel_unshuffle.out": [(rand(2, 3, 6, 4), 2), (rand(1, 9, 6), 3)],
        **{
            f"aten::{name}.out": [
                (x, diagonal)
                for x in (rand(3, 4), rand(2, 5, 3), rand(3, 3, dtype=torch.int64))
                for diagonal in (0, 1, -1, 9, -9)
            ]
            for name in ("tril", "triu")
        },
        "aten::slice_scatter.out": [(rand(4, 5, dtype=d), rand(4, 2, dtype=d), 1, 0, 4, 2) for d in ALL],
        "aten::select_scatter.out": [(rand(4, 5, dtype=d), rand(4, dtype=d), 1, -2) for d in ALL],
        "aten::cat.out": [([rand(2, n, 3, dtype=d) for n in (1, 3, 2)], dim) for d in ALL for dim in (1, -2)]
        + [([torch.empty(0), rand(2, 3)], 0), ([IMAGE, IMAGE], 1)],
        "aten::stack.out": [([rand(2, 3, dtype=d)] * 3, dim) for d in ALL for dim in (0, 1, -1)],
        "aten::constant_pad_nd.out": [
            (rand(2, 3, 4, dtype=d), pad, 2) for d in ALL for pad in ([1, 2], [0, 1, 2, 0], [-1, 2, -2, 0])
        ],
        **{
            f"aten::{kind}_pad1d.out": [(x, [2, 1]) for x in (rand(2, 3, 4), rand(3, 4))]
            for kind in ("reflection", "replication")
        },
        **{
            f"aten::{kind}_pad2d.out": [(x, [2, 1, 0, 3]) for x in (rand(2, 3, 4, 5), rand(3, 4, 5))]
            for kind in ("reflection", "replication")
        },
        **{
            f"aten::{kind}_pad3d.out": [(rand(2, 3, 4, 5, 6), [2, 1, 0, 3, 1, 1])]
            for kind in ("reflection", "replication")
        },
        # By position.
        "aten::embedding.out": [
            (rand(5, 3, dtype=d), index, -1, False, False)
            for d in FLOATS
            for index in (torch.tensor([[4, 0], [1, 1]]), torch.tensor(2), torch.tensor([3], dtype=torch.int32))
        ],
        "aten::gather.out": [(rand(3, 4, dtype=d), 0, POSITIONS[:, :3], False) for d in ALL]
        + [(rand(3, 4), 1, POSITIONS, False), (rand(3, 4), -1, POSITIONS[:2], False)],
        "aten::index_select.out": [
            (rand(3, 4, dtype=d), dim, index)
            for d in ALL
            for dim in (0, -1)
            for index in (torch.tensor([2, 0, 2]), torch.tensor([1], dtype=torch.int32))
        ],
        "aten::index.Tensor_out": [
            *((rand(3, 4, 5, dtype=d), [torch.tensor([2, -1, 0])]) for d in ALL),
            (rand(3, 4, 5), [None, torch.tensor([[3, 0], [1, 1]])]),
            (rand(3, 4, 5), [torch.tensor([[2], [0]]), torch.tensor([3, 1, 0])]),
            (rand(3, 4, 5), [torch.tensor([2, 0]), None, torch.tensor([4, 1])]),
            (rand(3, 4, 5), [None, torch.tensor([2, 0]), torch.tensor([4, 1])]),
        ],
        "aten::index_put.out": [
            (rand(3, 4, dtype=d), index, rand(4, dtype=d), accumulate)
            for d in (*FLOATS[:2], *INTS)
            for index in ([torch.tensor([2, 0])], [None, torch.tensor([3, 1, 2, 0])])
            for accumulate in (False, True)
        ]
        + [(rand(3, 4), [torch.tensor([1, 1]), torch.tensor([2, 2])], torch.tensor([5.0, 6.0]), True)],
        **{
            f"aten::{name}_out": [
                (rand(3, 4, dtype=d), dim, POSITIONS, rand(3, 4, dtype=d) + shift)
                for d in (*FLOATS[:2], *INTS)
                for dim, shift in ((0, 1), (1, 1))
            ]
            for name in ("scatter.src",)
        },
        "aten::scatter.value_out": [
            *((rand(3, 4, dtype=d), 1, POSITIONS[:2], 7) for d in ALL),
            *((rand(3, 4, dtype=torch.bool), 1, POSITIONS[:2], value) for value in (-0.5, 0.0)),
        ],
        "aten::scatter_reduce.two_out": [
            (rand(3, 4, dtype=d), dim, POSITIONS, rand(5, 4, dtype=d), reduce, include_self)
            for d in (*FLOATS[:2], *INTS)
            for dim in (0, 1)
            for reduce in ("sum", "prod", "mean", "amax", "amin")
            for include_self in (True, False)
        ]
        + [
            (
                SPECIAL[:12].view(3, 4),
                0,
                POSITIONS,
                SPECIAL[[*range(14), *range(6)]].view(5, 4),
                reduce,
                include_self,
            )
            for reduce in ("sum", "amax", "amin")
            for include_self in (True, False)
        ],
        "aten::scatter_add.out": [
            (rand(3, 4, dtype=d), dim, POSITIONS, rand(5, 4, dtype=d)) for d in (*FLOATS[:2], *INTS) for dim in (0, 1)
        ],
        "aten::masked_scatter.out": [(rand(3, 4, dtype=d), rand(4, dtype=torch.bool), rand(20, dtype=d)) for d in ALL],
        "aten::nonzero.out": [(rand(3, 4, dtype=d, low=0, high=1), out(INDEX)) for d in ALL],
        # Made from numbers.
        "aten::full.out": [([2, 3], 7, out(d)) for d in ALL] + [([], 1.5, out(torch.float32))],
        "aten::full_like.out": [(x, 1, None) for x in EACH],
        "aten::fill.Scalar_out": [(x, 1) for x in EACH],
        "aten::zeros.out": [([2, 3], out(d)) for d in ALL],
        "aten::ones.out": [([2, 3], out(d)) for d in ALL],
        "aten::scalar_tensor.out": [(1, out(d)) for d in ALL],
        "aten::arange.out": [(end, out(d)) for d in (torch.float32, torch.int64, torch.int32) for end in (5, 0)]
        + [(4.5, out(torch.float32))],
        "aten::arange.start_out": [
            (*span, out(d)) for d in (torch.float32, torch.int64, torch.int32) for span in ((2, 9, 3), (5, -2, -2))
        ]
        + [(0.5, 3.0, 0.25, out(torch.float32))],
        # Conversions.
        "aten::_to_copy.out": [(rand(3, 4, dtype=a), False, None, out(b)) for a in ALL for b in ALL],
        "aten::copy.out": [(rand(3, 4, dtype=a), rand(4, dtype=b), False) for a, b in MIXED],
    }
)

SHIFTS = [torch.tensor([0, 1, 3, 9, 70, 2], dtype=d) for d in INTS]
CASES.update(
    {
        **{
            f"aten::bitwise_{way}_shift.Tensor_out": [(rand(6, dtype=s.dtype, low=-100, high=100), s) for s in SHIFTS]
            for way in ("left", "right")
        },
        **{
            f"aten::bitwise_{way}_shift.Tensor_Scalar_out": [(rand(6, dtype=d), by) for d in INTS for by in (1, 9)]
            for way in ("left", "right")
        },
        **{
            f"aten::div.{overload}": [(a, b, mode, kind) for a, b, kind in list(cases) for mode in ("trunc", "floor")]
            for overload, cases in (
                ("out_mode", binary(NO_BOOL, nonzero=True)),
                ("Scalar_mode_out", binary(NO_BOOL, scalars=(2, 3, 0.5))),
            )
        },
        "aten::floor_divide.out": binary(NO_BOOL, nonzero=True),
        **{f"aten::{name}.Tensor_out": binary(NO_BOOL, nonzero=True) for name in ("fmod", "remainder")},
        **{f"aten::{name}.Scalar_out": binary(NO_BOOL, scalars=(2, 3, 1.5)) for name in ("fmod", "remainder")},
        "aten::pow.Tensor_Tensor_out": [
            *((rand(6, dtype=d), rand(6, dtype=d, low=0)) for d in INTS),
            *((rand(6, dtype=d, low=0), rand(6, dtype=d)) for d in FLOATS),
        ],
        "aten::pow.Tensor_Scalar_out": [
            *((rand(6, dtype=d), exponent) for d in NO_BOOL for exponent in (0, 1, 2, 3)),
            *((rand(6, dtype=d, low=0.1), exponent) for d in FLOATS for exponent in (0.5, -0.5, -1, -2, 1.7)),
        ],
        "aten::pow.Scalar_out": [(2, rand(6, dtype=d, low=0)) for d in NO_BOOL],
        "aten::split_copy.Tensor_out": [(x, 2, dim) for x in (*EACH, IMAGE) for dim in (1, -1)],
        "aten::split_with_sizes_copy.out": [(x, [1, 2, 1], 2) for x in (*EACH, IMAGE)],
        "aten::unbind_copy.int_out": [(x, dim) for x in (*EACH, IMAGE) for dim in (0, 1)],
        "aten::sum.out": [(rand(2, 3, dtype=d), None, out(d)) for d in FLOATS],
        "aten::mean.dtype_out": [(rand(2, 3, dtype=d), None) for d in FLOATS],
        "aten::glu.out": [(rand(2, 4, 6, dtype=d), dim) for d in FLOATS for dim in (1, -1)],
        "aten::fill.Tensor_out": [(x, torch.tensor(2).to(x.dtype)) for x in EACH],
        "dim_order_ops::_clone_dim_order.out": [(x, False, None) for x in (*EACH, IMAGE)],
        "dim_order_ops::_to_dim_order_copy.out": [(x, False, None, out(d)) for x in (*EACH, IMAGE) for d in ALL],
    }
)


TOKENS = rand(2, 3, 20)
SCALES, ZERO_POINTS = torch.tensor([0.1, 0.05, 0.2]), torch.tensor([3, -100, 0])
RANGE = {
    torch.int8: (-128, 127),
    torch.uint8: (0, 255),
    torch.int16: (-32768, 32767),
    torch.int32: (-(2**31), 2**31 - 1),
}


def off_ties(*shape: int, scale: torch.Tensor | float = 0.1) -> torch.Tensor:
    """Multiples of a scale, some beyond 8 bits, and up to 0.4 of it more: any arithmetic rounds all of them alike."""
    whole = rand(*shape, low=-400, high=400).round()
    return (whole + rand(*shape, low=-0.4, high=0.4)) * scale


def quantized(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return rand(*shape, dtype=dtype, low=-128 if dtype != torch.uint8 else 0, high=127)


CASES.update(
    {
        "quantized_decomposed::quantize_per_tensor.out": [
            (off_ties(2, 30), 0.1, zero, *RANGE[d], d) for d in RANGE for zero in (0, 7, -128)
        ],
        "quantized_decomposed::quantize_per_tensor.Tensor_out": [
            (off_ties(2, 30), torch.tensor([0.1]), torch.tensor([5]), *RANGE[d], d) for d in RANGE
        ],
        "quantized_decomposed::quantize_per_channel.out": [
            (off_ties(2, 3, 7, scale=SCALES[:, None]), SCALES, ZERO_POINTS, 1, -127, 127, torch.int8),
            (off_ties(5, 3, scale=SCALES), SCALES, ZERO_POINTS, -1, -8, 7, torch.int8),
            (off_ties(3, 4, scale=SCALES[:, None]), SCALES, ZERO_POINTS.abs(), 0, 0, 255, torch.uint8),
        ],
        "quantized_decomposed::quantize_per_token.out": [
            (
                off_ties(2, 3, 20, scale=SCALES[:, None]),
                SCALES.double().repeat(2).reshape(2, 3, 1),
                ZERO_POINTS.repeat(2).reshape(2, 3, 1),
                -128,
                127,
                torch.int8,
            )
        ],
        "quantized_decomposed::quantize_per_channel_group.out": [
            (off_ties(3, 8), torch.full((3, 2), 0.1), torch.tensor([[1, 2], [0, 0], [-3, 4]]), -8, 7, torch.int8, 4)
        ],
        "quantized_decomposed::dequantize_per_tensor.out": [
            (quantized(2, 30, dtype=d), 0.1, zero, *RANGE[d], d, to)
            for d in RANGE
            for zero in (0, 7)
            for to in (None, torch.float32, torch.float16)
        ],
        "quantized_decomposed::dequantize_per_tensor.Tensor_out": [
            (quantized(2, 30, dtype=d), torch.tensor([0.1]), torch.tensor([5]), *RANGE[d], d, None) for d in RANGE
        ],
        "quantized_decomposed::dequantize_per_channel.out": [
            (quantized(*shape, dtype=torch.int8), scales, zeros, axis, -128, 127, torch.int8, None)
            for shape, axis in (((2, 3, 7), 1), ((5, 3), -1), ((3, 4), 0))
            for scales in (SCALES, SCALES.double())
            for zeros in (None, ZERO_POINTS, ZERO_POINTS.int())
        ],
        "quantized_decomposed::dequantize_per_token.out": [
            (
                quantized(3, 20, dtype=torch.int8),
                SCALES.double()[:, None],
                ZERO_POINTS[:, None],
                -128,
                127,
                torch.int8,
                torch.float32,
            )
        ],
        "quantized_decomposed::dequantize_per_channel_group.out": [
            (quantized(3, 8, dtype=torch.int8), rand(3, 2, low=0.1), zeros, -8, 7, torch.int8, 4, torch.float32)
            for zeros in (None, torch.tensor([[1, 2], [0, 0], [-3, 4]]))
        ],
        "quantized_decomposed::choose_qparams.Tensor_out": [
            (x, *RANGE[d], 1e-5, d)
            for d in (torch.int8, torch.uint8)
            for x in (TOKENS, TOKENS + 7, TOKENS - 7, TOKENS * 0)
        ],
        "quantized_decomposed::choose_qparams_symmetric.Tensor_out": [
            (x, *RANGE[d], 1e-5, d) for d in (torch.int8, torch.uint8) for x in (TOKENS, TOKENS + 7)
        ],
        "quantized_decomposed::choose_qparams_per_token_asymmetric.out": [
            (x, torch.int8) for x in (TOKENS, TOKENS + 7, TOKENS - 7, TOKENS * 0)
        ],
    }
)


def table(per_byte: int, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    """6 rows of 24 integers, so many to a byte, of all values."""
    return torch.arange(6 * 24 // per_byte).mul(89).reshape(6, -1).to(dtype)


def look_ups(tables: Sequence[torch.Tensor], low: int, high: int) -> list[Case]:
    """Scales of rows and of groups, in each type, with and without zero points."""
    return [
        (each, rand(*shape, low=0.1, dtype=dtype), points, low, high, indices)
        for each in tables
        for shape in ((6,), (6, 1), (6, 3))
        for dtype in (torch.float32, torch.float16, torch.bfloat16)
        for points in (None, rand(*shape, low=-4, high=4).round().to(dtype))
        for indices in (torch.tensor([[5, 0, 3], [3, 3, 1]]), torch.tensor(2), torch.zeros(0, dtype=torch.int64))
    ]


BYTES, NIBBLES, PAIRS = [table(1), table(1, torch.int8)], [table(2)], [table(4)]
for kind, tables, low, high in (("byte", BYTES, -128, 127), ("4bit", NIBBLES, -8, 7), ("2bit", PAIRS, -2, 1)):
    CASES[f"quantized_decomposed::embedding_{kind}.out"] = look_ups(tables, low, high)
    CASES[f"quantized_decomposed::embedding_{kind}.dtype_out"] = [
        (*case, dtype)
        for case in look_ups(tables, low, high)
        for dtype in (torch.float32, torch.float16, torch.bfloat16)
        if case[1].dtype in (dtype, torch.float32)  # PyTorch's definition rounds products to the scales' type
    ]

SEEN = rand(3, 7, dtype=torch.bool)
MASKS = (SEEN, None), (torch.where(SEEN, rand(3, 7), -math.inf)[None, None], 0.3), (SEEN[:1] | True, None)
CASES["xir::attend_prefix.out"] = [
    # Groups of four and of one, and many rows for one head; other numbers of features in values; prefixes of a window.
    (
        rand(batch, heads, length, 24, dtype=dtype),
        rand(batch, 2, 9, 24, dtype=cache, low=-1),
        rand(batch, 2, 9, features, dtype=cache),
        mask,
        *((rand(batch, 2, 9, 1, low=0), rand(batch, 2, 9, 1, low=0)) if cache == torch.int8 else (None, None)),
        scale,
    )
    for dtype, cache in [
        *((torch.float32, each) for each in (torch.float32, *TOLERANCE, torch.int8)),
        *((torch.float16, each) for each in (torch.float16, torch.int8)),
    ]
    for batch, heads, length, features in ((1, 8, 3, 24), (2, 2, 3, 40), (1, 16, 3, 8))
    for mask, scale in (*MASKS, (rand(1, 1), None))
]


@pytest.mark.parametrize(
    ("shapes", "mask", "error"),
    [
        (((1, 4, 2, 8), (1, 3, 9, 8), (1, 3, 9, 8)), (2, 9), "do not fit"),
        (((1, 4, 2, 8), (2, 2, 9, 8), (2, 2, 9, 8)), (2, 9), "do not fit"),
        (((1, 4, 2, 8), (1, 2, 9, 8), (1, 2, 8, 8)), (2, 8), "do not fit"),
        (((1, 4, 2, 8), (1, 2, 9, 4), (1, 2, 9, 8)), (2, 9), "do not fit"),
        (((1, 4, 2, 8), (1, 2, 9, 8), (1, 2, 9, 8)), (2, 10), r"\[2, 10\]"),
        (((1, 4, 2, 8), (1, 2, 9, 8), (1, 2, 9, 8)), (3, 9), r"\[3, 9\]"),
        (((1, 4, 2, 8), (1, 2, 9, 8), (1, 2, 9, 8)), (2, 2, 9), r"\[2, 2, 9\]"),
        (((1, 4, 2, 8), (1, 2, 9, 8), (1, 2, 9, 8)), (2, 0), r"\[2, 0\]"),
    ],
)
def test_prefixes_that_do_not_fit(shapes: Sequence[tuple[int, ...]], mask: tuple[int, ...], error: str):
    program = KernelProgram()
    query, key, value = (torch.zeros(shape) for shape in shapes)
    program.call("xir::attend_prefix.out", [query, key, value, torch.zeros(mask), None, None, None], [query])
    with pytest.raises(XirRuntimeError, match=error):
        program.run()


@pytest.mark.parametrize(
    ("dtypes", "scales", "error"),
    [
        ((torch.int8, torch.int8), (None, None), "integers without scales"),
        ((torch.int8, torch.int8), (torch.ones(1, 2, 9, 1), None), "integers without scales"),
        ((torch.int8, torch.int8), (torch.ones(1, 2, 9, 1), torch.ones(1, 2, 8, 1)), r"\[1, 2, 8, 1\]"),
        ((torch.int8, torch.int8), (torch.ones(1, 2, 9, 1), torch.ones(1, 2, 9)), r"\[1, 2, 9\]"),
        ((torch.int8, torch.int8), (torch.ones(1, 2, 9, 1), torch.ones(1, 2, 9, 1).half()), "these scales"),
        ((torch.float32, torch.float32), (torch.ones(1, 2, 9, 1), None), "floats with scales"),
        ((torch.int8, torch.float32), (torch.ones(1, 2, 9, 1), None), "keys and values of two dtypes"),
        ((torch.uint8, torch.uint8), (torch.ones(1, 2, 9, 1), torch.ones(1, 2, 9, 1)), "values of this dtype"),
    ],
)
def test_scales_that_do_not_fit(dtypes: Sequence[torch.dtype], scales: Sequence[torch.Tensor | None], error: str):
    query = torch.zeros(1, 4, 2, 8)
    key, value = (torch.zeros(1, 2, 9, 8, dtype=dtype) for dtype in dtypes)
    program = KernelProgram()
    program.call("xir::attend_prefix.out", [query, key, value, torch.zeros(2, 9), *scales, None], [query])
    with pytest.raises(XirRuntimeError, match=error):
        program.run()


def test_all_integers_of_a_cache():
    """Attention to one key is its value times its scale, to the bit, however many vectors it takes."""
    integers = torch.arange(-128, 128).to(torch.int8)
    value, one = integers.reshape(1, 1, 1, -1), torch.ones(1, 1, 1, 1)
    program = KernelProgram()
    arguments = [one, one.char(), value, torch.ones(1, 1), one, one * 0.3, None]
    program.call("xir::attend_prefix.out", arguments, [torch.empty(1, 1, 1, 256)])
    assert torch.equal(program.run()[0].flatten(), integers.float() * 0.3)


def test_all_halves_of_a_cache():
    """Attention to one key is its value."""
    halves = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.half)
    value, one = torch.stack((halves, halves.flip(0))).reshape(1, 1, 2, -1), torch.ones(1, 1, 2, 1).half()
    program = KernelProgram()
    arguments = [torch.ones(1, 1, 1, 1), one, value, torch.ones(1, 1), None, None, None]
    program.call("xir::attend_prefix.out", arguments, [torch.empty(1, 1, 1, 2**16)])
    torch.testing.assert_close(program.run()[0].flatten(), halves.float(), rtol=0, atol=0, equal_nan=True)


def test_what_lies_behind_a_prefix_is_not_read():
    query, cache, mask = rand(1, 2, 1, 8), rand(1, 2, 9, 8), torch.ones(1, 5, dtype=torch.bool)
    program = KernelProgram()
    hidden = cache.clone()
    hidden[:, :, 5:] = math.nan
    program.call("xir::attend_prefix.out", [query, hidden, hidden, mask, None, None, None], [torch.empty_like(query)])
    expected = torch.nn.functional.scaled_dot_product_attention(query, cache[:, :, :5], cache[:, :, :5])
    torch.testing.assert_close(program.run()[0], expected)


@pytest.mark.parametrize(("kind", "per_byte"), [("byte", 1), ("4bit", 2), ("2bit", 4)])
@pytest.mark.parametrize("index", [-1, 6])
def test_rows_that_a_table_lacks(kind: str, per_byte: int, index: int):
    program = KernelProgram()
    arguments = (table(per_byte), torch.ones(6), None, 0, 1, torch.tensor([index]))
    program.call(f"quantized_decomposed::embedding_{kind}.out", arguments, [torch.empty(1, 24)])
    with pytest.raises(XirRuntimeError, match=f"index {index} of 6"):
        program.run()


def check(name: str, cases: Iterable[Case]) -> None:
    """Programs of a few dozen calls, one for each case."""
    remaining = list(cases)
    assert remaining, "no cases"
    while remaining:
        check_program(name, remaining[:40])
        remaining = remaining[40:]


def check_program(name: str, cases: Sequence[Case]) -> None:
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
    check(name, CASES[name])


RANDOM = {"aten::rand.out", "aten::randn.out", "aten::randperm.out"}
"""Results that nobody knows before."""


def draw(name: str, *arguments: Any, like: torch.Tensor, seed: int | None = None) -> torch.Tensor:
    """What a program of one random kernel answers."""
    if seed is not None:
        manual_seed(seed)
    kernels = KernelProgram()
    kernels.call(name, arguments, [like])
    return kernels.run()[0]


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
    orders = torch.stack([draw("aten::randperm.out", 3, like=torch.empty(3, dtype=dtype)) for _ in range(300)])
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
