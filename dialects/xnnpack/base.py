"""What the ops of the dialect share: tensors, bounds, and the shape arithmetic of their verifiers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import product
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    bf16,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    OptOperandDef,
    OptPropertyDef,
    ParsePropInAttrDict,
    base,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xir.dialects.delegate import InfersShapes
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.quantization import expect_interval, is_quantized, quantized_by_tensor
from xir.dialects.xnnpack.signatures import PLAIN_DATATYPES, Filter, Form, Signature, datatype_of
from xir.dialects.xnnpack.wire import Member, Wire
from xir.ir import tensor_types
from xir.ir.array_attributes import ints as ints
from xir.ir.shapes import Shape as Shape
from xir.ir.shapes import broadcast as broadcast
from xir.ir.shapes import same_dim as same_dim
from xir.ir.shapes import same_shape as same_shape
from xir.ir.shapes import shape_text as shape_text
from xir.ir.shapes import window_output as window_output
from xir.ir.tensor_types import element_type as element_type
from xir.ir.tensor_types import rank_of as rank_of
from xir.ir.tensor_types import shape_of as shape_of
from xir.ir.traits import VerifiedByTypes

MAX_RANK = 6
"""XNN_MAX_TENSOR_DIMS of XNNPACK's `include/xnnpack.h`."""

FLOATS: tuple[Attribute, ...] = (f32, f16, bf16)
"""XNNPACK's floating-point types."""

PLAIN: tuple[Attribute, ...] = (*FLOATS, i32)
"""The element types of XNNPACK's tensors that are not quantised."""

HALF_WEIGHTED: tuple[tuple[Attribute, ...], ...] = (
    (f16, f16, f32, f16),
    (f16, f32, f16),
    (f16, f32, f32, f16),
    (f32, f16, f32),
    (f32, f16, f16, f32),
    (f32, f16, f32, f32),
)
"""Input, filter, bias if there is one, and output of weighted nodes: fp16 beside fp32.

Source: `validate_datatypes_with_bias` and `…_without_bias` of XNNPACK's `src/subgraph/`.
"""

Tensor = base(TensorType)
"""Any ranked tensor; what the element type may be is the business of each op's verifier."""


class ResultShapeError(VerifyException):
    """A node is sound but for the shape of a result."""


class NodeOp(InfersShapes, ABC):
    """One XNNPACK node. Values are in physical order, the innermost dimension last."""

    WIRE: ClassVar[Wire]

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (f32, f16)
    """The element types, quantised ones apart, that XNNPACK computes the node on: one for all operands and results."""
    MIXED: ClassVar[tuple[tuple[Attribute, ...], ...]] = ()
    """Further forms: the element types of the operands that are there, then of the results."""
    QUANTIZED: ClassVar[tuple[Form, ...]] = ()
    """Forms with quantised operands or results."""
    FILTER: ClassVar[Filter | None] = None
    """How the second operand is quantised, where it is a filter; adds its forms to `QUANTIZED`."""

    debug_handle = opt_prop_def(IntegerAttr.constr(i32))
    """The id that ExecuTorch's profiler shows for the node; absent when the file gives none."""

    traits = traits_def(Pure(), VerifiedByTypes())

    irdl_options = (ParsePropInAttrDict(),)

    def __post_init__(self) -> None:
        """Fill in properties that are left out. xDSL's looks through all definitions for them each time."""
        for name, default in default_properties(type(self)):
            self.properties.setdefault(name, default)

    @property
    def member_key(self) -> str | int | None:
        """What selects the union member that this op is on the wire."""
        return None

    def member(self) -> Member:
        """The union member that this op is on the wire."""
        return self.WIRE.members[self.member_key]

    @classmethod
    def elements_of(cls, key: str | int | None) -> tuple[Attribute, ...]:
        """`ELEMENTS` of one union member, where they depend on it."""
        return cls.ELEMENTS

    @classmethod
    def quantized_of(cls, key: str | int | None) -> tuple[Form, ...]:
        """`QUANTIZED` of one union member, where they depend on it."""
        return cls.QUANTIZED if cls.FILTER is None else (*cls.QUANTIZED, *cls.FILTER.forms())

    @classmethod
    def bounds_of(cls, key: str | int | None) -> str:
        """`WIRE.bounds` of one union member, where it depends on it."""
        return cls.WIRE.bounds

    @classmethod
    def constants_of(cls, form: Form) -> frozenset[int]:
        """The positions of operands that must be constants where the datatypes are `form`."""
        return frozenset()

    @classmethod
    def signatures(cls, key: str | int | None) -> tuple[Signature, ...]:
        """All datatypes that XNNPACK computes the union member `key` on."""
        definition = cls.get_irdl_definition()
        optional = [isinstance(operand, OptOperandDef) for _, operand in definition.operands]
        if isinstance(key, int):  # so many operands of a variadic one
            optional = [False] * key
        results = len(definition.results)
        forms: list[Form] = []
        for element in cls.elements_of(key):
            name = PLAIN_DATATYPES[element]
            forms += product(*((None, name) if may_lack else (name,) for may_lack in optional), *[(name,)] * results)
        for form in cls.MIXED:
            names = [PLAIN_DATATYPES[element] for element in form]
            if len(names) < len(optional) + results:
                names.insert(optional.index(True), "")
            forms.append(tuple(name or None for name in names))
        forms += cls.quantized_of(key)
        return tuple(
            Signature(form[: len(optional)], form[len(optional) :], cls.constants_of(form))
            for form in dict.fromkeys(forms)
        )

    def signature(self) -> Signature:
        """The row of `signatures` that this op is; VerifyException if it is none of them."""
        operands = tuple(None if value is None else element_type(value) for value in self.operands_in_places())
        results = tuple(element_type(value) for value in self.results)
        if (signature := matching_signature(type(self), self.member_key, operands, results)) is not None:
            return signature
        types = ", ".join(map(str, self.element_types()))
        raise VerifyException(f"XNNPACK does not compute it on {types} together")

    def operands_in_places(self) -> Sequence[SSAValue | None]:
        """The operands, None in the place of an optional one that is absent."""
        definitions = self.get_irdl_definition().operands
        if len(self.operands) == len(definitions):
            return self.operands
        operands: list[SSAValue | None] = []
        for name, _ in definitions:
            value: SSAValue | Sequence[SSAValue] | None = getattr(self, name)
            operands += [value] if value is None or isinstance(value, SSAValue) else list(value)
        return operands

    def verify_(self) -> None:
        for name in self.attributes:
            # What is no property is an annotation and has its dialect's prefix; without one it is a typing error.
            if "." not in name:
                raise VerifyException(f"has no property '{name}'")
        for value in (*self.operands, *self.results):
            if (rank := rank_of(value)) > MAX_RANK:
                raise VerifyException(f"XNNPACK takes tensors of rank {MAX_RANK} at most, this one has rank {rank}")
        types = self.element_types()
        if any(map(is_quantized, types)):
            self.verify_quantized()
            for result in self.results:
                if isinstance(element := element_type(result), UniformType):
                    element.verify_shape(shape_of(result))
        else:
            self.verify_elements(types)
        self.verify_node()
        self.verify_signature()
        shapes = self.result_shapes([shape_of(value) for value in self.operands])
        names = (name for name, _ in self.get_irdl_definition().results)
        for name, result, shape in zip(names, self.results, shapes, strict=True):
            try:
                expect_shape(result, shape, "result" if name == "output" else name)
            except VerifyException as error:
                raise ResultShapeError(*error.args) from None

    def verify_quantized(self) -> None:
        """Check the element types of a node with quantised operands or results."""
        raise VerifyException("XNNPACK does not compute it on quantised numbers")

    def element_types(self) -> tuple[Attribute, ...]:
        """The element types of the operands, then of the results."""
        return tuple(element_type(value) for value in (*self.operands, *self.results))

    def accepts(self, types: tuple[Attribute, ...]) -> bool:
        """Whether XNNPACK computes the node on these element types, operands first, none of them quantised."""
        return types in self.MIXED or (len(set(types)) == 1 and types[0] in self.elements_of(self.member_key))

    def verify_elements(self, types: tuple[Attribute, ...]) -> None:
        """Check the element types of a node without quantised operands or results."""
        if self.accepts(types):
            return
        known = {*self.elements_of(self.member_key), *(each for form in self.MIXED for each in form)}
        for each in types:
            if each not in known:
                raise VerifyException(f"XNNPACK does not compute it on {each}")
        raise VerifyException(f"XNNPACK does not compute it on {', '.join(map(str, types))} together")

    def verify_signature(self) -> None:
        """Check that the datatypes are ones that XNNPACK computes the node on."""
        self.signature()

    def verify_node(self) -> None:
        """Check what constraints on single operands cannot say."""

    @abstractmethod
    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        """The results' shapes for operands of the given shapes, as XNNPACK infers them when it reshapes a runtime.

        The sizes need not be those in the types: that is how the sizes of dynamic dimensions are followed. Operands
        whose shapes do not fit together raise VerifyException.
        """


class BoundedOp(NodeOp, ABC):
    """A node that clamps its output; an absent bound is infinite."""

    output_min = opt_prop_def(FloatAttr.constr(f32))
    output_max = opt_prop_def(FloatAttr.constr(f32))

    @property
    def can_clamp(self) -> bool:
        """Whether the node takes bounds as it is."""
        return True

    @property
    def bounds(self) -> tuple[float, float]:
        """(min, max) of the output, infinite where absent."""
        low = float("-inf") if self.output_min is None else self.output_min.value.data
        high = float("inf") if self.output_max is None else self.output_max.value.data
        return low, high

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound, such as that of a fused activation."""
        return self.bounds != (float("-inf"), float("inf"))

    def verify_bounds(self) -> None:
        """Check that the bounds leave something of a quantised output."""
        expect_interval(self.bounds, quantized_by_tensor(self.results[0], "result"))

    def verify_(self) -> None:
        low, high = self.bounds
        if not low < high:
            raise VerifyException(f"output_min {low} must be less than output_max {high}")
        super().verify_()


class WeightedOp(BoundedOp, ABC):
    """A node that sums products of its input with a filter, and adds a bias."""

    input = operand_def(Tensor)
    filter = operand_def(Tensor)
    bias = opt_operand_def(Tensor)
    output = result_def(Tensor)

    assembly_format = "$input `,` $filter (`,` $bias^)? attr-dict `:` functional-type(operands, results)"

    @property
    def channel_axis(self) -> int:
        """The filter's dimension of output channels."""
        assert self.FILTER is not None
        return self.FILTER.axis


@cache
def signatures_of(op: type[NodeOp], key: str | int | None) -> tuple[Signature, ...]:
    """`op.signatures(key)`, which are made once."""
    return op.signatures(key)


@cache
def default_properties(op: type[NodeOp]) -> Sequence[tuple[str, Attribute]]:
    """The properties of a class of nodes that have a default, in order."""
    properties = op.get_irdl_definition().properties.items()
    pairs = ((name, each.default_value) for name, each in properties if not isinstance(each, OptPropertyDef))
    return [(name, default) for name, default in pairs if default is not None]


@lru_cache(maxsize=4096)
def matching_signature(
    op: type[NodeOp], key: str | int | None, operands: tuple[Attribute | None, ...], results: tuple[Attribute, ...]
) -> Signature | None:
    """The signature that these element types have, if there is one."""
    form = tuple(None if element is None else datatype_of(element) for element in operands)
    outputs = tuple(map(datatype_of, results))
    return next((each for each in signatures_of(op, key) if (each.operands, each.results) == (form, outputs)), None)


def u32s(values: Sequence[int]) -> DenseArrayBase:
    """`values` as the i32 array attribute that this dialect uses for shapes, permutations and windows.

    VerifyException for a number of more than 32 bits, which a node's file cannot hold.
    """
    if large := [value for value in values if value >= 1 << 32]:
        raise VerifyException(f"XNNPACK's nodes hold numbers of 32 bits, and {large[0]} takes more")
    return _u32s(tuple(values))


@lru_cache(maxsize=4096)
def _u32s(values: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, values)


def tensor_type(element: Attribute, shape: Sequence[int]) -> TensorType:
    """The type of a tensor."""
    return tensor_types.tensor_type(element, tuple(shape))


def expect_shape(value: SSAValue, expected: Sequence[int], what: str = "result") -> None:
    """Raise unless `value` can have the shape `expected`."""
    if not same_shape(shape_of(value), expected):
        raise VerifyException(f"{what} has shape {shape_text(shape_of(value))}, expected {shape_text(expected)}")


def expect_rank(value: SSAValue, rank: int, what: str) -> None:
    """Raise unless `value` has `rank` dimensions."""
    if rank_of(value) != rank:
        raise VerifyException(f"{what} must have rank {rank}, it has rank {rank_of(value)}")


def expect_length(attr: DenseArrayBase, length: int, what: str) -> None:
    """Raise unless the array attribute has `length` elements."""
    if len(attr) != length:
        raise VerifyException(f"{what} must have {length} elements, it has {len(attr)}")


def expect_at_least(attr: DenseArrayBase, least: int, what: str) -> None:
    """Raise if an element of the array attribute is below `least`."""
    if any(v < least for v in ints(attr)):
        raise VerifyException(f"{what} must be at least {least}, it is {list(ints(attr))}")
