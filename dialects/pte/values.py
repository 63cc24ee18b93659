"""Ops that declare the values of an execution plan. Their order is the order of `ExecutionPlan.values`."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.builtin import TensorType as BuiltinTensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VerificationContext,
    base,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from xir.dialects.pte.assembly import Values
from xir.dialects.pte.attributes import AllocationAttr, ExtraTensorInfoAttr
from xir.dialects.pte.types import (
    BoolListType,
    BoolType,
    DoubleListType,
    DoubleType,
    IntListType,
    IntType,
    NullType,
    OptionalTensorListType,
    StringType,
    TensorListType,
    TensorType,
    element_size,
    scalar_code,
)

MAX_RANK = 16
"""kTensorDimensionLimit of ExecuTorch's runtime (runtime/core/exec_aten/util/tensor_dimension_limit.h)."""

SEGMENT = 0
"""TensorDataLocation.SEGMENT: contents are in the file itself."""

DenseData = DenseIntOrFPElementsAttr | DenseResourceAttr


@cache
def _result_types(cls: type[IRDLOperation]) -> Sequence[Attribute]:
    """The types of the results, for an op whose definition fixes them."""
    ((_, result),) = cls.get_irdl_definition().results
    return result.constr.infer(VerificationContext(), length=1)


class ValueOp(IRDLOperation, ABC):
    """One `EValue`. `MEMBER` is the member of `KernelTypes` that it is.

    Properties and operands bear the names of the table's fields, which is all that the emitter and the reader go by.
    """

    MEMBER: ClassVar[str]

    value = result_def()

    @classmethod
    def make(cls, operands: Sequence[SSAValue] = (), /, **properties: Attribute | None) -> Self:
        """The op with these operands, if it takes any, and properties, of which None stands for an absent one."""
        present = {name: attr for name, attr in properties.items() if attr is not None}
        return cls.create(operands=operands, properties=present, result_types=_result_types(cls))


@irdl_op_definition
class NullOp(ValueOp):
    """No value.

    ```mlir
    %0 = pte.null
    ```
    """

    name = "pte.null"
    MEMBER: ClassVar[str] = "Null"

    value = result_def(NullType())

    assembly_format = "attr-dict"


@irdl_op_definition
class IntOp(ValueOp):
    """An integer.

    ```mlir
    %0 = pte.int 3
    ```
    """

    name = "pte.int"
    MEMBER: ClassVar[str] = "Int"

    int_val = prop_def(IntegerAttr.constr(i64))
    value = result_def(IntType())

    assembly_format = "$int_val attr-dict"


@irdl_op_definition
class BoolOp(ValueOp):
    """A truth value.

    ```mlir
    %0 = pte.bool true
    ```
    """

    name = "pte.bool"
    MEMBER: ClassVar[str] = "Bool"

    bool_val = prop_def(BoolAttr.constr(i1))
    value = result_def(BoolType())

    assembly_format = "$bool_val attr-dict"


@irdl_op_definition
class DoubleOp(ValueOp):
    """A 64-bit float.

    ```mlir
    %0 = pte.double 5.000000e-01 : f64
    ```
    """

    name = "pte.double"
    MEMBER: ClassVar[str] = "Double"

    double_val = prop_def(FloatAttr.constr(f64))
    value = result_def(DoubleType())

    assembly_format = "qualified($double_val) attr-dict"


@irdl_op_definition
class StringOp(ValueOp):
    """A string.

    ```mlir
    %0 = pte.string "none"
    ```
    """

    name = "pte.string"
    MEMBER: ClassVar[str] = "String"

    string_val = prop_def(StringAttr)
    value = result_def(StringType())

    assembly_format = "$string_val attr-dict"


@irdl_op_definition
class IntListOp(ValueOp):
    """A list of integers, each a value of its own: an instruction may change one before the list is read.

    ```mlir
    %2 = pte.int_list [%0, %1]
    ```
    """

    name = "pte.int_list"
    MEMBER: ClassVar[str] = "IntList"

    items = var_operand_def(IntType())
    value = result_def(IntListType())

    assembly_format = "` ` `[` $items `]` attr-dict"


@irdl_op_definition
class DoubleListOp(ValueOp):
    """A list of 64-bit floats.

    ```mlir
    %0 = pte.double_list array<f64: 5.000000e-01, 2.000000e+00>
    ```
    """

    name = "pte.double_list"
    MEMBER: ClassVar[str] = "DoubleList"

    items = prop_def(DenseArrayBase.constr(f64))
    value = result_def(DoubleListType())

    assembly_format = "qualified($items) attr-dict"


@irdl_op_definition
class BoolListOp(ValueOp):
    """A list of truth values.

    ```mlir
    %0 = pte.bool_list array<i1: true, false>
    ```
    """

    name = "pte.bool_list"
    MEMBER: ClassVar[str] = "BoolList"

    items = prop_def(DenseArrayBase.constr(i1))
    value = result_def(BoolListType())

    assembly_format = "qualified($items) attr-dict"


@irdl_op_definition
class TensorListOp(ValueOp):
    """A list of tensors.

    ```mlir
    %2 = pte.tensor_list [%0, %1]
    ```
    """

    name = "pte.tensor_list"
    MEMBER: ClassVar[str] = "TensorList"

    items = var_operand_def(TensorType())
    value = result_def(TensorListType())

    assembly_format = "` ` `[` $items `]` attr-dict"


@irdl_op_definition
class OptionalTensorListOp(ValueOp):
    """A list of tensors, some of them absent: `present` has one entry an element, the operands are those present.

    ```mlir
    %1 = pte.optional_tensor_list (%0) present array<i1: true, false>
    ```
    """

    name = "pte.optional_tensor_list"
    MEMBER: ClassVar[str] = "OptionalTensorList"

    items = var_operand_def(base(TensorType) | base(NullType))
    present = prop_def(DenseArrayBase.constr(i1))
    value = result_def(OptionalTensorListType())

    custom_directives = (Values,)
    assembly_format = "custom<Values>($items, type($items)) `present` qualified($present) attr-dict"

    def verify_(self) -> None:
        present = sum(bool(flag) for flag in self.present.get_values())
        if present != len(self.items):
            raise VerifyException(f"{present} elements are present, {len(self.items)} are given")


@irdl_op_definition
class TensorOp(ValueOp):
    """A tensor: its logical shape (an upper bound where `shape_dynamism` is 1) and where its bytes are.

    | `planned` | `data` | the bytes are |
    |---|---|---|
    | no | no | handed in when the plan runs |
    | yes | no | at an offset of an arena |
    | no | yes | constant |
    | yes | yes | at an offset of an arena, with initial contents |

    A tensor with a name in `extra_tensor_info`, whose contents are not in another file, is a mutable buffer: it keeps
    its contents from one call to the next, and starts with `data`, or with zeros. Plans share buffers with the same
    name.

    `dim_order` lists the dimensions from the outermost in memory to the innermost; without it they are in order. `data`
    has the shape that memory has.

    ```mlir
    %0 = pte.tensor tensor<1x8x4x4xf32> planned <1, 768>
    %1 = pte.tensor tensor<8xf32> data dense_resource<bias> : tensor<8xf32>
    ```
    """

    name = "pte.tensor"
    MEMBER: ClassVar[str] = "Tensor"

    tensor_type = prop_def(BuiltinTensorType)
    allocation_info = opt_prop_def(AllocationAttr)
    data = opt_prop_def(base(DenseIntOrFPElementsAttr) | base(DenseResourceAttr))
    dim_order = opt_prop_def(DenseArrayBase.constr(i64))
    storage_offset = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(0, i32))
    requires_grad = prop_def(BoolAttr.constr(i1), default_value=BoolAttr.from_bool(False))
    layout = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(0, i32))
    shape_dynamism = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(0, i32))
    extra_tensor_info = opt_prop_def(ExtraTensorInfoAttr)
    value = result_def(TensorType())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tensor_type (`planned` $allocation_info^)? (`data` $data^)? attr-dict"

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical sizes."""
        return self.tensor_type.get_shape()

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions from the outermost in memory to the innermost."""
        if self.dim_order is None:
            return tuple(range(len(self.shape)))
        return tuple(int(dim) for dim in self.dim_order.get_values())

    @property
    def memory_shape(self) -> tuple[int, ...]:
        """The sizes in the order of memory."""
        return tuple(self.shape[dim] for dim in self.order)

    @property
    def buffer(self) -> str | None:
        """The name of a mutable buffer; None for any other tensor."""
        info = self.extra_tensor_info
        if info is None or info.location.data != SEGMENT or not info.fully_qualified_name.data:
            return None
        return info.fully_qualified_name.data

    @property
    def is_constant(self) -> bool:
        """Whether the contents are the file's, and stay so."""
        return self.data is not None and self.buffer is None and self.allocation_info is None

    @property
    def is_apart(self) -> bool:
        """Whether the contents are in another file."""
        return self.extra_tensor_info is not None and self.extra_tensor_info.location.data != SEGMENT

    @property
    def nbytes(self) -> int:
        """The bytes that the tensor takes at its full shape."""
        return math.prod(self.shape) * element_size(self.tensor_type.element_type)

    @property
    def elements(self) -> DenseData | None:
        """The constant or initial contents."""
        return self.data

    def verify_(self) -> None:
        type = self.tensor_type
        if scalar_code(type.element_type) is None:
            raise VerifyException(f"a program cannot hold elements of type {type.element_type}")
        if not type.has_static_shape():
            raise VerifyException("the shape must be static; a dynamic one is given by its upper bound")
        rank = len(self.shape)
        if rank > MAX_RANK:
            raise VerifyException(f"the runtime takes tensors of rank {MAX_RANK} at most, this one has rank {rank}")
        if sorted(self.order) != list(range(rank)):
            raise VerifyException(f"dim_order {list(self.order)} is not a permutation of the {rank} dimensions")
        if self.elements is not None:
            stored = self.elements.type
            if not isinstance(stored, BuiltinTensorType) or stored.get_shape() != self.memory_shape:
                raise VerifyException(f"data must have the shape of memory, {'x'.join(map(str, self.memory_shape))}")
            if stored.element_type != type.element_type:
                raise VerifyException("data and tensor must have one element type")


VALUE_OPS: tuple[type[ValueOp], ...] = (
    NullOp,
    IntOp,
    BoolOp,
    DoubleOp,
    StringOp,
    TensorOp,
    IntListOp,
    DoubleListOp,
    BoolListOp,
    TensorListOp,
    OptionalTensorListOp,
)
"""One op for each member of `KernelTypes`."""


def named_values(operands: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """The values that an instruction names, those in lists included."""
    for value in operands:
        yield value
        if isinstance(value.owner, TensorListOp | OptionalTensorListOp):
            yield from value.owner.items
