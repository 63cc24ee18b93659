"""For each portable kernel the arguments that `test_kernels.py` calls it with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NO_BOOL = (*FLOATS, *INTS)
ALL = (*NO_BOOL, torch.bool)
SINGLE, DOUBLE, BOOL, INDEX = torch.float32, torch.float64, torch.bool, torch.int64

Case = tuple[Any, ...]
"""A kernel's arguments, then perhaps `Out(dtypes)`."""


class Out(tuple[torch.dtype, ...]):
    """The dtypes of a kernel's results, where they are not the first tensor's."""


def out(*dtypes: torch.dtype) -> Out:
    return Out(dtypes)


def widened(dtype: torch.dtype) -> torch.dtype:
    """Of a sum or product: integers and booleans are counted in 64 bits."""
    return dtype if dtype.is_floating_point else INDEX


def rand(*shape: int, dtype: torch.dtype = torch.float32, low: float = -3, high: float = 3) -> torch.Tensor:
    """Elements of [low, high], the same in each run."""
    generator = torch.Generator().manual_seed(math.prod(shape) + len(shape))
    if dtype.is_floating_point:
        return (torch.rand(shape, generator=generator) * (high - low) + low).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    least = int(max(low, 0 if dtype == torch.uint8 else low))
    return torch.randint(least, int(high) + 1, shape, generator=generator).to(dtype)


def each(*shape: int, dtypes: Iterable[torch.dtype] = ALL, low: float = -3, high: float = 3) -> list[torch.Tensor]:
    """A tensor of each dtype."""
    return [rand(*shape, dtype=dtype, low=low, high=high) for dtype in dtypes]


def grid(
    *arguments: Iterable[Any], results: Callable[[torch.dtype], Iterable[torch.dtype]] | None = None
) -> list[Case]:
    """A case for each combination of the arguments' alternatives. An alternative that is a tuple is several arguments.
    `results` gives the dtypes of the results from the first argument's.
    """
    cases: list[Case] = []
    for chosen in itertools.product(*arguments):
        flat = tuple(one for each in chosen for one in (each if isinstance(each, tuple) else (each,)))  # pyright: ignore[reportUnknownVariableType]
        cases.append((*flat, Out(results(flat[0].dtype))) if results else flat)
    return cases


def family(form: str, names: str, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The same cases for several kernels: `form` with each of the names in the place of `*`."""
    listed = list(cases)
    return {form.replace("*", name): listed for name in names.split()}


SPECIAL = torch.tensor([0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, math.inf, -math.inf, math.nan, 1e-8, 6.0, -6.0, 1e20])
BOTH = (False, True)
LAST = torch.channels_last
IMAGE = rand(2, 3, 4, 5).to(memory_format=LAST)


def unary(dtypes: Iterable[torch.dtype] = ALL, low: float = -3, high: float = 3, special: bool = True) -> list[Case]:
    """One operand of each dtype, channels last too; integers become floats where the result is one."""
    image = rand(2, 3, 4, 5, low=low, high=high).to(memory_format=LAST)
    operands = [*each(2, 3, 4, dtypes=dtypes, low=low, high=high), image, torch.tensor(0.5), torch.empty(0, 3)]
    return grid([*operands, SPECIAL] if special else operands)


def to_float(cases: list[Case]) -> list[Case]:
    """Integers in, float32 out."""
    return [case if case[0].dtype.is_floating_point else (*case, out(SINGLE)) for case in cases]


def to_bool(cases: list[Case]) -> list[Case]:
    return [(*case, out(BOOL)) for case in cases]


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
        return (a, b, out(result or (SINGLE if floating and not common.is_floating_point else common)))

    for dtype in dtypes:
        if scalars:
            yield from (case(values((2, 5), dtype), s) for s in scalars)
        else:
            yield from (case(values(left, dtype), values(right, dtype, 1)) for left, right in SHAPES)
    for a, b in () if scalars else mixed:
        if a in dtypes and b in dtypes:
            yield from (case(values((4,), a), values(shape, b, 1)) for shape in ((4,), ()))


def with_alpha(cases: Iterable[Case], *alphas: Any) -> list[Case]:
    return [
        (a, b, alpha, kind)
        for a, b, kind in cases
        for alpha in alphas
        if kind[0].is_floating_point or isinstance(alpha, int)
    ]


COMPARISONS, LOGIC = "eq ne lt le gt ge", "and or xor"
UNARY: dict[str, Iterable[Case]] = {
    **family("aten::*.out", "atan asinh erf sinh sin cos cosh sigmoid tanh exp expm1 exp2", to_float(unary())),
    **family("aten::*.out", "log log2 log10 log1p sqrt rsqrt reciprocal", to_float(unary(low=0.1))),
    **family("aten::*.out", "acos asin atanh", to_float(unary(NO_BOOL, low=-1, high=1))),
    "aten::acosh.out": to_float(unary(low=1)),
    "aten::tan.out": to_float(unary(low=-1, high=1)),
    **family("aten::*.out", "square abs neg relu sign ceil floor round trunc", unary(NO_BOOL)),
    "aten::bitwise_not.out": grid(each(2, 3, dtypes=(*INTS, BOOL))),
    **family("aten::*.out", "isinf isnan logical_not", to_bool(unary())),
    **family("aten::*.out", "silu mish hardswish hardsigmoid", unary(FLOATS)),
    "aten::gelu.out": grid(unary(FLOATS, special=False), ("none", "tanh")),
    "aten::elu.out": grid(unary(FLOATS), [(1.5, 0.75, 2.0)]),
    "aten::leaky_relu.out": grid(unary(FLOATS), [0.125]),
    "aten::softplus.out": grid(unary(FLOATS), [(1.5, 2.0)]),
    "aten::logit.out": grid(each(3, 4, dtypes=FLOATS, low=0.01, high=0.99), (None, 0.1)),
    "aten::hardtanh.out": grid(unary((*FLOATS, *INTS[:4])), [(-1, 2)]),
    "aten::clamp.out": [
        *grid(unary(NO_BOOL), [(1, 2), (None, 1), (0, None), (2, 1)]),
        *((rand(4, dtype=d), -0.5, 1.5, out(d if d.is_floating_point else SINGLE)) for d in NO_BOOL),
    ],
    "aten::clamp.Tensor_out": [
        (rand(3, 4, dtype=d), *bounds)
        for d in NO_BOOL
        for bounds in (
            (rand(4, dtype=d, high=0), rand(1, dtype=d, low=1)),
            (None, rand(4, dtype=d)),
            (rand(3, 1, dtype=d), None),
        )
    ],
}

BINARY: dict[str, Iterable[Case]] = {
    "aten::add.out": with_alpha(binary(mixed=EVERY_PAIR), 1, 2, 0.5),
    "aten::add.Scalar_out": with_alpha(binary(scalars=(2, 0.5, True)), 1, 3),
    "aten::sub.out": with_alpha(binary(NO_BOOL), 1, 2, 0.5),
    **family("aten::*.Scalar_out", "sub rsub", with_alpha(binary(NO_BOOL, scalars=(2, 0.5)), 1, 3)),
    **family("aten::*.out", "mul maximum minimum", binary()),
    "aten::mul.Scalar_out": binary(scalars=(2, 0.5, True)),
    "aten::div.out": binary(floating=True, nonzero=True),
    "aten::div.Scalar_out": binary(floating=True, scalars=(2, 0.5)),
    "aten::atan2.out": binary(floating=True),
    "aten::where.self_out": [
        (rand(2, 1, 4, dtype=BOOL), a, b, out(torch.result_type(a, b))) for a in each(3, 1) for b in each(4)
    ],
    "aten::masked_fill.Scalar_out": [
        *grid(each(2, 3), [rand(3, dtype=BOOL)], [2]),
        *grid([rand(2, 3, dtype=BOOL)], [rand(3, dtype=BOOL)], (-0.5, 0.0, math.nan)),
    ],
    "aten::masked_fill.Tensor_out": [
        *((rand(2, 3, dtype=d), rand(3, dtype=BOOL), torch.tensor(2, dtype=d)) for d in ALL),
        (rand(2, 3, dtype=BOOL), rand(3, dtype=BOOL), torch.tensor(0.5)),
    ],
    **family("aten::*.Tensor_out", COMPARISONS, binary(result=BOOL)),
    **family("aten::*.Scalar_out", COMPARISONS, binary(result=BOOL, scalars=(1, 0.5))),
    **family("aten::logical_*.out", LOGIC, binary(result=BOOL)),
    **family("aten::bitwise_*.Tensor_out", LOGIC, binary((*INTS, BOOL))),
    **family("aten::bitwise_*.Scalar_out", LOGIC, binary((*INTS, BOOL), scalars=(3,))),
    **family(
        "aten::bitwise_*_shift.Tensor_out",
        "left right",
        [(rand(6, dtype=d, low=-100, high=100), torch.tensor([0, 1, 3, 9, 70, 2], dtype=d)) for d in INTS],
    ),
    **family("aten::bitwise_*_shift.Tensor_Scalar_out", "left right", grid(each(6, dtypes=INTS), (1, 9))),
    "aten::div.out_mode": [
        (a, b, mode, kind) for a, b, kind in binary(NO_BOOL, nonzero=True) for mode in ("trunc", "floor")
    ],
    "aten::div.Scalar_mode_out": [
        (a, b, mode, kind) for a, b, kind in binary(NO_BOOL, scalars=(2, 3, 0.5)) for mode in ("trunc", "floor")
    ],
    "aten::floor_divide.out": binary(NO_BOOL, nonzero=True),
    **family("aten::*.Tensor_out", "fmod remainder", binary(NO_BOOL, nonzero=True)),
    **family("aten::*.Scalar_out", "fmod remainder", binary(NO_BOOL, scalars=(2, 3, 1.5))),
    "aten::pow.Tensor_Tensor_out": [
        *zip(each(6, dtypes=INTS), each(6, dtypes=INTS, low=0), strict=True),
        *zip(each(6, dtypes=FLOATS, low=0), each(6, dtypes=FLOATS), strict=True),
    ],
    "aten::pow.Tensor_Scalar_out": [
        *grid(each(6, dtypes=NO_BOOL), (0, 1, 2, 3)),
        *grid(each(6, dtypes=FLOATS, low=0.1), (0.5, -0.5, -1, -2, 1.7)),
    ],
    "aten::pow.Scalar_out": grid([2], each(6, dtypes=NO_BOOL, low=0)),
}

ROWS_WITH_NAN = torch.tensor([1.0, math.nan, 3.0])
SQUARE_WITH_NAN = torch.tensor([[1.0, math.nan], [math.inf, 2.0]])
REDUCTIONS: dict[str, Iterable[Case]] = {
    "aten::sum.IntList_out": grid(
        [*each(2, 3, 4), IMAGE], ([0], [-1, 1], None, []), BOTH, [None], results=lambda d: [widened(d)]
    ),
    "aten::sum.out": [(x, None, out(x.dtype)) for x in each(2, 3, dtypes=FLOATS)],
    "aten::mean.out": grid([*each(2, 3, 40, dtypes=FLOATS), IMAGE, torch.tensor(2.5)], ([-1], None, [0]), BOTH, [None]),
    "aten::mean.dtype_out": grid(each(2, 3, dtypes=FLOATS), [None]),
    **family("aten::*.out", "amax amin", grid([*each(2, 3, 40), SQUARE_WITH_NAN], ([0], [-1], []), BOTH)),
    "aten::prod.int_out": grid(each(2, 3, 4), [(1, True, None)], results=lambda d: [widened(d)]),
    "aten::prod.out": grid(each(2, 3), [None], results=lambda d: [widened(d)]),
    **family("aten::*.unary_out", "max min", grid(each(2, 30))),
    **family(
        "aten::*",
        "max.dim_max min.dim_min",
        grid([*each(3, 4, 5), ROWS_WITH_NAN], (0, -1), BOTH, results=lambda d: [d, INDEX]),
    ),
    **family(
        "aten::*.out",
        "argmax argmin",
        grid([*each(3, 4, 5, dtypes=NO_BOOL), ROWS_WITH_NAN], (0, -1, None), BOTH, results=lambda _: [INDEX]),
    ),
    **family("aten::*.out", "any all", grid(each(3, 4, low=0, high=1), (0, -1), BOTH, results=lambda _: [BOOL])),
    **family("aten::*.all_out", "any all", grid(each(2, low=0, high=1), results=lambda _: [BOOL])),
    "aten::any.dims_out": grid([rand(3, 4, 2, dtype=BOOL)], ([0, 2], None, [1], []), [False]),
    "aten::var.correction_out": grid(
        [*each(3, 4, 5, dtypes=FLOATS), IMAGE + 100], ([0], [1, -1], None), (None, 0, 2), BOTH
    ),
    "aten::linalg_vector_norm.out": [
        *grid(
            [*each(3, 4, 5, dtypes=FLOATS), IMAGE],
            (2, 1, 0, 3, 2.5, -1, math.inf, -math.inf),
            [([0], False), ([1, -1], True), (None, False)],
            [None],
        ),
        *grid([SPECIAL], (2, 0, math.inf, -math.inf), [(None, False, None)]),
    ],
    "aten::var.out": grid([rand(3, 40)], [[-1]], BOTH, [True]),
    "aten::var_mean.correction_out": grid(each(3, 40, dtypes=FLOATS), [([0], 1, False)]),
    **family(
        "aten::*.out",
        "_softmax _log_softmax",
        [*grid([*each(3, 4, 5, dtypes=FLOATS), IMAGE], (0, 1, -1), [False]), (torch.tensor(3.0), 0, False)],
    ),
    **family("aten::*.out", "cumsum cumprod", grid(each(3, 4, 5), (0, -1), [None], results=lambda d: [widened(d)])),
    "aten::topk.values": grid(
        each(3, 40, dtypes=(SINGLE, DOUBLE)),
        [(5, -1), (1, 1), (2, 0), (0, 0)],
        BOTH,
        [True],
        results=lambda d: [d, INDEX],
    ),
    "aten::sort.values": grid(each(3, 40, dtypes=(SINGLE, DOUBLE)), (0, -1), BOTH, results=lambda d: [d, INDEX]),
}


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
    x, weight, bias = (rand(*shape).round() for shape in ((1, 300, 9, 11), (130, 300, 1, 1), (130,)))
    yield (x, weight, bias, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)


PRODUCTS: dict[str, Iterable[Case]] = {
    "aten::mm.out": [
        (rand(m, k, dtype=d), rand(k, n, dtype=d)) for d in NO_BOOL for m, k, n in ((2, 3, 4), (1, 7, 5), (3, 0, 2))
    ]
    + [(rand(37, 300).round(), rand(300, 801).round()), (rand(101, 7), rand(7, 33))],
    "aten::bmm.out": [(rand(3, 5, 6, dtype=d), rand(3, 6, 4, dtype=d)) for d in NO_BOOL],
    "aten::addmm.out": [
        (rand(*bias, dtype=d), rand(3, 6, dtype=d), rand(6, 4, dtype=d), beta, alpha)
        for d in (*FLOATS, INDEX)
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
    "aten::convolution.out": convolutions(),
}

SAMPLING = grid(range(3), range(3), (True, False))
"""Modes, paddings and alignments of a grid sampler."""

WINDOWS: dict[str, Iterable[Case]] = {
    "aten::_native_batch_norm_legit_no_training.out": [
        (x, w, b, rand(3, dtype=x.dtype), rand(3, dtype=x.dtype, low=0.5), 0.1, 1e-5)
        for x in (*each(2, 3, 4, 5, dtypes=FLOATS[:2]), IMAGE, rand(2, 3))
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
    "aten::max_pool2d_with_indices.out": grid(
        [*each(2, 3, 9, 8, dtypes=FLOATS), rand(3, 9, 8), rand(2, 3, 9, 8).to(memory_format=LAST)],
        [([3, 3], [2, 2], [1, 1], [1, 1]), ([2], [], [0], [1]), ([2, 3], [3, 1], [1, 0], [2, 2])],
        BOTH,
        results=lambda d: [d, INDEX],
    ),
    "aten::avg_pool2d.out": grid(
        [rand(2, 3, 9, 8), rand(3, 9, 8, dtype=DOUBLE)],
        [([3, 3], [2, 2], [1, 1]), ([2], [], [0]), ([2, 3], [3, 1], [1, 0])],
        BOTH,
        BOTH,
        (None, 5),
    ),
    "aten::avg_pool1d.out": grid([rand(2, 3, 9)], [([3], [2], [1])], BOTH, BOTH),
    **family(
        "aten::*.out",
        "_adaptive_avg_pool2d adaptive_avg_pool2d",
        grid([rand(2, 3, 9, 8), rand(3, 7, 5, dtype=DOUBLE)], ([1, 1], [4, 3], [9, 11])),
    ),
    "aten::adaptive_avg_pool1d.out": grid([rand(2, 3, 9)], ([1], [4], [12])),
    "aten::adaptive_max_pool2d.out": grid([rand(2, 3, 9, 8)], ([1, 1], [4, 3]), results=lambda d: [d, INDEX]),
    "aten::grid_sampler_2d.out": [
        *grid([(rand(2, 3, 5, 4, dtype=d), rand(2, 6, 7, 2, dtype=d, low=-2, high=2)) for d in FLOATS[:2]], SAMPLING),
        *grid([(rand(1, 2, 1, 1), rand(1, 3, 3, 2))], SAMPLING),
        *grid([rand(1, 2, 3, 3)], [torch.tensor([[[[1e30, 0.0], [-1e30, 3.0]]]])], range(2), [0], [False]),
    ],
    "aten::upsample_bilinear2d.vec_out": grid(
        each(2, 3, 5, 4, dtypes=FLOATS[:2]),
        [
            *(([9, 7], False, None), ([9, 7], True, None), ([2, 3], False, None)),
            *((None, False, [2.0, 1.5]), (None, True, [2.5, 2.0])),
        ],
    ),
    "aten::upsample_bilinear2d.out": grid([rand(2, 3, 5, 4)], [[9, 7]], BOTH, [(None, None)]),
    "aten::upsample_nearest2d.vec_out": grid([rand(2, 3, 5, 4)], [([9, 7], None), ([2, 3], None), (None, [2.0, 1.5])]),
    "aten::upsample_nearest2d.out": grid([rand(2, 3, 5, 4)], [([9, 7], None, None)]),
}

EACH = each(2, 3, 4)
MOVES: dict[str, Iterable[Case]] = {
    "aten::view_copy.out": [
        *grid([*EACH, rand(4, 6)], ([6, 4], [-1], [1, 2, -1, 2, 1])),
        *((IMAGE, [6, 20]), (torch.tensor(3.0), [1, 1]), (torch.empty(0, 3), [3, 0])),
    ],
    "aten::_unsafe_view.out": grid(EACH, [[6, 4]]),
    **family("aten::*.out", "alias_copy detach_copy lift_fresh_copy", grid([*EACH, IMAGE, torch.tensor(1.0)])),
    "aten::clone.out": grid([*EACH, IMAGE], [None]),
    "aten::permute_copy.out": [*grid(EACH, ([2, 0, 1], [0, -1, 1])), *((IMAGE, [3, 1, 2, 0]), (torch.tensor(1.0), []))],
    "aten::transpose_copy.int_out": grid(EACH, [(0, 1), (-1, 0), (1, 1)]),
    "aten::t_copy.out": grid([rand(3, 4), rand(4), torch.tensor(1)]),
    "aten::unsqueeze_copy.out": grid([*EACH, torch.tensor(1.0)], (0, -1)),
    "aten::squeeze_copy.dim_out": grid([rand(1, 3, 1)], (0, 1, -1)),
    "aten::squeeze_copy.dims_out": grid([rand(1, 3, 1)], ([0], [0, 1, -1], [])),
    "aten::squeeze_copy.out": grid([rand(1, 3, 1), rand(2, 3)]),
    "aten::expand_copy.out": [*grid(each(3, 1), [[2, -1, 4]], [False]), (torch.tensor(2.0), [3, 2], False)],
    "aten::repeat.out": [
        *grid(EACH, [[2, 1, 3]]),
        *((rand(2, 3), [2, 3, 2]), (torch.tensor(2.0), [3]), (rand(2), [0])),
    ],
    "aten::slice_copy.Tensor_out": grid(
        EACH, [(1, 0, 2, 1), (-1, 1, None, 2), (2, -3, -1, 1), (0, 5, 9, 1), (2, None, 100, 3)]
    ),
    "aten::select_copy.int_out": grid(EACH, [(0, 1), (-1, -2), (1, 0)]),
    "aten::narrow_copy.out": grid([rand(4, 5)], [(1, 1, 3), (-1, -2, 2)]),
    "aten::flip.out": grid(EACH, ([0], [1, -1], [])),
    "aten::roll.out": grid([rand(3, 4)], [([1], []), ([1, -2], [0, 1]), ([7], [1]), ([1, 1], [0, 0])]),
    "aten::unfold_copy.out": grid([rand(3, 9)], [(1, 4, 2), (0, 2, 1)]),
    "aten::diagonal_copy.out": grid([rand(3, 4, 5)], (0, 1, -2, 5), [(0, 1), (2, 0)]),
    "aten::as_strided_copy.out": [(rand(4, 5), [2, 3], [1, 6], 2)],
    "aten::pixel_shuffle.out": [(rand(2, 12, 3, 4), 2), (rand(9, 3, 4), 3)],
    "aten::pixel_unshuffle.out": [(rand(2, 3, 6, 4), 2), (rand(1, 9, 6), 3)],
    **family("aten::*.out", "tril triu", grid([rand(3, 4), rand(2, 5, 3), rand(3, 3, dtype=INDEX)], (0, 1, -1, 9, -9))),
    "aten::slice_scatter.out": [(rand(4, 5, dtype=d), rand(4, 2, dtype=d), 1, 0, 4, 2) for d in ALL],
    "aten::select_scatter.out": [(rand(4, 5, dtype=d), rand(4, dtype=d), 1, -2) for d in ALL],
    "aten::cat.out": [
        *grid([[rand(2, n, 3, dtype=d) for n in (1, 3, 2)] for d in ALL], (1, -2)),
        *(([torch.empty(0), rand(2, 3)], 0), ([IMAGE, IMAGE], 1)),
    ],
    "aten::stack.out": grid([[x] * 3 for x in each(2, 3)], (0, 1, -1)),
    "aten::constant_pad_nd.out": grid(each(2, 3, 4), ([1, 2], [0, 1, 2, 0], [-1, 2, -2, 0]), [2]),
    **family("aten::*_pad1d.out", "reflection replication", grid([rand(2, 3, 4), rand(3, 4)], [[2, 1]])),
    **family("aten::*_pad2d.out", "reflection replication", grid([rand(2, 3, 4, 5), rand(3, 4, 5)], [[2, 1, 0, 3]])),
    **family("aten::*_pad3d.out", "reflection replication", [(rand(2, 3, 4, 5, 6), [2, 1, 0, 3, 1, 1])]),
    "aten::split_copy.Tensor_out": grid([*EACH, IMAGE], [2], (1, -1)),
    "aten::split_with_sizes_copy.out": grid([*EACH, IMAGE], [[1, 2, 1]], [2]),
    "aten::unbind_copy.int_out": grid([*EACH, IMAGE], (0, 1)),
    "aten::glu.out": grid(each(2, 4, 6, dtypes=FLOATS), (1, -1)),
    "dim_order_ops::_clone_dim_order.out": grid([*EACH, IMAGE], [(False, None)]),
}

POSITIONS = torch.tensor([[2, 0, 1, 1], [0, 1, 2, 0], [1, 1, 0, 2]])
BY_POSITION: dict[str, Iterable[Case]] = {
    "aten::embedding.out": grid(
        each(5, 3, dtypes=FLOATS),
        [torch.tensor([[4, 0], [1, 1]]), torch.tensor(2), torch.tensor([3], dtype=torch.int32)],
        [(-1, False, False)],
    ),
    "aten::gather.out": [
        *grid(each(3, 4), [(0, POSITIONS[:, :3], False)]),
        *grid([rand(3, 4)], [(1, POSITIONS, False), (-1, POSITIONS[:2], False)]),
    ],
    "aten::index_select.out": grid(
        each(3, 4), (0, -1), [torch.tensor([2, 0, 2]), torch.tensor([1], dtype=torch.int32)]
    ),
    "aten::index.Tensor_out": [
        *grid(each(3, 4, 5), [[torch.tensor([2, -1, 0])]]),
        (rand(3, 4, 5), [None, torch.tensor([[3, 0], [1, 1]])]),
        (rand(3, 4, 5), [torch.tensor([[2], [0]]), torch.tensor([3, 1, 0])]),
        (rand(3, 4, 5), [torch.tensor([2, 0]), None, torch.tensor([4, 1])]),
        (rand(3, 4, 5), [None, torch.tensor([2, 0]), torch.tensor([4, 1])]),
    ],
    "aten::index_put.out": [
        (rand(3, 4, dtype=d), index, rand(4, dtype=d), accumulate)
        for d in (*FLOATS[:2], *INTS)
        for index in ([torch.tensor([2, 0])], [None, torch.tensor([3, 1, 2, 0])])
        for accumulate in BOTH
    ]
    + [(rand(3, 4), [torch.tensor([1, 1]), torch.tensor([2, 2])], torch.tensor([5.0, 6.0]), True)],
    "aten::scatter.src_out": [
        (x, dim, POSITIONS, x + 1) for x in each(3, 4, dtypes=(*FLOATS[:2], *INTS)) for dim in (0, 1)
    ],
    "aten::scatter.value_out": [
        *grid(each(3, 4), [1], [POSITIONS[:2]], [7]),
        *grid([rand(3, 4, dtype=BOOL)], [1], [POSITIONS[:2]], (-0.5, 0.0)),
    ],
    "aten::scatter_reduce.two_out": [
        (rand(3, 4, dtype=d), dim, POSITIONS, rand(5, 4, dtype=d), reduce, include_self)
        for d in (*FLOATS[:2], *INTS)
        for dim in (0, 1)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include_self in BOTH
    ]
    + grid(
        [(SPECIAL[:12].view(3, 4), 0, POSITIONS, SPECIAL[[*range(14), *range(6)]].view(5, 4))],
        ("sum", "amax", "amin"),
        BOTH,
    ),
    "aten::scatter_add.out": [
        (rand(3, 4, dtype=d), dim, POSITIONS, rand(5, 4, dtype=d)) for d in (*FLOATS[:2], *INTS) for dim in (0, 1)
    ],
    "aten::masked_scatter.out": [(rand(3, 4, dtype=d), rand(4, dtype=BOOL), rand(20, dtype=d)) for d in ALL],
    "aten::nonzero.out": grid(each(3, 4, low=0, high=1), results=lambda _: [INDEX]),
}

COUNTED = (SINGLE, INDEX, torch.int32)
FROM_NUMBERS: dict[str, Iterable[Case]] = {
    "aten::full.out": [*(([2, 3], 7, out(d)) for d in ALL), ([], 1.5, out(SINGLE))],
    "aten::full_like.out": grid(EACH, [(1, None)]),
    "aten::fill.Scalar_out": grid(EACH, [1]),
    "aten::fill.Tensor_out": [(x, torch.tensor(2).to(x.dtype)) for x in EACH],
    **family("aten::*.out", "zeros ones", [([2, 3], out(d)) for d in ALL]),
    "aten::scalar_tensor.out": [(1, out(d)) for d in ALL],
    "aten::arange.out": [*((end, out(d)) for d in COUNTED for end in (5, 0)), (4.5, out(SINGLE))],
    "aten::arange.start_out": [
        *((*span, out(d)) for d in COUNTED for span in ((2, 9, 3), (5, -2, -2))),
        (0.5, 3.0, 0.25, out(SINGLE)),
    ],
    # Conversions.
    "aten::_to_copy.out": [(x, False, None, out(d)) for x in each(3, 4) for d in ALL],
    "aten::copy.out": [(rand(3, 4, dtype=a), rand(4, dtype=b), False) for a, b in MIXED],
    "dim_order_ops::_to_dim_order_copy.out": [(x, False, None, out(d)) for x in (*EACH, IMAGE) for d in ALL],
}

TOKENS = rand(2, 3, 20)
SHIFTED = [TOKENS, TOKENS + 7, TOKENS - 7, TOKENS * 0]
SCALES, ZERO_POINTS = torch.tensor([0.1, 0.05, 0.2]), torch.tensor([3, -100, 0])
GROUP_POINTS = torch.tensor([[1, 2], [0, 0], [-3, 4]])
RANGE = {
    torch.int8: (-128, 127),
    torch.uint8: (0, 255),
    torch.int16: (-32768, 32767),
    torch.int32: (-(2**31), 2**31 - 1),
}
INT8 = (*RANGE[torch.int8], torch.int8)
"""The least and the largest number, and the dtype."""


def off_ties(*shape: int, scale: torch.Tensor | float = 0.1) -> torch.Tensor:
    """Multiples of a scale, some beyond 8 bits, and up to 0.4 of it more: any arithmetic rounds all of them alike."""
    whole = rand(*shape, low=-400, high=400).round()
    return (whole + rand(*shape, low=-0.4, high=0.4)) * scale


def quantized(*shape: int, dtype: torch.dtype = torch.int8) -> torch.Tensor:
    return rand(*shape, dtype=dtype, low=-128 if dtype != torch.uint8 else 0, high=127)


QUANTIZED: dict[str, Iterable[Case]] = {
    "quantize_per_tensor.out": [(off_ties(2, 30), 0.1, zero, *RANGE[d], d) for d in RANGE for zero in (0, 7, -128)],
    "quantize_per_tensor.Tensor_out": [
        (off_ties(2, 30), torch.tensor([0.1]), torch.tensor([5]), *RANGE[d], d) for d in RANGE
    ],
    "quantize_per_channel.out": [
        (off_ties(2, 3, 7, scale=SCALES[:, None]), SCALES, ZERO_POINTS, 1, -127, 127, torch.int8),
        (off_ties(5, 3, scale=SCALES), SCALES, ZERO_POINTS, -1, -8, 7, torch.int8),
        (off_ties(3, 4, scale=SCALES[:, None]), SCALES, ZERO_POINTS.abs(), 0, 0, 255, torch.uint8),
    ],
    "quantize_per_token.out": grid(
        [off_ties(2, 3, 20, scale=SCALES[:, None])],
        [SCALES.double().repeat(2).reshape(2, 3, 1)],
        [ZERO_POINTS.repeat(2).reshape(2, 3, 1)],
        [INT8],
    ),
    "quantize_per_channel_group.out": [(off_ties(3, 8), torch.full((3, 2), 0.1), GROUP_POINTS, -8, 7, torch.int8, 4)],
    "dequantize_per_tensor.out": [
        (quantized(2, 30, dtype=d), 0.1, zero, *RANGE[d], d, to)
        for d in RANGE
        for zero in (0, 7)
        for to in (None, SINGLE, torch.float16)
    ],
    "dequantize_per_tensor.Tensor_out": [
        (quantized(2, 30, dtype=d), torch.tensor([0.1]), torch.tensor([5]), *RANGE[d], d, None) for d in RANGE
    ],
    "dequantize_per_channel.out": [
        (quantized(*shape), scales, zeros, axis, *INT8, None)
        for shape, axis in (((2, 3, 7), 1), ((5, 3), -1), ((3, 4), 0))
        for scales in (SCALES, SCALES.double())
        for zeros in (None, ZERO_POINTS, ZERO_POINTS.int())
    ],
    "dequantize_per_token.out": [(quantized(3, 20), SCALES.double()[:, None], ZERO_POINTS[:, None], *INT8, SINGLE)],
    "dequantize_per_channel_group.out": grid(
        [(quantized(3, 8), rand(3, 2, low=0.1))], (None, GROUP_POINTS), [(-8, 7, torch.int8, 4, SINGLE)]
    ),
    "choose_qparams.Tensor_out": [(x, *RANGE[d], 1e-5, d) for d in (torch.int8, torch.uint8) for x in SHIFTED],
    "choose_qparams_symmetric.Tensor_out": [
        (x, *RANGE[d], 1e-5, d) for d in (torch.int8, torch.uint8) for x in SHIFTED[:2]
    ],
    "choose_qparams_per_token_asymmetric.out": grid(SHIFTED, [torch.int8]),
}


def table(per_byte: int, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    """6 rows of 24 integers, so many to a byte, of all values."""
    return torch.arange(6 * 24 // per_byte).mul(89).reshape(6, -1).to(dtype)


SHORT = (torch.float32, torch.float16, torch.bfloat16)


def look_ups(tables: Sequence[torch.Tensor], low: int, high: int) -> list[Case]:
    """Scales of rows and of groups, in each type, with and without zero points."""
    return [
        (each, rand(*shape, low=0.1, dtype=dtype), points, low, high, indices)
        for each in tables
        for shape in ((6,), (6, 1), (6, 3))
        for dtype in SHORT
        for points in (None, rand(*shape, low=-4, high=4).round().to(dtype))
        for indices in (torch.tensor([[5, 0, 3], [3, 3, 1]]), torch.tensor(2), torch.zeros(0, dtype=torch.int64))
    ]


BYTES, NIBBLES, PAIRS = [table(1), table(1, torch.int8)], [table(2)], [table(4)]
for kind, tables, low, high in (("byte", BYTES, -128, 127), ("4bit", NIBBLES, -8, 7), ("2bit", PAIRS, -2, 1)):
    QUANTIZED[f"embedding_{kind}.out"] = look_ups(tables, low, high)
    QUANTIZED[f"embedding_{kind}.dtype_out"] = [
        (*case, dtype)
        for case in look_ups(tables, low, high)
        for dtype in SHORT
        if case[1].dtype in (dtype, SINGLE)  # PyTorch's definition rounds products to the scales' type
    ]

SEEN = rand(3, 7, dtype=BOOL)
MASKS = (SEEN, None), (torch.where(SEEN, rand(3, 7), -math.inf)[None, None], 0.3), (SEEN[:1] | True, None)
ATTENTION: list[Case] = [
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
        *((torch.float32, cache) for cache in (*SHORT, torch.int8)),
        *((torch.float16, cache) for cache in (torch.float16, torch.int8)),
    ]
    for batch, heads, length, features in ((1, 8, 3, 24), (2, 2, 3, 40), (1, 16, 3, 8))
    for mask, scale in (*MASKS, (rand(1, 1), None))
]

CASES: dict[str, Iterable[Case]] = {
    **UNARY,
    **BINARY,
    **REDUCTIONS,
    **PRODUCTS,
    **WINDOWS,
    **MOVES,
    **BY_POSITION,
    **FROM_NUMBERS,
    **{f"quantized_decomposed::{name}": cases for name, cases in QUANTIZED.items()},
    "xir::attend_prefix.out": ATTENTION,
}
