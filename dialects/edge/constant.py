"""Ops that no ATen schema describes ahead of time: constants, and calls of operators without a row."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    LocationAttr,
    NoneType,
    StringAttr,
    TensorType,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from xir.ir.constants import DenseAttr, parse_dense

from .accessors import Accessor, accessors_of
from .base import EdgeOp, Row
from .schema import Schema, SchemaError, parse_schema
from .text import parse_call


@irdl_op_definition
class ConstantOp(IRDLOperation, HasFolderInterface):
    """A tensor known at compile time: `edge.constant dense_resource<fc.weight> : tensor<1000x1280xf32>`.

    The bytes of a `dense_resource` are in the context's blob store. `dense<...>` is for values written by hand.
    """

    name = "edge.constant"

    value = prop_def(DenseResourceAttr | DenseIntOrFPElementsAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: DenseAttr, location: LocationAttr | None = None):
        # There is one for each weight, and xDSL's constructor takes three times as long.
        Operation.__init__(self, properties={"value": value}, result_types=[value.get_type()], location=location)

    @property
    def resource(self) -> str | None:
        """The blob store's key, if the value is there."""
        return self.value.resource_handle.data if isinstance(self.value, DenseResourceAttr) else None

    def verify_(self) -> None:
        if self.value.get_type() != self.result.type:
            raise VerifyException(f"result has type {self.result.type}, its value {self.value.get_type()}")

    def fold(self) -> Sequence[SSAValue | Attribute]:
        return (self.value,)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parse_dense(parser))
        op.attributes |= attributes
        return op


@irdl_op_definition
class NoneOp(IRDLOperation):
    """Nothing, where a program returns None beside its results: `%0 = edge.none`."""

    name = "edge.none"

    result = result_def(NoneType())

    traits = traits_def(Pure())

    assembly_format = "attr-dict"

    def __init__(self, location: LocationAttr | None = None):
        super().__init__(result_types=[NoneType()])
        if location is not None:
            self.location = location


@lru_cache(maxsize=1024)
def _schema(text: str) -> Schema:
    return parse_schema(text)


@lru_cache(maxsize=1024)
def _accessors(text: str) -> Mapping[str, Accessor]:
    return accessors_of(_schema(text))


class OpaqueOp(EdgeOp):
    """A call of an operator that has no row, carrying its schema:

        %0 = edge.opaque "aten::erfinv(Tensor self) -> Tensor" -> "aten::erfinv.out" (%x)
               : (tensor<4xf32>) -> tensor<4xf32>

    The second string, if there is one, names ExecuTorch's kernel. An operator that mutates one argument, and returns it
    first, has value semantics: the first result is what that argument holds afterwards, as in

        %1, %2 = edge.opaque "llama::update_cache(Tensor value, Tensor(a!) cache, SymInt start) -> (Tensor(a!), Tensor)"
                   -> "llama::update_cache.out" (%x, %0)[%at] : …

    Other operators that mutate an argument have no such form.
    """

    name = "edge.opaque"
    row = Row("edge::opaque() -> ()", __doc__ or "", None, None, pure=False)
    traits = traits_def()

    SCHEMA = "aten_schema"
    KERNEL = "aten_kernel"
    OWN_PROPERTIES = frozenset({SCHEMA, KERNEL})

    @property
    def schema(self) -> Schema:
        text = self.properties.get(self.SCHEMA)
        if not isinstance(text, StringAttr):
            raise VerifyException(f"needs property '{self.SCHEMA}', a string")
        try:
            return _schema(text.data)
        except SchemaError as e:
            raise VerifyException(f"{e}") from None

    @property
    def operator_name(self) -> str:
        """`aten::erfinv`, as in the schema."""
        return self.schema.qualified_name

    @property
    def accessors(self) -> Mapping[str, Accessor]:
        return _accessors(self.schema.text)

    @property
    def out_kernel(self) -> str | None:
        kernel = self.properties.get(self.KERNEL)
        return kernel.data if isinstance(kernel, StringAttr) else None

    @property
    def overwritten(self) -> SSAValue | None:
        """The argument that the operator mutates and returns first."""
        schema = self.schema
        mutated = [argument for argument in schema.arguments if argument.mutated]
        if len(mutated) != 1 or not schema.returns or schema.returns[0].alias != mutated[0].alias:
            return None
        value = self.argument(mutated[0].name) if mutated[0].type.is_tensor else None
        return value if isinstance(value, SSAValue) else None

    @classmethod
    def build_call(
        cls,
        schema_text: str,
        args: Mapping[str, Any],
        result_types: Sequence[Attribute],
        out_kernel: str | None = None,
        location: LocationAttr | None = None,
    ) -> Self:
        """Build a call from the operator's schema text; see `EdgeOp.build_from`."""
        properties: dict[str, Attribute] = {cls.SCHEMA: StringAttr(schema_text)}
        if out_kernel is not None:
            properties[cls.KERNEL] = StringAttr(out_kernel)
        return cls.build_from(args, result_types, location, schema=_schema(schema_text), properties=properties)

    def verify_(self) -> None:
        if self.schema.mutates:
            overwritten = self.overwritten
            if overwritten is None or self.out_kernel is None or self.results[0].type != overwritten.type:
                raise VerifyException(f"cannot call {self.schema.qualified_name}, which mutates an argument")
        clash = self.OWN_PROPERTIES & self.schema.values.keys()
        if clash:
            raise VerifyException(f"cannot hold an argument called '{min(clash)}'")
        super().verify_()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.schema.text)
        if self.out_kernel is not None:
            printer.print_string(" -> ")
            printer.print_string_literal(self.out_kernel)
        printer.print_string(" ")
        super().print(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pos = parser.pos
        text = parser.parse_str_literal()
        properties: dict[str, Attribute] = {cls.SCHEMA: StringAttr(text)}
        try:
            schema = _schema(text)
        except SchemaError as e:
            parser.raise_error(str(e), pos, parser.pos)
        if parser.parse_optional_punctuation("->"):
            properties[cls.KERNEL] = StringAttr(parser.parse_str_literal())
        call = parse_call(parser, schema)
        call["properties"].update(properties)
        return cls.create(**call)
