"""The quant dialect: quantised element types, in the syntax of MLIR's dialect of the same name.

```mlir
tensor<4x!quant.uniform<i8:f32, 2.000000e-03:5>>                        // one scale and zero point
tensor<2x4x!quant.uniform<i8<-127:127>:f32:0, {0.1:5, 2.0e-3}>>         // one for each index of dimension 0
tensor<2x64x!quant.uniform<i4:f32:{0:1, 1:32}, {{0.1, 0.2}, {0.3, 0.4}}>>  // one for each 1x32 block
```

A value is `scale * (stored - zero_point)`. `i8` stores signed and `u8` unsigned integers; the range after them says
which values occur, and is left out when it is the whole type. A zero point of 0 is left out. Source of the format:
LLVM's `mlir/include/mlir/Dialect/Quant/IR/QuantTypes.h` and `lib/Dialect/Quant/IR/TypeParser.cpp`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    DenseArrayBase,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    Signedness,
    bf16,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xir.ir.elements import round_to_bfloat16, values_of

MAX_STORAGE_BITS = 32

_STORAGE = re.compile(r"([iu])([1-9][0-9]*)")


@irdl_attr_definition
class UniformType(ParametrizedAttribute, TypeAttribute):
    """A uniformly quantised number. Build it with `per_tensor`, `per_axis` or `blockwise`."""

    name = "quant.uniform"

    storage: IntegerType
    """What is stored: signless (which is signed here) or unsigned."""
    storage_min: IntAttr
    storage_max: IntAttr
    expressed: Attribute
    """The float type that it stands for."""
    axes: DenseArrayBase[IntegerType]
    """`i32`: the dimensions along which scales differ. None for per-tensor, one for per-axis."""
    block_sizes: DenseArrayBase[IntegerType]
    """`i64`, blockwise only: how many indices of each of `axes` share a scale."""
    scale_shape: DenseArrayBase[IntegerType]
    """`i64`, blockwise only: the shape of the scales, row-major."""
    scales: DenseArrayBase[BFloat16Type | Float32Type | Float64Type]
    """`f64` of a single scale; of several the shortest of `bf16`, `f32` and `f64` that holds them exactly."""
    zero_points: DenseArrayBase[IntegerType]
    """`i64`, as many as scales; none where there are several scales and all zero points are 0."""

    @staticmethod
    def per_tensor(
        storage: IntegerType,
        expressed: AnyFloat,
        scale: float,
        zero_point: int = 0,
        storage_range: tuple[int, int] | None = None,
    ) -> UniformType:
        """One scale for the whole tensor."""
        return _make(storage, expressed, storage_range, (), (), (), [scale], [zero_point])

    @staticmethod
    def per_axis(
        storage: IntegerType,
        expressed: AnyFloat,
        axis: int,
        scales: Sequence[float] | np.ndarray,
        zero_points: Sequence[int] | np.ndarray | None = None,
        storage_range: tuple[int, int] | None = None,
    ) -> UniformType:
        """One scale for each index of dimension `axis`."""
        return _make(storage, expressed, storage_range, (axis,), (), (), scales, zero_points)

    @staticmethod
    def blockwise(
        storage: IntegerType,
        expressed: AnyFloat,
        block_sizes: dict[int, int],
        scales: np.ndarray,
        zero_points: np.ndarray | None = None,
        storage_range: tuple[int, int] | None = None,
    ) -> UniformType:
        """One scale for each block; `block_sizes` is dimension -> indices a block, `scales` has the tensor's rank."""
        flat_zero_points = zero_points.ravel() if zero_points is not None and zero_points.any() else None
        axes = tuple(block_sizes)
        sizes = tuple(block_sizes.values())
        return _make(storage, expressed, storage_range, axes, sizes, scales.shape, scales.ravel(), flat_zero_points)

    @property
    def is_per_tensor(self) -> bool:
        """Whether one scale holds for the whole tensor."""
        return len(self.axes) == 0

    @property
    def is_blockwise(self) -> bool:
        """Whether there is a scale for each block (MLIR's sub-channel quantisation)."""
        return len(self.block_sizes) > 0

    @property
    def is_per_axis(self) -> bool:
        """Whether there is a scale for each index of one dimension."""
        return not self.is_per_tensor and not self.is_blockwise

    @property
    def is_signed(self) -> bool:
        """Whether the stored integers are signed."""
        return self.storage.signedness.data is not Signedness.UNSIGNED

    @property
    def axis(self) -> int:
        """The dimension of a per-axis type."""
        assert self.is_per_axis
        return int(self.axes.get_values()[0])

    @property
    def scale(self) -> float:
        """The scale of a per-tensor type."""
        assert self.is_per_tensor
        return float(self.scales.get_values()[0])

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor type."""
        assert self.is_per_tensor
        return int(self.zero_points.get_values()[0])

    def scale_array(self) -> np.ndarray:
        """The scales as float64: a vector, or for a blockwise type an array of the tensor's rank."""
        scales = self._scales().astype(np.float64)
        return scales.reshape(self.scale_shape.get_values()) if self.is_blockwise else scales

    def scale_bytes(self) -> bytes:
        """The scales as files have them, little-endian: bf16 of a blockwise type, f32 of any other.

        Those of a type that holds them in bf16 are not copied: a large model has many.
        """
        if not self.is_blockwise:
            return self._scales().astype("<f4").tobytes()
        if isinstance(self.scales.elt_type, BFloat16Type):
            return self.scales.data.data
        return round_to_bfloat16(self.scale_array()).astype("<u2").tobytes()

    def zero_point_array(self) -> np.ndarray:
        """The zero points as int64, shaped like `scale_array`."""
        shape = tuple(map(int, self.scale_shape.get_values())) if self.is_blockwise else (self._num_scales(),)
        if len(self.zero_points.data.data) == 0:
            return np.broadcast_to(np.int64(0), shape)
        return np.frombuffer(self.zero_points.data.data, dtype="<i8").reshape(shape)

    def _scales(self) -> np.ndarray:
        match self.scales.elt_type:
            case BFloat16Type():
                return values_of(np.frombuffer(self.scales.data.data, "<u2"), bf16)
            case Float32Type():
                return np.frombuffer(self.scales.data.data, "<f4")
            case _:
                return np.frombuffer(self.scales.data.data, "<f8")

    def _num_scales(self) -> int:
        return len(self.scales.data.data) // self.scales.elt_type.size

    def verify_shape(self, shape: Sequence[int]) -> None:
        """Check the scales against a tensor's shape (-1: unknown). VerifyException if they do not fit."""
        if self.is_per_tensor:
            return
        axes = [int(axis) for axis in self.axes.get_values()]
        if outside := [axis for axis in axes if axis >= len(shape)]:
            raise VerifyException(f"quantised dimension {outside[0]} is outside of a tensor of rank {len(shape)}")
        if self.is_per_axis:
            size = shape[axes[0]]
            if size not in (-1, self._num_scales()):
                raise VerifyException(f"{self._num_scales()} scales for the {size} indices of dimension {axes[0]}")
            return
        blocks = dict(zip(axes, map(int, self.block_sizes.get_values()), strict=True))
        expected = [-1 if size == -1 else math.ceil(size / blocks.get(axis, size)) for axis, size in enumerate(shape)]
        actual = list(map(int, self.scale_shape.get_values()))
        if len(expected) != len(actual) or any(e not in (-1, a) for e, a in zip(expected, actual, strict=True)):
            raise VerifyException(f"scales of shape {actual} where the blocks of the tensor make {expected}")

    def verify(self) -> None:
        """Check the parameters against each other."""
        width = self.storage.width.data
        if width > MAX_STORAGE_BITS:
            raise VerifyException(f"the storage type has at most {MAX_STORAGE_BITS} bits, got {width}")
        low, high = storage_limits(self.storage)
        if not low <= self.storage_min.data < self.storage_max.data <= high:
            got = f"{self.storage_min.data}:{self.storage_max.data}"
            raise VerifyException(f"the storage range {got} is not in {low}:{high} or not in order")
        if not isinstance(self.expressed, AnyFloat):
            raise VerifyException(f"the expressed type is a float type, got {self.expressed}")
        scales, zero_points = self._scales(), np.frombuffer(self.zero_points.data.data, dtype="<i8")
        none_given = len(scales) > 1 and len(zero_points) == 0
        if len(scales) == 0 or (len(scales) != len(zero_points) and not none_given):
            raise VerifyException(f"{len(scales)} scales and {len(zero_points)} zero points: one of each is needed")
        limit = np.finfo(np.float64 if isinstance(self.expressed, Float64Type) else np.float32)
        held = np.isfinite(scales) & (scales >= limit.smallest_subnormal) & (scales <= limit.max)
        if not held.all():
            raise VerifyException(
                f"a scale is a positive number that {self.expressed} can hold, got {scales[~held][0]:g}"
            )
        outside = (zero_points < low) | (zero_points > high)
        if outside.any():
            raise VerifyException(f"a zero point of the storage type is in {low}:{high}, got {zero_points[outside][0]}")
        self._verify_axes(len(scales))

    def _verify_axes(self, num_scales: int) -> None:
        axes = self.axes.get_values()
        if any(axis < 0 for axis in axes) or len(set(axes)) != len(axes):
            raise VerifyException("quantised dimensions are distinct and not negative")
        if self.is_per_tensor and num_scales != 1:
            raise VerifyException(f"a type without a quantised dimension has one scale, got {num_scales}")
        if not self.is_blockwise:
            return
        if len(self.block_sizes) != len(axes) or any(size <= 0 for size in self.block_sizes.get_values()):
            raise VerifyException("each quantised dimension has a positive block size")
        if math.prod(map(int, self.scale_shape.get_values())) != num_scales:
            raise VerifyException("the scales do not fill their shape")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse what follows `!quant.uniform`."""
        with parser.in_angle_brackets():
            storage = _parse_storage(parser)
            storage_range = _parse_range(parser)
            parser.parse_punctuation(":")
            expressed = parser.parse_type()
            axes, blocks = _parse_axes(parser)
            parser.parse_punctuation(",")
            parsed = _Scales()
            if not axes:
                parsed.parse_one(parser)
            else:
                parsed.parse_nested(parser, depth=0)
        if not blocks and len(parsed.shape) > 1:
            parser.raise_error("nested scales need a block size for each quantised dimension")
        shape = parsed.shape if blocks else ()
        return _parameters(storage, expressed, storage_range, axes, blocks, shape, parsed.scales, parsed.zero_points)

    def print_parameters(self, printer: Printer) -> None:
        """Print what follows `!quant.uniform`."""
        with printer.in_angle_brackets():
            printer.print_string(f"{'i' if self.is_signed else 'u'}{self.storage.width.data}")
            if (self.storage_min.data, self.storage_max.data) != storage_limits(self.storage):
                printer.print_string(f"<{self.storage_min.data}:{self.storage_max.data}>")
            printer.print_string(":")
            printer.print_attribute(self.expressed)
            if self.is_per_axis:
                printer.print_string(f":{self.axis}")
            elif self.is_blockwise:
                pairs = zip(self.axes.get_values(), self.block_sizes.get_values(), strict=True)
                printer.print_string(f":{{{', '.join(f'{axis}:{size}' for axis, size in pairs)}}}")
            printer.print_string(", ")
            if self.is_per_tensor:
                self._print_scale(printer, self.scale, self.zero_point)
            else:
                self._print_nested(printer, self.scale_array(), self.zero_point_array())

    def _print_nested(self, printer: Printer, scales: np.ndarray, zero_points: np.ndarray) -> None:
        with printer.in_braces():
            for index, (scale, zero_point) in enumerate(zip(scales, zero_points, strict=True)):
                printer.print_string(", " if index else "")
                if scales.ndim > 1:
                    self._print_nested(printer, scale, zero_point)
                else:
                    self._print_scale(printer, float(scale), int(zero_point))

    def _print_scale(self, printer: Printer, scale: float, zero_point: int) -> None:
        printer.print_float(scale, f64)
        if zero_point:
            printer.print_string(f":{zero_point}")


def storage_limits(storage: IntegerType) -> tuple[int, int]:
    """The smallest and the largest value that the storage type can hold."""
    width = storage.width.data
    if storage.signedness.data is Signedness.UNSIGNED:
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


@dataclass
class _Scales:
    """`0.1:5` or `{...}` of them, flattened while its shape is checked."""

    scales: list[float] = field(default_factory=list[float])
    zero_points: list[int] = field(default_factory=list[int])
    shape: list[int] = field(default_factory=list[int])

    def parse_one(self, parser: AttrParser) -> None:
        self.scales.append(float(parser.parse_number(context_msg=" as a scale")))
        has_zero_point = parser.parse_optional_punctuation(":") is not None
        self.zero_points.append(parser.parse_integer(allow_boolean=False) if has_zero_point else 0)

    def parse_nested(self, parser: AttrParser, depth: int) -> None:
        start = parser.pos
        is_first = depth == len(self.shape)
        if is_first:
            self.shape.append(0)
        parser.parse_punctuation("{", " before the scales")
        count = 0
        while True:
            if self._next_is_nested(parser, depth):
                self.parse_nested(parser, depth + 1)
            else:
                self.parse_one(parser)
            count += 1
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation("}")
        if is_first:
            self.shape[depth] = count
        elif self.shape[depth] != count:
            parser.raise_error(f"expected {self.shape[depth]} scales here, got {count}", start)

    def _next_is_nested(self, parser: AttrParser, depth: int) -> bool:
        is_brace = parser._current_token.text == "{"  # pyright: ignore[reportPrivateUsage]
        known_depth = len(self.shape) > depth + 1
        if self.scales and is_brace != known_depth:
            parser.raise_error("the scales are not nested equally")
        return is_brace


def _parse_storage(parser: AttrParser) -> IntegerType:
    start = parser.pos
    match = _STORAGE.fullmatch(parser.parse_identifier(" as storage type"))
    if match is None:
        parser.raise_error("expected a storage type such as i8 or u8", start)
    signedness = Signedness.UNSIGNED if match.group(1) == "u" else Signedness.SIGNLESS
    return IntegerType(int(match.group(2)), signedness)


def _parse_range(parser: AttrParser) -> tuple[int, int] | None:
    if parser.parse_optional_punctuation("<") is None:
        return None
    low = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(":")
    high = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(">")
    return low, high


def _parse_axes(parser: AttrParser) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """`:1` or `:{0:1, 1:32}`, if present: the dimensions and their block sizes."""
    if parser.parse_optional_punctuation(":") is None:
        return (), ()

    def parse_pair() -> tuple[int, int]:
        axis = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(":")
        return axis, parser.parse_integer(allow_boolean=False)

    pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_pair)
    if pairs is None:
        return (parser.parse_integer(allow_boolean=False),), ()
    return tuple(axis for axis, _ in pairs), tuple(size for _, size in pairs)


def _make(
    storage: IntegerType,
    expressed: AnyFloat,
    storage_range: tuple[int, int] | None,
    axes: Sequence[int],
    block_sizes: Sequence[int],
    scale_shape: Sequence[int],
    scales: Sequence[float] | np.ndarray,
    zero_points: Sequence[int] | np.ndarray | None,
) -> UniformType:
    if zero_points is None:
        zero_points = [0] if len(scales) == 1 else ()
    return UniformType.new(
        _parameters(storage, expressed, storage_range, axes, block_sizes, scale_shape, scales, zero_points)
    )


def _parameters(
    storage: IntegerType,
    expressed: Attribute,
    storage_range: tuple[int, int] | None,
    axes: Sequence[int],
    block_sizes: Sequence[int],
    scale_shape: Sequence[int],
    scales: Sequence[float] | np.ndarray,
    zero_points: Sequence[int] | np.ndarray,
) -> Sequence[Attribute]:
    low, high = storage_limits(storage) if storage_range is None else storage_range
    if len(scales) > 1 and len(zero_points) == len(scales) and not np.any(zero_points):
        zero_points = ()
    return (
        storage,
        IntAttr(low),
        IntAttr(high),
        expressed,
        dense(i32, axes, "<i4"),
        dense(i64, block_sizes, "<i8"),
        dense(i64, scale_shape, "<i8"),
        dense(f64, scales, "<f8") if len(scales) == 1 else _shortest(np.asarray(scales)),
        dense(i64, zero_points, "<i8"),
    )


def _shortest(scales: np.ndarray) -> DenseArrayBase:
    """Several scales, in the shortest type that holds them."""
    with np.errstate(over="ignore", invalid="ignore"):
        short = scales.astype("<f4")
    if not np.array_equal(short, scales):
        return dense(f64, scales, "<f8")
    bits = short.view("<u4")
    return dense(f32, short, "<f4") if (bits & 0xFFFF).any() else dense(bf16, bits >> 16, "<u2")


SHARED = 1 << 10
"""From how many bytes on types with equal arrays share them: a weight's scales, in each method that reads it."""

_shared: WeakValueDictionary[bytes, BytesAttr] = WeakValueDictionary()


def dense(
    element: IntegerType | BFloat16Type | Float32Type | Float64Type, values: Sequence[float] | np.ndarray, dtype: str
) -> DenseArrayBase:
    """An array attribute; `DenseArrayBase.from_list` takes a microsecond for each number."""
    content = np.asarray(values, dtype).tobytes()
    if len(content) < SHARED:
        return DenseArrayBase(element, BytesAttr(content))
    if (shared := _shared.get(content)) is None:
        shared = _shared[content] = BytesAttr(content)
    return DenseArrayBase(element, shared)


Quant = Dialect("quant", [], [UniformType])
