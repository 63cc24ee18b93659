"""What every rule builds computes what ATen computes: by the reference, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, Literal

import pytest
import torch
from reference.dozens import check_together, dozens
from reference.edge import Call, Const, call, calls_of, sampled
from reference.runtimes import load_stock
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Attribute
from xdsl.traits import Pure

from xir import runtime
from xir.api import EdgeProgram, XnnpackPartitioner
from xir.dialects import edge, xnnpack
from xir.dialects.edge.families import Dequantize, Quantize, names_of
from xir.dialects.xnnpack import kinds
from xir.dialects.xnnpack.wire import FIRST_XIR_TAG
from xir.evaluate import run_module
from xir.evaluate.nodes import BINARY, REDUCE, UNARY
from xir.importer.dtypes import ELEMENT_TYPES
from xir.ir.context import XirContext
from xir.ir.passes import PassManager
from xir.transforms.xnnpack.legalizations import RULES
from xir.transforms.xnnpack.legalizations.samples import samples_of
from xir.transforms.xnnpack.select.partition_xnnpack import PartitionXnnpackPass

TOLERANCE = 1e-5
"""Of the largest magnitude of a result. fp32 has 6e-8; sums and approximations of functions add to it."""

GENERATOR = torch.Generator().manual_seed(20)


def r(*shape: int) -> torch.Tensor:
    """Numbers of both signs."""
    return torch.randn(shape, generator=GENERATOR)


def p(*shape: int) -> torch.Tensor:
    """Positive numbers, away from zero."""
    return torch.rand(shape, generator=GENERATOR) + 0.5


def c(*shape: int) -> Const:
    return Const(r(*shape))


def cp(*shape: int) -> Const:
    return Const(p(*shape))


QUANTIZATION = names_of(Quantize | Dequantize)
"""Conversions from and to integers, which `test_quantized.py` puts around the others."""

Target = Literal["executorch", "xir"]
Case = tuple[str, dict[str, Any], "Sequence[int] | None"]


def case(name: str, /, *, only: Sequence[int] | None = None, **args: Any) -> Case:
    """A call of `edge.<name>`; `only` names the results that are used, where not all are."""
    return f"edge.{name}", args, only


def convolution(**args: Any) -> Case:
    """A call of `edge.convolution`, whose arguments have no defaults."""
    rest: dict[str, Any] = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "output_padding": (0, 0)}
    return "edge.convolution", {"transposed": False, "groups": 1, **rest, **args}, None


def batch_norm(**args: Any) -> Case:
    """A call of `edge.batch_norm` in inference."""
    return "edge.batch_norm", {"training": False, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True, **args}, None


IMAGE = r(2, 4, 7, 9)
ROW = r(2, 4, 11)
MATRIX = r(5, 6)
MASK = Const(torch.rand(5, 6, generator=GENERATOR) > 0.5)
INFINITE = torch.where(torch.rand(5, 6, generator=GENERATOR) > 0.5, torch.tensor(-math.inf), torch.tensor(math.inf))
NEAR_ZERO = torch.linspace(-8, 8, 101)
EXTREME = torch.tensor([-200.0, -90.0, -30.0, -1e-3, 0.0, 1e-3, 30.0, 90.0, 200.0])
ROUNDING = torch.tensor([-2.5, -2.0, -1.5, -0.5, -0.0, 0.5, 1.5, 2.0, 2.5])

CASES: list[Case] = [
    # Arithmetic.
    *(case(row_name, self=NEAR_ZERO) for row_name in ("abs", "cos", "exp", "neg", "sigmoid", "sin", "square", "tanh")),
    *(case(row_name, self=ROUNDING) for row_name in ("ceil", "floor", "trunc")),
    *(case(row_name, self=p(2, 3)) for row_name in ("log", "rsqrt", "sqrt", "reciprocal")),
    case("sigmoid", self=EXTREME),
    case("tanh", self=EXTREME),
    *(
        case(f"{row_name}.Tensor", self=r(*a), other=p(*b))
        for row_name in ("add", "sub", "mul", "div")
        for a, b in (((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((3,), (2, 3)))
    ),
    case("add.Tensor", self=r(2, 3), other=r(2, 3), alpha=2),
    case("sub.Tensor", self=r(2, 3), other=c(3), alpha=0.5),
    case("add.Tensor", self=c(2, 3), other=r(3)),
    case("add.Scalar", self=r(2, 3), other=2, alpha=3),
    case("sub.Scalar", self=r(2, 3), other=1.5, alpha=2),
    case("rsub.Scalar", self=r(2, 3), other=1.5, alpha=2),
    case("mul.Scalar", self=r(2, 3), other=-3),
    case("div.Scalar", self=r(2, 3), other=3),
    *(case("div.Tensor_mode", self=r(4, 5) * 9, other=p(4, 5), rounding_mode=mode) for mode in (None, "trunc")),
    case("div.Scalar_mode", self=r(4, 5) * 9, other=-2, rounding_mode="floor"),
    case("maximum", self=r(2, 3), other=r(3)),
    case("minimum", self=r(2, 3), other=r(3)),
    *(case("pow.Tensor_Scalar", self=p(2, 3), exponent=e) for e in (0.5, -0.5, 1, 2, 3, 7, 16, -1, -3, 2.0)),
    case("pow.Tensor_Scalar", self=r(2, 3), exponent=3),
    case("clamp", self=r(20), min=-0.5, max=0.5),
    case("clamp", self=r(20), min=0),
    case("clamp", self=r(20), max=0.25),
    case("clamp", self=r(20), min=0.5, max=0.5),
    case("clamp", self=r(20), min=1, max=-1),
    case("clamp.Tensor", self=r(4, 5), min=r(5) - 1, max=r(4, 1) + 1),
    case("clamp.Tensor", self=r(4, 5), min=c(5)),
    case("clamp.Tensor", self=r(4, 5), max=c(5)),
    case("pow.Scalar", self=2.5, exponent=r(2, 3)),
    case("exp2", self=NEAR_ZERO),
    *(case(row_name, self=p(2, 3)) for row_name in ("log2", "log10")),
    case("tan", self=r(2, 3).clamp(-1, 1)),
    case("cosh", self=NEAR_ZERO),
    *(case(row_name, self=NEAR_ZERO) for row_name in ("erf", "expm1", "sinh")),
    case("expm1", self=EXTREME[:-2]),
    case("log1p", self=torch.tensor([-1.0, -0.5, -1e-4, -1e-9, 0.0, 1e-9, 1e-4, 0.5, 3.0, 1e9, math.inf])),
    case("round", self=ROUNDING),
    case("round", self=torch.tensor([0.49999997, 4194304.5, 8388607.5, -8388609.0, 16777219.0, -3e38, math.inf])),
    *(
        case(f"{row_name}.Scalar", self=r(4, 5) * 9, other=other)
        for row_name in ("remainder", "fmod")
        for other in (2, -0.5, 1)
    ),
    *(case("pow.Tensor_Scalar", self=p(2, 3), exponent=e) for e in (0.25, 0.75, 1.5, -2.5, 0.3, -1.7, 65, 66, -65)),
    case("pow.Tensor_Scalar", self=r(2, 3), exponent=65),
    case("pow.Tensor_Scalar", self=torch.tensor([-3.0, -0.5, 0.0, 2.0]), exponent=0.3),
    case("pow.Tensor_Tensor", self=p(2, 3) * 3, exponent=r(3)),
    case("pow.Tensor_Tensor", self=r(4, 5), exponent=torch.tensor([-3.0, -2.0, 0.0, 1.0, 4.0])),
    case("pow.Tensor_Tensor", self=torch.tensor([0.0, 0.0, -2.0, 1.0]), exponent=torch.tensor([0.0, 2.0, 0.5, 1e9])),
    case("sign", self=torch.tensor([-3e38, -1.0, -2e-38, 0.0, 2e-38, 0.5, math.inf])),
    # Activations.
    *(
        case(row_name, self=NEAR_ZERO)
        for row_name in ("relu", "hardswish", "hardsigmoid", "hardtanh", "silu", "mish", "softplus")
    ),
    case("softplus", self=EXTREME),
    case("softplus", self=NEAR_ZERO, beta=2, threshold=10),
    case("softplus", self=torch.cat((NEAR_ZERO, EXTREME)), beta=1, threshold=1),
    case("mish", self=EXTREME),
    case("silu", self=EXTREME),
    case("hardtanh", self=NEAR_ZERO, min_val=0, max_val=6),
    case("gelu", self=NEAR_ZERO),
    case("gelu", self=NEAR_ZERO, approximate="tanh"),
    case("elu", self=NEAR_ZERO),
    case("elu", self=NEAR_ZERO, alpha=0.5),
    *(
        case("elu", self=NEAR_ZERO, alpha=alpha, scale=scale, input_scale=input_scale)
        for alpha, scale, input_scale in ((1.67, 1.05, 1), (2.0, 1, 0.5), (-1.5, 2, 1), (0, 1, 1), (-1.0, 1, -1.0))
    ),
    case("leaky_relu", self=NEAR_ZERO),
    case("leaky_relu", self=NEAR_ZERO, negative_slope=-0.3),
    case("prelu", self=IMAGE, weight=cp(4)),
    case("prelu", self=IMAGE, weight=c(1)),
    case("prelu", self=MATRIX, weight=c(6)),
    case("prelu", self=r(5), weight=c(1)),
    case("prelu", self=r(), weight=c(1)),
    case("prelu", self=IMAGE, weight=r(4)),
    # Nothing at all.
    case("clone", self=MATRIX),
    case("_to_copy", self=MATRIX),
    case("alias", self=MATRIX),
    case("detach", self=MATRIX),
    case("contiguous", self=MATRIX),
    case("dropout", input=MATRIX, p=0.5, train=False),
    # Convolutions.
    case("conv2d", input=IMAGE, weight=c(6, 4, 3, 3), bias=c(6)),
    case("conv2d", input=IMAGE, weight=c(6, 4, 3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
    case("conv2d", input=IMAGE, weight=c(6, 2, 1, 1), groups=2),
    case("conv2d", input=IMAGE, weight=c(4, 1, 3, 3), bias=c(4), padding=(1, 1), groups=4),
    case("conv2d", input=IMAGE, weight=c(8, 1, 3, 3), groups=4),
    case("conv2d", input=r(1, 1, 5, 5), weight=c(3, 1, 3, 3)),
    case("conv2d", input=r(4, 7, 9), weight=c(6, 4, 3, 3), bias=c(6)),
    case("conv1d", input=ROW, weight=c(6, 4, 3), bias=c(6), stride=(2,), padding=(1,), dilation=(2,)),
    case("conv1d", input=r(4, 11), weight=c(4, 1, 3), groups=4),
    convolution(input=IMAGE, weight=c(6, 4, 3, 3), bias=c(6), padding=(1, 1)),
    convolution(input=IMAGE, weight=c(6, 4, 3, 3), stride=(2,), padding=(1,)),
    convolution(
        input=IMAGE,
        weight=c(4, 3, 3, 2),
        bias=c(6),
        transposed=True,
        groups=2,
        stride=(2, 3),
        output_padding=(1, 2),
        padding=(1, 0),
        dilation=(2, 1),
    ),
    case("conv_transpose2d.input", input=IMAGE, weight=c(4, 5, 3, 3), bias=c(5)),
    case("conv_transpose2d.input", input=IMAGE, weight=c(4, 1, 2, 2), stride=(2, 2), groups=4),
    case("conv_transpose2d.input", input=r(4, 7, 9), weight=c(4, 5, 3, 3), padding=(1, 1)),
    case("conv2d", input=IMAGE, weight=c(6, 4, 3, 3), bias=r(6)),
    *(
        case(
            "conv_transpose2d.input",
            input=IMAGE,
            weight=c(4, 5, 3, 3),
            padding=q,
            output_padding=(2, 1),
            dilation=(3, 2),
        )
        for q in ((0, 0), (1, 1), (3, 0))
    ),
    case("conv_transpose1d", input=ROW, weight=c(4, 5, 3), bias=c(5), stride=(2,), output_padding=(1,), padding=(1,)),
    batch_norm(input=IMAGE, weight=c(4), bias=c(4), running_mean=c(4), running_var=cp(4)),
    batch_norm(input=MATRIX, running_mean=c(6), running_var=cp(6)),
    case(
        "_native_batch_norm_legit_no_training",
        only=[0],
        input=ROW,
        weight=c(4),
        bias=c(4),
        running_mean=c(4),
        running_var=cp(4),
        momentum=0.1,
        eps=1e-3,
    ),
    # Matrices.
    case("linear", input=MATRIX, weight=c(3, 6), bias=c(3)),
    case("linear", input=r(2, 5, 6), weight=c(3, 6)),
    case("linear", input=r(6), weight=c(3, 6), bias=c(3)),
    case("addmm", self=c(3), mat1=MATRIX, mat2=c(6, 3)),
    case("linear", input=MATRIX, weight=c(6)),
    case("linear", input=MATRIX, weight=r(3, 6), bias=r(3)),
    case("addmm", self=c(5, 1), mat1=MATRIX, mat2=c(6, 3)),
    case("addmm", self=c(1, 1), mat1=MATRIX, mat2=c(6, 3)),
    case("addmm", self=r(3), mat1=MATRIX, mat2=c(6, 3)),
    case("addmm", self=torch.full((3,), math.nan), mat1=MATRIX, mat2=r(6, 3), beta=0),
    case("addmm", self=r(3), mat1=MATRIX, mat2=r(6, 3), beta=0.5, alpha=2),
    case("mm", self=MATRIX, mat2=c(6, 3)),
    case("mm", self=MATRIX, mat2=r(6, 3)),
    case("bmm", self=r(2, 5, 6), mat2=r(2, 6, 3)),
    case("bmm", self=r(2, 5, 6), mat2=c(2, 6, 3)),
    case("baddbmm", self=r(2, 5, 3), batch1=r(2, 5, 6), batch2=r(2, 6, 3)),
    case("baddbmm", self=r(3), batch1=r(2, 5, 6), batch2=r(2, 6, 3), beta=0.5, alpha=2),
    *(
        case("matmul", self=r(*a), other=b)
        for a, b in (
            ((5, 6), c(6, 3)),
            ((2, 5, 6), c(6, 3)),
            ((6,), c(6, 3)),
            ((5, 6), r(6, 3)),
            ((2, 5, 6), r(6, 3)),
            ((2, 1, 5, 6), r(4, 6, 3)),
            ((6,), r(6)),
            ((5, 6), r(6)),
            ((6,), r(2, 6, 3)),
        )
    ),
    case("scaled_dot_product_attention", query=r(1, 2, 5, 8), key=r(1, 2, 7, 8), value=r(1, 2, 7, 4)),
    case("scaled_dot_product_attention", query=r(2, 5, 8), key=r(2, 7, 8), value=r(2, 7, 4), scale=0.5),
    case("scaled_dot_product_attention", query=r(2, 5, 8), key=r(2, 5, 8), value=r(2, 5, 4), is_causal=True),
    case("scaled_dot_product_attention", query=r(2, 5, 8), key=r(2, 7, 8), value=r(2, 7, 4), attn_mask=r(5, 7)),
    case(
        "scaled_dot_product_attention",
        query=r(1, 2, 3, 8),
        key=r(1, 2, 3, 8),
        value=r(1, 2, 3, 4),
        attn_mask=Const(torch.tensor([[True, False, True], [True, True, False], [False, True, True]])),
    ),
    case(
        "scaled_dot_product_attention",
        query=r(2, 4, 3, 8),
        key=r(2, 2, 3, 8),
        value=r(2, 2, 3, 4),
        is_causal=True,
        enable_gqa=True,
    ),
    case(
        "scaled_dot_product_attention",
        query=r(2, 3, 8),
        key=r(2, 3, 8),
        value=r(2, 3, 4),
        attn_mask=Const(torch.tensor([[True, False, True], [False, False, False], [False, True, True]])),
    ),
    *(case("_softmax", self=IMAGE, dim=dim, half_to_float=False) for dim in (-1, 0, 1, 2)),
    *(case("_log_softmax", self=r(2, 3, 4) * 50, dim=dim, half_to_float=False) for dim in (-1, 0, 1)),
    # Pooling.
    case("max_pool2d", self=IMAGE, kernel_size=(2, 2)),
    case("max_pool2d", self=IMAGE, kernel_size=(3, 2), stride=(2, 3), padding=(1, 1), dilation=(2, 1)),
    case("max_pool2d", self=IMAGE, kernel_size=(3, 3), stride=(2, 2), ceil_mode=True),
    case("max_pool2d", self=IMAGE, kernel_size=(2, 2), stride=(5, 4), padding=(1, 1), ceil_mode=True),
    case("max_pool2d", self=IMAGE, kernel_size=(1, 1), stride=(1, 1)),
    case("max_pool2d", self=IMAGE, kernel_size=(1, 1), stride=(3, 2)),
    case("max_pool2d", self=-p(4, 7, 9), kernel_size=(2, 2), padding=(1, 1)),
    case("max_pool1d", self=ROW, kernel_size=(3,), stride=(2,), padding=(1,)),
    case("max_pool2d_with_indices", only=[0], self=IMAGE, kernel_size=(2, 2)),
    case("avg_pool2d", self=IMAGE, kernel_size=(2, 2)),
    case("avg_pool2d", self=IMAGE, kernel_size=(3, 2), stride=(2, 1), padding=(1, 1)),
    case("avg_pool2d", self=IMAGE, kernel_size=(3, 2), stride=(2, 1), padding=(1, 1), count_include_pad=False),
    case("avg_pool2d", self=IMAGE, kernel_size=(3, 3), stride=(2, 2), ceil_mode=True),
    case("avg_pool2d", self=IMAGE, kernel_size=(3, 3), stride=(3, 2), padding=(1, 1), ceil_mode=True),
    case(
        "avg_pool2d",
        self=IMAGE,
        kernel_size=(3, 3),
        stride=(3, 2),
        padding=(1, 1),
        ceil_mode=True,
        count_include_pad=False,
    ),
    case("avg_pool2d", self=IMAGE, kernel_size=(3, 3), padding=(1, 1), divisor_override=5),
    case("avg_pool2d", self=IMAGE, kernel_size=(1, 1), stride=(1, 1)),
    case("avg_pool2d", self=IMAGE, kernel_size=(1, 1), stride=(2, 3), divisor_override=4),
    case(
        "avg_pool2d", self=IMAGE, kernel_size=(3, 2), stride=(2, 2), padding=(1, 0), ceil_mode=True, divisor_override=7
    ),
    case("avg_pool1d", self=ROW, kernel_size=(3,), stride=(2,), padding=(1,)),
    case("avg_pool1d", self=r(4, 11), kernel_size=(2,)),
    *(
        case("adaptive_avg_pool2d", self=r(2, 3, 8, 6), output_size=s)
        for s in ((1, 1), (4, 3), (3, 4), (8, 6), (1, 6), (9, 7))
    ),
    case("_adaptive_avg_pool2d", self=r(3, 8, 6), output_size=(2, 2)),
    *(case("adaptive_max_pool2d", only=[0], self=IMAGE, output_size=s) for s in ((1, 1), (7, 3), (3, 4), (9, 2))),
    case("adaptive_max_pool2d", only=[0], self=r(4, 7, 9), output_size=(2, 2)),
    case("adaptive_avg_pool1d", self=ROW, output_size=(4,)),
    # Resizing.
    *(
        case("upsample_bilinear2d.vec", input=IMAGE, output_size=s, align_corners=a, scale_factors=None)
        for s in ((14, 18), (5, 20), (1, 1))
        for a in (False, True)
    ),
    *(
        case("upsample_bilinear2d.vec", input=IMAGE, output_size=None, align_corners=a, scale_factors=f)
        for f in ((2.0, 2.0), (1.5, 0.7), (1.1, 2.2))
        for a in (False, True)
    ),
    case("upsample_bilinear2d", self=IMAGE, output_size=(14, 18), align_corners=False),
    case("upsample_bilinear2d", self=IMAGE, output_size=(10, 13), align_corners=False, scales_h=1.5, scales_w=1.5),
    *(case("upsample_nearest2d", self=IMAGE, output_size=s) for s in ((14, 27), (5, 20), (7, 18), (3, 3))),
    *(
        case("upsample_nearest2d.vec", input=IMAGE, output_size=None, scale_factors=f)
        for f in ((2.0, 3.0), (1.5, 0.7), (1.1, 2.2), (3.3, 3.3))
    ),
    # Reductions.
    case("mean", self=IMAGE),
    case("sum", self=IMAGE),
    *(
        case(row_name, self=IMAGE, dim=dim, keepdim=keepdim)
        for row_name in ("mean.dim", "sum.dim_IntList", "amax", "amin")
        for dim in ([2, 3], [-1], [0], [1, 3], [0, 1, 2, 3], [])
        for keepdim in (False, True)
    ),
    *(case("linalg_vector_norm", self=IMAGE, ord=o, dim=[1, 3], keepdim=True) for o in (1, 2, math.inf)),
    *(case("linalg_vector_norm", self=p(2, 3, 4), ord=o, dim=[1]) for o in (3, 0.5, -1, -math.inf)),
    case("linalg_vector_norm", self=IMAGE),
    # No product so small that processors may take it for 0.
    case("prod", self=MATRIX.sign() * (1 + MATRIX.abs() / 8)),
    *(case("prod.dim_int", self=IMAGE, dim=d, keepdim=k) for d, k in ((-1, False), (1, True))),
    case("mean.dim", self=r(2, 1, 1, 4), dim=[1, 2]),
    case("mean.dim", self=IMAGE, dim=None),
    case("mean.dim", self=r(2, 3, 4), dim=[1]),
    case("amax", self=r(2, 1, 4), dim=[1]),
    case("var.dim", self=MATRIX, dim=[1]),
    case("var.dim", self=IMAGE, dim=[2, 3], unbiased=False, keepdim=True),
    case("var.correction", self=MATRIX, dim=[0], correction=0),
    case("var.correction", self=MATRIX, keepdim=True),
    case("layer_norm", input=r(2, 5, 6), normalized_shape=[6], weight=c(6), bias=c(6)),
    case("layer_norm", input=r(2, 5, 6), normalized_shape=[5, 6]),
    case("native_layer_norm", only=[0], input=r(2, 5, 6), normalized_shape=[6], weight=c(6), bias=c(6), eps=1e-5),
    case("native_group_norm", only=[0], input=IMAGE, weight=c(4), bias=c(4), N=2, C=4, HxW=63, group=2, eps=1e-5),
    *(
        case(
            "instance_norm", input=x, weight=w, bias=w, use_input_stats=True, momentum=0.1, eps=1e-5, cudnn_enabled=True
        )
        for x, w in ((IMAGE, c(4)), (ROW, None))
    ),
    case(
        "instance_norm",
        input=IMAGE,
        weight=c(4),
        running_mean=c(4),
        running_var=cp(4),
        use_input_stats=False,
        momentum=0.1,
        eps=1e-5,
        cudnn_enabled=True,
    ),
    *(case(row_name, self=IMAGE) for row_name in ("max", "min")),
    *(
        case(row_name, only=[0], self=IMAGE, dim=dim, keepdim=keepdim)
        for row_name in ("max.dim", "min.dim")
        for dim, keepdim in ((-1, False), (1, True))
    ),
    case("group_norm", input=IMAGE, num_groups=2, weight=c(4), bias=c(4)),
    case("group_norm", input=r(2, 6), num_groups=3),
    case("rms_norm", input=r(2, 5, 6), normalized_shape=[6], weight=c(6), eps=1e-5),
    case("rms_norm", input=r(2, 5, 6), normalized_shape=[5, 6]),
    # Choices by a static mask.
    case("where.self", condition=MASK, self=MATRIX, other=r(6)),
    case("where.self", condition=MASK, self=MATRIX, other=c(6)),
    case("where.self", condition=MASK, self=Const(torch.tensor(2.5)), other=MATRIX),
    case("where.self", condition=MASK, self=INFINITE, other=r(5, 6)),
    *(case("masked_fill.Scalar", self=MATRIX, mask=MASK, value=v) for v in (3, -0.5, -math.inf, math.inf)),
    case("masked_fill.Scalar", self=INFINITE, mask=MASK, value=0),
    case("masked_fill.Scalar", self=r(6), mask=MASK, value=1),
    case("masked_fill.Scalar", self=MATRIX, mask=Const(torch.zeros(6, dtype=torch.bool)), value=1),
    case("masked_fill.Tensor", self=MATRIX, mask=MASK, value=Const(torch.tensor(-2.0))),
    case("full", size=(2, 3), fill_value=1.5, dtype=f32),
    case("full_like", self=r(2, 3), fill_value=-2.5),
    case("full_like", self=r(2, 3), fill_value=math.inf),
    *(case(row_name, self=IMAGE, diagonal=d) for row_name in ("tril", "triu") for d in (0, 2, -1)),
    # Moves.
    case("view", self=MATRIX, size=[3, 10]),
    case("_unsafe_view", self=MATRIX, size=[-1]),
    case("squeeze", self=r(1, 3, 1, 2)),
    case("squeeze.dim", self=r(1, 3, 1, 2), dim=-2),
    case("squeeze.dim", self=r(1, 3, 1, 2), dim=1),
    case("squeeze.dims", self=r(1, 3, 1, 2), dim=[0, 2]),
    case("unsqueeze", self=MATRIX, dim=-1),
    case("expand", self=r(3, 1), size=[2, 3, 4]),
    case("expand", self=r(3, 1), size=[-1, 1]),
    case("copy", self=c(2, 3), src=r(2, 3)),
    case("copy", self=r(4, 2, 3), src=r(2, 1)),
    case("permute", self=IMAGE, dims=[3, -4, 2, 1]),
    case("transpose.int", self=IMAGE, dim0=1, dim1=-1),
    case("t", self=MATRIX),
    case("t", self=r(4)),
    case("cat", tensors=[r(2, 3), r(2, 1), r(2, 4)], dim=-1),
    case("cat", tensors=[r(1, 3) for _ in range(12)]),
    case("cat", tensors=[r(0), r(2, 3), c(1, 3)]),
    case("stack", tensors=[r(2, 3), r(2, 3)], dim=1),
    case("stack", tensors=[r(2, 3), r(2, 3)], dim=-1),
    case("repeat", self=r(2, 3), repeats=[2, 1, 3]),
    case("roll", self=IMAGE, shifts=[3, -1], dims=[2, 1]),
    case("roll", self=MATRIX, shifts=[5], dims=[0]),
    case("roll", self=MATRIX, shifts=[-4]),
    case("index.Tensor", self=IMAGE, indices=[None, Const(torch.tensor([3, -1, 0]))]),
    case("index.Tensor", self=MATRIX, indices=[Const(torch.tensor([[0], [4]])), Const(torch.tensor([1, 2, -6]))]),
    case("gather", self=MATRIX, dim=-1, index=Const(torch.tensor([[5, 0], [1, 1], [2, 3]]))),
    *(case("diagonal", self=IMAGE, offset=o, dim1=a, dim2=b) for o, a, b in ((0, 0, 1), (3, 2, 3), (-2, 3, -2))),
    *(
        case("slice.Tensor", self=MATRIX, dim=dim, start=start, end=end)
        for dim, start, end in ((0, 1, 3), (-1, -4, -1), (1, None, 2), (0, 3, 1000), (1, -1000, None), (0, 0, 5))
    ),
    *(
        case("slice.Tensor", self=IMAGE, dim=dim, start=start, end=end, step=step)
        for dim, start, end, step in (
            (2, 0, None, 2),
            (3, 1, 8, 3),
            (-1, None, None, 20),
            (1, 3, None, 2),
            (0, 1, 2, 5),
        )
    ),
    case("slice.Tensor", self=r(2, 2, 2, 2, 2, 6), dim=5, step=2),
    case("lift_fresh_copy", self=MATRIX),
    *(case("select_scatter", self=MATRIX, src=r(5), dim=-1, index=i) for i in (0, 2, -1)),
    case("slice_scatter", self=MATRIX, src=r(2, 6), start=1, end=3),
    case("slice_scatter", self=MATRIX, src=r(5, 6), dim=1),
    case("slice_scatter", self=MATRIX, src=r(5, 2), dim=1, start=1, end=6, step=3),
    case("slice_scatter", self=MATRIX, src=r(3, 6), step=2),
    *(
        case(f"{kind}_pad3d", self=r(1, 2, 3, 4, 5), padding=[1, 2, 0, 1, 1, 0])
        for kind in ("reflection", "replication")
    ),
    case("flip", self=IMAGE, dims=[1, -1]),
    case("flip", self=MATRIX, dims=[]),
    case("index_select", self=IMAGE, dim=-1, index=Const(torch.tensor([3, 4, 5, 0, 0, 8]))),
    case("index_select", self=MATRIX, dim=0, index=Const(torch.tensor([1, 2, 3]))),
    case("select.int", self=IMAGE, dim=1, index=2),
    case("select.int", self=IMAGE, dim=-1, index=-1),
    case("split.Tensor", self=MATRIX, split_size=2, dim=0),
    case("split.Tensor", self=MATRIX, split_size=4, dim=-1, only=[1]),
    case("split_with_sizes", self=MATRIX, split_sizes=[1, 3, 2], dim=1),
    case("unbind.int", self=r(3, 4), dim=1),
    case("constant_pad_nd", self=IMAGE, pad=[1, 2, 3, 0], value=-1.5),
    case("constant_pad_nd", self=IMAGE, pad=[-1, 2, 0, -3, 1, 1]),
    case("constant_pad_nd", self=IMAGE, pad=[0, 0]),
    case("reflection_pad1d", self=ROW, padding=[3, 2]),
    case("reflection_pad2d", self=IMAGE, padding=[1, 2, 3, 0]),
    case("replication_pad1d", self=ROW, padding=[3, 2]),
    case("replication_pad2d", self=IMAGE, padding=[1, 0, 3, 2]),
    case("cat", tensors=[r(2, 3), r(2, 0), c(2, 1)], dim=1),
    case("pixel_shuffle", self=r(2, 8, 3, 5), upscale_factor=2),
    case("pixel_shuffle", self=r(8, 3, 5), upscale_factor=2),
    case("pixel_unshuffle", self=r(2, 1, 3, 4, 6), downscale_factor=2),
    case("pixel_unshuffle", self=r(2, 3, 4, 6), downscale_factor=2),
]

HALVES = (torch.float16, torch.bfloat16)

HALF_TOLERANCE = 3
"""How many units in the last place of its largest number a result may be off: two for a sum or product of rounded
numbers, whose own rounding makes it three."""


def i(*shape: int) -> torch.Tensor:
    """32-bit integers of both signs."""
    return torch.arange(-3, 7, dtype=torch.int32).repeat(10)[: torch.Size(shape).numel()].reshape(shape)


INTEGER_CASES: list[Case] = [
    *(case(f"{name}.Tensor", self=i(2, 3), other=i(3)) for name in ("add", "sub", "mul")),
    case("add.Tensor", self=i(2, 3), other=Const(i(3)), alpha=2),
    case("add.Tensor", self=torch.tensor([2**31 - 1], dtype=torch.int32), other=torch.tensor([1], dtype=torch.int32)),
    case("add.Scalar", self=i(2, 3), other=2, alpha=3),
    case("rsub.Scalar", self=i(2, 3), other=2),
    case("mul.Scalar", self=i(2, 3), other=-3),
    *(case(name, self=i(10)) for name in ("abs", "neg", "square", "clone")),
    case("pow.Tensor_Scalar", self=i(10), exponent=3),
    case("view", self=i(2, 3), size=[3, 2]),
    case("permute", self=i(2, 3, 4), dims=[2, 0, 1]),
    case("slice.Tensor", self=i(4, 5), dim=1, start=1, end=3),
    case("cat", tensors=[i(2, 3), i(1, 3)]),
    case("repeat", self=i(2, 3), repeats=[2, 2]),
]
"""Calls on 32-bit integers; XNNPACK wraps sums around as ATen does."""

MIXED_CASES: list[Case] = [
    # What ATen computes of integers in fp32, and of two types in the wider one.
    *(case(name, self=i(10)) for name in ("sigmoid", "exp", "tanh")),
    case("div.Tensor", self=i(2, 3), other=Const(torch.tensor([1, 3, 7], dtype=torch.int32))),
    case("add.Scalar", self=i(2, 3), other=0.5),
    case("mul.Tensor", self=i(2, 3), other=r(3)),
    case("mul.Tensor", self=r(2, 3).half(), other=r(3)),
    case("add.Tensor", self=r(2, 3).bfloat16(), other=r(2, 3).half()),
    case("sub.Tensor", self=r(2, 3), other=Const(torch.tensor([1, 2, 3]))),
    # Conversions.
    *(
        case("_to_copy", self=source, dtype=ELEMENT_TYPES[dtype])
        for source in (r(5) * 9, (r(5) * 9).half(), (r(5) * 9).bfloat16(), i(5))
        for dtype in (torch.float32, *HALVES, torch.int32)
        if source.dtype != dtype
    ),
    case("copy", self=c(2, 3), src=i(2, 3)),
    case("copy", self=Const(i(2, 3)), src=r(2, 3) * 9),
]
"""Calls whose operands and result differ in type."""


XIR_CASES: list[Case] = [
    case("round", self=ROUNDING),
    case("gelu", self=NEAR_ZERO, approximate="tanh"),
    case("sign", self=torch.tensor([-3e38, -1.0, -2e-38, 0.0, 2e-38, 0.5, math.inf])),
    case("sign", self=i(10)),
    *(case("pow.Tensor_Scalar", self=p(2, 3), exponent=e) for e in (0.3, -2.7, 70)),
    case(
        "pow.Tensor_Tensor",
        self=torch.tensor([-2.0, -2.0, -0.5, 0.0, 3.0]),
        exponent=torch.tensor([3.0, 2, -1, 2, 0.4]),
    ),
    case("atan2", self=r(4, 5), other=r(5)),
    case("copysign.Tensor", self=r(4, 5), other=r(5)),
    case("fmod.Scalar", self=r(4, 5) * 9, other=-2.7),
    case("bitwise_not", self=i(10)),
    *(case(f"bitwise_{name}.Tensor", self=i(2, 3), other=i(3)) for name in ("and", "or", "xor")),
    *(case(f"bitwise_{name}.Scalar", self=i(2, 3), other=5) for name in ("and", "or", "xor")),
    *(
        case(row_name, self=x, dim=dim, keepdim=keepdim)
        for row_name in ("mean.dim", "sum.dim_IntList", "amax", "amin")
        for x, dim in ((IMAGE, [1]), (IMAGE, [0, 2]), (IMAGE, [1, 3]), (r(3, 5000), [1]), (IMAGE.half(), [0, 2, 3]))
        for keepdim in (False, True)
    ),
    case("max", self=IMAGE),
    case("min.dim", only=[0], self=IMAGE, dim=1),
    case("_log_softmax", self=r(2, 3, 4) * 50, dim=1, half_to_float=False),
]
"""Calls that become nodes which stock ExecuTorch lacks."""


OF_INTEGERS = {name for row in (*kinds.UNARY, *kinds.BINARY) if row.elements == "integer" for name in row.edge}


def samples_without(cases: Sequence[Case], names: Iterable[str]) -> list[Case]:
    """The samples of the rules that no case calls, as cases."""
    known = {name for name, _, _ in cases}
    return [
        (name, sampled(sample, i32 if name in OF_INTEGERS else f32), sample.used)
        for name in sorted(set(names) - known)
        for sample in samples_of(name)
    ]


OF_XIR = {name for row in (*kinds.UNARY, *kinds.BINARY) if row.tag >= FIRST_XIR_TAG for name in row.edge}
"""The ops that mean exactly a node which stock ExecuTorch lacks."""

CASES.extend(samples_without(CASES + XIR_CASES, RULES.keys() - QUANTIZATION - OF_XIR))
XIR_CASES.extend(samples_without(XIR_CASES, OF_XIR))


def case_name(value: object) -> str:
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return value.removeprefix("edge.") if isinstance(value, str) else ""


def expected_of(built: Call) -> list[torch.Tensor]:
    """What ATen computes."""
    return run_module(built.module, built.ctx, built.inputs)


def assert_close(actual: Sequence[Any], expected: Sequence[torch.Tensor]) -> None:
    """Equal shapes, and values within the tolerance."""
    assert len(actual) == len(expected)
    for got, want in zip(actual, expected, strict=True):
        assert tuple(got.shape) == tuple(want.shape)
        finite = want[want.isfinite()]
        largest = finite.abs().max().item() if finite.numel() else 0.0
        torch.testing.assert_close(
            torch.as_tensor(got), want, rtol=0, atol=TOLERANCE * max(largest, 1e-6), equal_nan=True
        )


def remaining(program: EdgeProgram) -> list[str]:
    """The ops that were not delegated, with their reasons."""
    return [
        f"{op.name}: {op.attributes.get('xir.reason')}" for op in program.module.walk() if isinstance(op, edge.EdgeOp)
    ]


def check(built: Call, target: Target) -> bytes:
    """Check what the rule builds and what the pipeline makes of it; the file, checked in xir's runtime."""
    expected = expected_of(built)
    rule_alone = built.module.clone()
    PassManager(built.ctx, [PartitionXnnpackPass(target)]).run(rule_alone)
    assert_close(run_module(rule_alone, built.ctx, built.inputs), expected)

    delegated = EdgeProgram(built.module, built.ctx).to_backend(XnnpackPartitioner(target))
    assert not remaining(delegated)
    assert_close(run_module(delegated.module, delegated.ctx, built.inputs), expected)

    file = delegated.to_executorch().buffer
    method = runtime.Runtime.get().load_program(file).load_method("forward")
    assert_close(method.execute(list(built.inputs)), expected)
    return file


def name_of(each: Case) -> str:
    return case_name(each[0])


@pytest.mark.parametrize("cases", dozens(CASES, name_of))
def test_a_rule_computes_what_aten_computes(cases: Sequence[Case]) -> None:
    def holds(some: Sequence[Case]) -> None:
        built = calls_of(some)
        file = check(built, "executorch")
        assert_close(load_stock(file).forward(list(built.inputs)), expected_of(built))

    check_together(holds, cases, name_of)


@pytest.mark.parametrize(("name", "args", "only"), XIR_CASES, ids=case_name)
def test_a_rule_for_xirs_own_nodes_computes_what_aten_computes(
    name: str, args: dict[str, Any], only: Sequence[int] | None
) -> None:
    built = call(name, args, only)
    file = check(built, "xir")
    with pytest.raises(RuntimeError):
        load_stock(file).forward(list(built.inputs))


def cast(value: Any, dtype: torch.dtype) -> Any:
    """An argument with its floating-point tensors converted, or the type of its result."""
    match value:
        case Attribute():
            return ELEMENT_TYPES[dtype]
        case Const(tensor):
            return Const(cast(tensor, dtype))
        case torch.Tensor():
            return value.to(dtype) if value.is_floating_point() else value
        case list():
            return [cast(each, dtype) for each in value]
        case _:
            return value


def run_everywhere(cases: Sequence[Case]) -> list[list[torch.Tensor]]:
    """The results of calls that are delegated whole: by the reference, in xir's runtime, in stock ExecuTorch."""
    built = calls_of(cases)
    delegated = EdgeProgram(built.module, built.ctx).to_backend(XnnpackPartitioner())
    assert not remaining(delegated)
    file = delegated.to_executorch().buffer
    results = [
        run_module(delegated.module, delegated.ctx, built.inputs),
        runtime.Runtime.get().load_program(file).load_method("forward").execute(list(built.inputs)),
        load_stock(file).forward(list(built.inputs)),
    ]
    return [[torch.as_tensor(each) for each in result] for result in results]


def assert_close_in(actual: Sequence[torch.Tensor], exact: Sequence[torch.Tensor], dtype: torch.dtype) -> None:
    """Equal shapes, the type `dtype`, and numbers near `exact`, which are fp32."""
    for got, want in zip(actual, exact, strict=True):
        assert got.dtype == dtype
        rounded = want.to(dtype)
        finite = rounded.isfinite()
        largest = want[finite].abs().max().item() if finite.any() else 0.0
        tolerance = HALF_TOLERANCE * torch.finfo(dtype).eps * max(largest, 1e-6)
        numbers = torch.where(finite, want, rounded.float())
        torch.testing.assert_close(got.float(), numbers, rtol=0, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", HALVES, ids=case_name)
@pytest.mark.parametrize("cases", dozens(CASES, name_of))
def test_halves(cases: Sequence[Case], dtype: torch.dtype) -> None:
    def arguments(some: Sequence[Case], *types: torch.dtype) -> list[Case]:
        return [
            (name, {key: reduce(cast, types, value) for key, value in args.items()}, only) for name, args, only in some
        ]

    def holds(some: Sequence[Case]) -> None:
        exact = expected_of(calls_of(arguments(some, dtype, torch.float32)))
        for results in run_everywhere(arguments(some, dtype)):
            assert_close_in(results, exact, dtype)

    check_together(holds, cases, name_of)


@pytest.mark.parametrize("cases", dozens(INTEGER_CASES, name_of))
def test_integers(cases: Sequence[Case]) -> None:
    def holds(some: Sequence[Case]) -> None:
        expected = expected_of(calls_of(some))
        for results in run_everywhere(some):
            torch.testing.assert_close(results, expected, rtol=0, atol=0)

    check_together(holds, cases, name_of)


@pytest.mark.parametrize("cases", dozens(MIXED_CASES, name_of))
def test_mixed_types(cases: Sequence[Case]) -> None:
    def holds(some: Sequence[Case]) -> None:
        expected = expected_of(calls_of(some))
        for results in run_everywhere(some):
            torch.testing.assert_close(results, expected)

    check_together(holds, cases, name_of)


def test_a_rule_without_a_case_is_tried_with_its_samples() -> None:
    assert [name for name, _, _ in samples_without([], ["edge.cos", "edge.max_pool1d"])] == [
        "edge.cos",
        "edge.max_pool1d",
    ]
    assert RULES.keys() - QUANTIZATION == {name for name, _, _ in (*CASES, *XIR_CASES)}


def kinds_built(module: ModuleOp, ctx: XirContext, target: Target) -> set[str]:
    """The names of the nodes that a module of one op becomes, with their kinds."""
    PassManager(ctx, [PartitionXnnpackPass(target, check=False)]).run(module)
    nodes = [node for node in module.walk() if isinstance(node, xnnpack.NodeOp)]
    return {f"{node.name} {kind.data}" if (kind := getattr(node, "kind", None)) else node.name for node in nodes}


@pytest.mark.parametrize("target", ["executorch", "xir"])
@pytest.mark.parametrize("name", sorted(RULES.keys() - QUANTIZATION))
def test_the_samples_meet_every_node_that_the_cases_meet(name: str, target: Target) -> None:
    """The reference pages say by the samples what becomes of an op."""
    met: set[str] = set()
    for case_name_, args, only in CASES + XIR_CASES:
        built = call(case_name_, args, only) if case_name_ == name else None
        if built is not None and not any(value.dtype in HALVES for value in built.inputs):
            met |= kinds_built(built.module, built.ctx, target)
    shown: set[str] = set()
    for sample in samples_of(name):
        for element in (f32,) if RULES[name].samples else (f32, i32):
            ctx = XirContext()
            shown |= kinds_built(sample.build(ctx, element)[0], ctx, target)
    assert met <= shown, f"add calls of {name} to samples.py, to meet {met - shown}"


def test_every_rule_is_for_an_op_of_the_dialect_without_effect() -> None:
    assert all(edge.OPS[name].has_trait(Pure) for name in RULES)


def test_the_reference_computes_every_kind() -> None:
    assert {row.kind for row in kinds.UNARY} == UNARY.keys()
    assert {row.kind for row in kinds.BINARY} == BINARY.keys()
    assert {row.kind for row in kinds.REDUCE} == REDUCE.keys()
