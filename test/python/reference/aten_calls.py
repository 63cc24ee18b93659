"""Calls of every row of the edge dialect, as torch takes them."""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.ir import Block, SSAValue

from xir.dialects import edge
from xir.dialects.edge.schema import REQUIRED
from xir.importer.dtypes import ELEMENT_TYPES
from xir.importer.interpreter import aten_operator

torch.manual_seed(0)


def f(*shape: int) -> torch.Tensor:
    return torch.rand(shape) * 0.8 + 0.1


def n(*shape: int) -> torch.Tensor:
    return torch.arange(1, torch.Size(shape).numel() + 1).reshape(shape)


def b(*shape: int) -> torch.Tensor:
    return torch.rand(shape) > 0.5


def u8(*shape: int) -> torch.Tensor:
    return torch.randint(0, 100, shape, dtype=torch.uint8)


def i8(*shape: int) -> torch.Tensor:
    return torch.randint(-100, 100, shape, dtype=torch.int8)


X = f(2, 3)
IMAGE = f(1, 4, 8, 6)
Q8 = (-128, 127, torch.int8)

TABLES = {
    "byte": [(i8(5, 8), f(5), None, -128, 127), (u8(5, 8), f(5, 2), f(5, 2), 0, 255)],
    "4bit": [(u8(5, 4), f(5), None, -8, 7), (u8(5, 4) + 99, f(5, 4), f(5, 4), -8, 7)],
    "2bit": [(u8(5, 2), f(5), None, -2, 1), (u8(5, 2) + 99, f(5, 2), f(5, 2), -2, 1)],
}
"""Quantised tables of 5 rows of 8 elements, with scales of rows and of groups in them."""

Case = tuple[Any, ...]
"""Positional arguments as torch takes them; a dict at the end holds keyword-only ones."""

ALSO_INTEGER = """acos asin atan cos cosh erf exp exp2 expm1 log log1p neg reciprocal rsqrt sin sqrt square tan sigmoid
ceil abs sign relu isnan logical_not bitwise_not""".split()
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")

SIZE_OPS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "sym_max": max,
    "sym_min": min,
    **{name: getattr(operator, name) for name in COMPARISONS if name != "ne"},
}
CASES: dict[str, list[Case]] = {
    # Element-wise
    "bitwise_not": [(b(3),)],
    "fill.Scalar": [(X, 2.0)],
    "pow.Tensor_Scalar": [(X, 2), (X, 0.5), (n(3), 2), (n(3), 0.5)],
    "prelu": [(IMAGE - 0.5, f(4)), (IMAGE - 0.5, f(1)), (X - 0.5, f(3)), (f(4) - 0.5, f(1))],
    "clamp": [(X, 0.2, 0.5), (X, None, 0.5), (X, 0.2, None), (n(4), 2, 3), (n(4), 1.5, None)],
    "clamp.Tensor": [(X, f(3), None), (X, None, f(1, 3)), (X, f(2, 1), f(3))],
    "add.Tensor": [(X, f(3)), (X, X, {"alpha": 2}), (f(1), X, {"alpha": 2}), (f(), X, {"alpha": 2}),
                   (f(3), X, {"alpha": 2}), (X, f(2, 1), {"alpha": 2}), (X, f(), {"alpha": 2}),
                   (n(2, 3), X), (X.half(), f(1)), (X.half(), f()), (n(3), n(3).int()),
                   (b(3), n(3)), (X.half(), X.bfloat16()), (u8(3), i8(3)), (n(3).int(), torch.tensor(3))],
    "add.Scalar": [(X, 2), (n(3), 2.5), (b(3), 1), (n(3).int(), 2), (X.half(), 0.5, 2)],
    "sub.Tensor": [(X, f(3)), (f(1), X, {"alpha": 2}), (f(3), X, {"alpha": 2}), (X, f(2, 1), {"alpha": 2})],
    "sub.Scalar": [(X, 2), (n(3), 2.5)],
    "rsub.Scalar": [(X, 2, 3), (n(3), 2.5)],
    "mul.Tensor": [(f(2, 1, 3), f(4, 1)), (n(3), f())],
    "mul.Scalar": [(X, 2), (n(3), 2.5), (b(3), 3)],
    "div.Tensor": [(X, f(3)), (n(3), n(3))],
    "div.Scalar": [(X, 2), (n(3), 2)],
    "div.Tensor_mode": [(n(3), n(3), {"rounding_mode": "floor"}), (n(3), n(3), {"rounding_mode": None})],
    "div.Scalar_mode": [(n(3), 2, {"rounding_mode": "trunc"}), (n(3), 2, {"rounding_mode": None})],
    "pow.Tensor_Tensor": [(X, f(3)), (n(3), X)],
    "pow.Scalar": [(2, X), (2, n(3)), (2.5, n(3))],
    "maximum": [(X, f(3))],
    "minimum": [(X, f(3))],
    "atan2": [(X, f(3)), (n(3), n(3))],
    "copysign.Tensor": [(X - 0.5, torch.tensor([-1.0, -0.0, 0.0])), (n(3), torch.tensor([-2, 0, 2]))],
    "fmod.Tensor": [(X, f(3))],
    "fmod.Scalar": [(X, 0.3), (n(3), 1.5)],
    "remainder.Tensor": [(X, f(3))],
    "remainder.Scalar": [(n(3), 2), (n(3), 1.5)],
    **{f"{name}.Tensor": [(n(3), n(3)), (b(3), b(3))] for name in BITWISE},
    **{f"{name}.Scalar": [(n(3), 6), (b(3), True)] for name in BITWISE},
    **{f"{name}.Tensor": [(X, f(3))] for name in COMPARISONS},
    **{f"{name}.Scalar": [(X, 0.5), (n(3), 2)] for name in COMPARISONS},
    "logical_and": [(b(3), X)],
    "logical_or": [(b(3), X)],
    "logical_xor": [(b(3), X)],
    "where.self": [(b(2, 1), X, f(3)), (b(3), X, n(3))],
    "masked_fill.Scalar": [(X, b(3), 7), (f(3), b(2, 3), 7.5)],
    "masked_fill.Tensor": [(X, b(3), torch.tensor(7.0))],
    # Convolutions
    "convolution": [
        (IMAGE, f(6, 4, 3, 3), f(6), [2, 1], [1, 1], [1, 2], False, [0, 0], 1),
        (IMAGE, f(4, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4),
        (IMAGE, f(4, 3, 3, 3), f(6), [2, 2], [1, 1], [1, 1], True, [1, 1], 2),
        (f(2, 4, 9), f(6, 4, 3), None, [2], [1], [1], False, [0], 1),
    ],
    "conv1d": [(f(2, 4, 9), f(6, 4, 3), f(6)), (f(2, 4, 9), f(6, 2, 3), None, [2], [1], [2], 2)],
    "conv2d": [(IMAGE, f(6, 4, 3, 3), f(6)), (IMAGE, f(8, 1, 3, 2), None, [2, 1], [1, 0], [1, 1], 4),
               (f(4, 8, 6), f(6, 4, 3, 3))],
    "conv_transpose1d": [(f(2, 4, 9), f(4, 3, 3), None, [2], [1], [1], 2, [2])],
    "conv_transpose2d.input": [(IMAGE, f(4, 6, 3, 3), f(6)), (IMAGE, f(4, 3, 2, 2), None, [2, 2], [0, 0], [1, 1], 2)],
    # Matrices
    "mm": [(f(2, 3), f(3, 4))],
    "_int_mm": [(i8(2, 8), i8(8, 8)), (u8(17, 8), i8(8, 16))],
    "addmm": [(f(4), f(2, 3), f(3, 4), {"alpha": 2, "beta": 3}), (f(2, 1), f(2, 3), f(3, 4))],
    "bmm": [(f(5, 2, 3), f(5, 3, 4))],
    "baddbmm": [(f(4), f(5, 2, 3), f(5, 3, 4))],
    "matmul": [(f(3), f(3)), (f(2, 3), f(3)), (f(3), f(3, 4)), (f(5, 2, 3), f(3, 4)), (f(6, 1, 2, 3), f(5, 3, 4)),
               (f(5, 2, 3), f(3))],
    "linear": [(f(5, 2, 3), f(4, 3), f(4)), (f(3), f(4, 3)), (f(2, 3), f(3))],
    "scaled_dot_product_attention": [
        (f(2, 4, 5, 8), f(2, 4, 7, 8), f(2, 4, 7, 6)),
        (f(2, 5, 8), f(2, 7, 8), f(2, 7, 8), f(5, 7), 0.0, False, {"scale": 0.5}),
        (f(1, 4, 5, 8), f(1, 2, 5, 8), f(1, 2, 5, 8), None, 0.0, True, {"enable_gqa": True}),
        (f(2, 4, 2, 8), f(2, 4, 3, 8), f(2, 4, 3, 8), torch.tensor([[True, False, True], [False] * 3])),
        (f(2, 4, 2, 8), f(2, 4, 3, 8), f(2, 4, 3, 8), torch.tensor([[0.5, -math.inf, 0], [-math.inf] * 3])),
        (f(2, 1, 2, 8), f(4, 3, 8), f(3, 8)),
    ],
    "xir.attend_prefix": [
        (f(2, 4, 3, 8), f(2, 2, 7, 8), f(2, 2, 7, 6), f(3, 5)),
        (f(1, 2, 3, 8), f(1, 2, 7, 8), f(1, 2, 7, 8), torch.ones(1, 1, 1, 7, dtype=torch.bool), {"scale": 0.5}),
        (f(1, 4, 3, 8), n(1, 2, 7, 8).char(), n(1, 2, 7, 6).char(), f(3, 5), f(1, 2, 7, 1), f(1, 2, 7, 1)),
    ],
    # Reductions
    "mean": [(X,), (n(3), {"dtype": torch.float32})],
    "linalg_vector_norm": [(IMAGE,), (IMAGE, 1, [-1], True), (IMAGE, 2, [0, 2]), (IMAGE, math.inf), (IMAGE, 0, [1]),
                           (IMAGE, -math.inf, [1]), (IMAGE, 3, [1], {"dtype": torch.float64})],
    "mean.dim": [(IMAGE, [-1, -2]), (IMAGE, [2, 3], True), (IMAGE, None), (IMAGE, []),
                 (X, [0], {"dtype": torch.float64})],
    "sum": [(X,), (n(3).int(),), (b(3),)],
    "sum.dim_IntList": [(X, [0]), (X, None, True), (n(2, 3).int(), [1])],
    "prod.dim_int": [(X, 1), (n(2, 3).int(), -1, True)],
    "amax": [(X,), (X, [1]), (IMAGE, [1, 2], True)],
    "amin": [(X, [1])],
    "min": [(n(3),)],
    "max.dim": [(X, 1), (X, 0, True)],
    "min.dim": [(X, -1)],
    "argmax": [(X,), (X, 1), (X, 1, True)],
    "argmin": [(X, 0)],
    "any": [(b(3),), (u8(3),)],
    "any.dim": [(b(2, 3), 1)],
    "any.dims": [(b(2, 3, 4), [0, 2], True), (b(2, 3),), (b(2, 3), [])],
    "all": [(b(3),)],
    "all.dim": [(b(2, 3), 1), (u8(2, 3), 1)],
    "var.dim": [(X, [1]), (X, [0, 1], False, True)],
    "var.correction": [(X,), (X, [1], {"correction": 0, "keepdim": True})],
    "_softmax": [(X, -1, False)],
    "_log_softmax": [(X, 0, False)],
    "cumsum": [(X, 1), (n(2, 3).int(), 0)],
    "topk": [(X, 2), (X, 1, 0, False)],
    "sort": [(X,), (X, 0, True), (f(),)],
    # Norms
    "batch_norm": [(IMAGE, f(4), f(4), f(4), f(4), False, 0.1, 1e-5, False),
                   (X, None, None, f(3), f(3), False, 0.1, 1e-5, False)],
    "_native_batch_norm_legit_no_training": [(IMAGE, f(4), f(4), f(4), f(4), 0.1, 1e-5)],
    "layer_norm": [(f(2, 3, 4), [4], f(4), f(4)), (f(2, 3, 4), [3, 4])],
    "native_layer_norm": [(f(2, 3, 4), [3, 4], f(3, 4), None, 1e-5)],
    "group_norm": [(IMAGE, 2, f(4), f(4))],
    "native_group_norm": [(IMAGE, f(4), f(4), 1, 4, 48, 2, 1e-5)],
    "instance_norm": [(IMAGE, f(4), f(4), None, None, True, 0.1, 1e-5, False),
                      (IMAGE, None, None, f(4), f(4), False, 0.1, 1e-5, False)],
    "rms_norm": [(f(2, 3, 4), [4], f(4), 0.5), (f(2, 3, 4), [4])],
    # Pooling
    "avg_pool1d": [(f(2, 4, 9), [3], [2], [1], True)],
    "avg_pool2d": [(IMAGE, [3, 2]), (IMAGE, [3, 3], [2, 2], [1, 1], True, False, 5)],
    "avg_pool3d": [(f(1, 2, 6, 6, 6), [2, 2, 2]), (f(2, 5, 6, 7), [2, 3, 2], [2, 1, 2], [1, 1, 0], True, False),
                   (f(1, 2, 6, 6, 6), [3, 2, 2], [2, 2, 2], [1, 1, 1], False, True, 7)],
    "max_pool1d": [(f(2, 4, 9), [3], [2])],
    "max_pool2d": [(IMAGE, [3, 3], [2, 2], [1, 1], [1, 1], True), (IMAGE, [2, 2]),
                   (IMAGE, [3, 3], [1, 1], [0, 0], [2, 2]),
                   (f(4, 7, 7), [2, 2], [3, 3], [0, 0], [1, 1], True)],
    "max_pool2d_with_indices": [(IMAGE, [2, 2])],
    "max_pool3d_with_indices": [(f(1, 2, 6, 6, 6), [2, 2, 2])],
    "adaptive_avg_pool1d": [(f(2, 4, 9), [4])],
    "adaptive_avg_pool2d": [(IMAGE, [1, 1]), (IMAGE, [3, 4])],
    "_adaptive_avg_pool2d": [(IMAGE, [3, 4])],
    "_adaptive_avg_pool3d": [(f(1, 2, 6, 6, 6), [3, 4, 3])],
    "adaptive_max_pool2d": [(IMAGE, [3, 4]), (IMAGE, [4, 2])],
    "upsample_bilinear2d": [(IMAGE, [16, 9], False), (IMAGE, [18, 13], False, 2.3, 2.2)],
    "upsample_bilinear2d.vec": [(IMAGE, [16, 9], True, None), (IMAGE, None, False, [2.0, 1.5])],
    "upsample_nearest2d": [(IMAGE, [16, 9]), (IMAGE, [18, 13], 2.3, 2.2)],
    "upsample_nearest2d.vec": [(IMAGE, None, [2.0, 2.3])],
    "pixel_shuffle": [(IMAGE, 2)],
    "pixel_unshuffle": [(IMAGE, 2)],
    "grid_sampler_2d": [(IMAGE, f(1, 5, 7, 2), 0, 0, False)],
    # Shapes
    "clone": [(X,), (IMAGE, {"memory_format": torch.channels_last})],
    "dropout": [(X, 0.5, False)],
    "copy": [(X, f(3)), (X, n(3))],
    "_to_copy": [(X, {"dtype": torch.int32}), (n(3), {"dtype": torch.bool}), (X,)],
    "view": [(IMAGE, [2, -1]), (IMAGE, [192]), (f(1), [])],
    "_unsafe_view": [(IMAGE, [2, 96])],
    "squeeze": [(f(1, 3, 1),)],
    "squeeze.dim": [(f(1, 3, 1), -1), (X, 0)],
    "squeeze.dims": [(f(1, 3, 1), [0, 2]), (f(1, 3, 1), [0, 1])],
    "unsqueeze": [(X, 0), (X, -1), (X, 2)],
    "permute": [(IMAGE, [0, 2, 3, 1]), (IMAGE, [0, -1, 1, 2])],
    "transpose.int": [(IMAGE, 1, -1), (f(), 0, -1)],
    "t": [(X,), (f(3),)],
    "expand": [(f(3, 1), [2, -1, 4]), (f(1, 3), [5, 3]), (f(), [2])],
    "slice.Tensor": [(IMAGE, 2, 1, 5), (IMAGE, 3, -4, 9223372036854775807), (IMAGE, 2, None, None, 3),
                     (IMAGE, 2, 6, 2)],
    "select.int": [(IMAGE, 1, 2), (IMAGE, -1, -1)],
    "diagonal": [(f(3, 4),), (f(2, 3, 4), 1, 1, 2), (f(3, 4), -1)],
    "as_strided": [(X, [2, 2], [3, 1]), (X, [2], [1], 3)],
    "split.Tensor": [(IMAGE, 3, 2), (IMAGE, 4, 1), (f(0), 0)],
    "split_with_sizes": [(IMAGE, [1, 3], 1)],
    "unbind.int": [(X,), (IMAGE, -1)],
    "repeat": [(X, [2, 1]), (X, [3, 1, 2])],
    "cat": [([X, X],), ([X, f(2, 4)], 1), ([X, n(1, 3)],), ([f(0), X],), ([X, X], -1)],
    "stack": [([X, X],), ([X, X, X], -1)],
    "flip": [(X, [0, -1])],
    "roll": [(X, [1], [0]), (X, [2])],
    "constant_pad_nd": [(IMAGE, [1, 2, 0, 3], 0.5), (IMAGE, [-1, 0])],
    "reflection_pad1d": [(f(2, 4, 9), [1, 2])],
    "reflection_pad2d": [(IMAGE, [1, 2, 3, 0])],
    "reflection_pad3d": [(f(1, 2, 6, 6, 6), [1, 2, 3, 0, 1, 1])],
    "replication_pad1d": [(f(2, 4, 9), [1, 2])],
    "replication_pad2d": [(IMAGE, [1, 2, 3, 0])],
    "replication_pad3d": [(f(1, 2, 6, 6, 6), [1, 2, 3, 0, 1, 1])],
    "select_scatter": [(X, f(3), 0, 1)],
    "slice_scatter": [(X, f(1, 3), 0, 1)],
    "tril": [(f(4, 4),), (f(4, 4), 1)],
    "triu": [(f(4, 4), -1), (f(2, 3, 4), 1), (torch.tensor([[1.0, math.inf], [math.inf, 2.0]]),)],
    # Indexing
    "embedding": [(f(10, 4), n(2, 3))],
    "gather": [(X, 1, torch.tensor([[0, 2], [1, 1]])), (f(), 0, torch.tensor([0])), (f(1), 0, torch.tensor(0))],
    "index.Tensor": [(IMAGE, [None, torch.tensor([0, 2])]), (IMAGE, [torch.tensor([[0]]), torch.tensor([0, 2])]),
                     (IMAGE, [None, torch.tensor([0, 2]), None, torch.tensor([[1], [2]])]),
                     (IMAGE, [None, torch.tensor([0, 2]), torch.tensor([3])])],
    "index_select": [(X, 1, torch.tensor([0, 2, 2])), (f(), 0, torch.tensor([0]))],
    "index_put": [(X, [None, torch.tensor([0])], torch.tensor(5.0))],
    "scatter.src": [(X, 1, torch.tensor([[0], [1]]), f(2, 1))],
    "scatter.value": [(X, 1, torch.tensor([[0], [1]]), 3)],
    "scatter_add": [(X, 1, torch.tensor([[0], [1]]), f(2, 1))],
    "scatter_reduce.two": [(X, 1, torch.tensor([[0], [1]]), f(2, 1), "amax", {"include_self": False})],
    "masked_scatter": [(X, b(2, 3), f(2, 3)), (f(3), b(2, 3), f(2, 3)), (X, b(3), f(2, 3))],
    "nonzero": [(b(2, 3),)],
    # Creation
    "arange.start_step": [(0, 7, 2), (1, 2.5, 0.5), (5, 0, -2), (0, 4, {"dtype": torch.float32})],
    "full": [([2, 3], 1.5), ([2], 1), ([], True), ([2], 1, {"dtype": torch.int32, "device": torch.device("cpu")})],
    "full_like": [(X, 2), (n(3), 2.5, {"dtype": torch.float32})],
    "empty.memory_format": [([2, 3],), ([2], {"dtype": torch.int8})],
    "scalar_tensor": [(2.5,), (2, {"dtype": torch.int64})],
    "rand": [([2, 3],)],
    "randn": [([2, 3], {"dtype": torch.float64})],
    "randperm": [(5,), (5, {"dtype": torch.int32})],
    "sym_size.int": [(X, 1)],
    "sym_numel": [(X,)],
    "_local_scalar_dense": [(torch.tensor(2.5),)],
    **{f"executorch_prim.{name}.Scalar": [(7, 2)] for name in SIZE_OPS},
    # Quantisation
    **{f"quantized_decomposed.{name}": cases for name, cases in {
        "quantize_per_tensor": [(X, 0.1, 3, *Q8)],
        "quantize_per_tensor.tensor": [(X, f(), torch.tensor(3), *Q8)],
        "dequantize_per_tensor": [(i8(3), 0.1, 3, *Q8), (i8(3), 0.1, 3, *Q8, {"out_dtype": torch.float16})],
        "dequantize_per_tensor.tensor": [(i8(3), f(), torch.tensor(3), *Q8)],
        "quantize_per_channel": [(X, f(3), torch.zeros(3, dtype=torch.int64), 1, *Q8)],
        "dequantize_per_channel": [(i8(2, 3), f(3), torch.zeros(3, dtype=torch.int64), 1, *Q8),
                                   (i8(2, 3), f(2), None, 0, *Q8)],
        "quantize_per_channel_group": [(f(2, 8), f(2, 2), torch.zeros(2, 2), *Q8, 4)],
        "dequantize_per_channel_group": [(i8(2, 8), f(2, 2), torch.zeros(2, 2), *Q8, 4, torch.float32)],
        "quantize_per_token": [(X, f(2, 1), torch.zeros(2, 1), *Q8)],
        "dequantize_per_token": [(i8(2, 3), f(2, 1), torch.zeros(2, 1), *Q8, torch.float32)],
        **{f"embedding_{kind}{overload}": [
               (*table, n(2, 2), *([{"dtype": dtype}] if overload else []))
               for table in tables for dtype in ([torch.float32, torch.float16] if overload else [None])]
           for kind, tables in TABLES.items() for overload in ("", ".dtype")},
        "choose_qparams.tensor": [(X, -128, 127, 1e-5, torch.int8)],
        "choose_qparams_symmetric.tensor": [(X, -128, 127, 1e-5, torch.int8)],
        "choose_qparams_per_token_asymmetric": [(X, torch.int8)],
    }.items()},
    "torchao.choose_qparams_affine": [
        (X, "ASYMMETRIC", [1, 3], torch.int8, -128, 127),
        (X - 1, "SYMMETRIC", [2, 3], torch.int8, None, None, 1e-5, torch.float32, torch.int8, True),
        (f(2, 8) - 0.3, "SYMMETRIC_NO_CLIPPING_ERR", [1, 4], torch.int8, -8, 7, None, None, torch.int32, True),
    ],
    "torchao.quantize_affine": [
        (X, [1, 3], f(2, 1), torch.zeros(2, 1, dtype=torch.int8), torch.int8, -128, 127),
        (f(2, 8) * 9, [2, 4], f(1, 2), torch.tensor([[3, -2]]), torch.int8, -8, 7),
        (X, [1, 1], f(2, 3), torch.zeros(2, 3), torch.int8),
    ],
    "torchao.dequantize_affine": [
        (i8(2, 4), [1, 2], f(2, 2), None, torch.int8, -8, 7),
        (i8(2, 4), [2, 1], f(1, 4), i8(1, 4), torch.int8, -128, 127),
        (i8(2, 4), [2, 4], f(), torch.tensor(3), torch.int8, -128, 127, {"output_dtype": torch.float16}),
    ],
}  # fmt: skip


def tensors_alone(op: type[edge.EdgeOp]) -> Case | None:
    """A call with nothing but [2, 3] tensors; None if the schema requires something else."""
    required = [each for each in op.row.schema.arguments if each.default is REQUIRED and not each.type.optional]
    fits = all(each.type.is_tensor and not each.type.is_list for each in required)
    return tuple(f(2, 3) for _ in required) if required and fits else None


for op_name, op_type in edge.OPS.items():
    if (short := op_name.removeprefix("edge.")) not in CASES and (call := tensors_alone(op_type)) is not None:
        CASES[short] = [call]
for name in ALSO_INTEGER:
    CASES[name] = [*CASES[name], (n(3),)]

UNSPECIFIED = {"empty.memory_format", "rand", "randn", "randperm"}
"""Ops whose values differ from call to call."""
DATA_DEPENDENT = {"nonzero", "_local_scalar_dense"}
PARAMETERS = {
    "choose_qparams.tensor",
    "choose_qparams_symmetric.tensor",
    "choose_qparams_per_token_asymmetric",
    "choose_qparams_affine",
}
"""Quantisation parameters, whose types the rows leave open."""


@dataclass(frozen=True)
class AtenCall:
    """An edge op in a block, and what torch makes of the same call."""

    op: edge.EdgeOp
    values: dict[SSAValue, Any]
    """The tensors that the block's arguments stand for."""
    expected: list[Any]
    inferred: bool
    """Whether operands and properties determine the result types; they are from `expected` then."""


def aten_call(name: str, case: Case) -> AtenCall:
    """`edge.<name>` with a case's arguments. Tensors become arguments of the block that the op is in."""
    op_class = edge.op(name)
    args, kwargs = (case[:-1], case[-1]) if isinstance(case[-1], dict) else (case, {})
    expected = expected_results(op_class, args, kwargs)
    block, values = Block(), dict[SSAValue, Any]()
    names = [a.name for a in op_class.row.schema.arguments]
    named = {k: convert(v, block, values) for k, v in {**dict(zip(names, args, strict=False)), **kwargs}.items()}
    numbers = {bool: i1, int: i64}
    types = [
        TensorType(ELEMENT_TYPES[e.dtype], e.shape) if isinstance(e, torch.Tensor) else numbers.get(type(e), i64)
        for e in expected
    ]
    if name == "_local_scalar_dense":
        types = [f64]
    op = op_class.build_from(named, types)
    block.add_op(op)
    inferred = name not in DATA_DEPENDENT and name.split(".", 1)[-1] not in PARAMETERS
    return AtenCall(op, values, expected, inferred)


def convert(value: Any, block: Block, values: dict[SSAValue, Any]) -> Any:
    """An argument as `EdgeOp.build_from` takes it; tensors become block arguments."""
    match value:
        case torch.Tensor():
            type = TensorType(ELEMENT_TYPES[value.dtype], value.shape)
            argument = block.insert_arg(type, len(block.args))
            values[argument] = value
            return argument
        case torch.dtype():
            return ELEMENT_TYPES[value]
        case torch.memory_format():
            return str(value).removeprefix("torch.")
        case torch.device():
            return str(value)
        case list():
            return [convert(v, block, values) for v in value]
        case _:
            return value


def expected_results(op_class: type[edge.EdgeOp], args: Case, kwargs: dict[str, Any]) -> list[Any]:
    schema = op_class.row.schema
    if schema.namespace == "executorch_prim":
        return [SIZE_OPS[schema.name](*args)]
    result = aten_operator(schema)(*args, **kwargs)
    return list(result) if isinstance(result, tuple | list) else [result]
