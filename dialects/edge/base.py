"""The one shape that all edge ops have: a call of an ATen operator."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    LocationAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import (
    IRDLOperation,
    OpDef,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .attributes import DYNAMIC, to_attribute, to_python
from .definition import irdl_definition
from .properties import PRESENT_SUFFIX, SEGMENTS, default_of, is_default
from .schema import REQUIRED, Argument, Schema, parse_schema
from .text import parse_call, print_call
from .verification import verify_call


@dataclass(frozen=True)
class Row:
    """One ATen overload, as the tables beside this file list them."""

    text: str
    """The schema."""
    doc: str
    out: str | None
    """ExecuTorch's kernel for it: the out variant's qualified name (`aten::add.out`). None: the op has none."""
    infer: "Callable[[EdgeOp], Sequence[Attribute | None]] | None"
    """Computes the result types from operands and properties, `None` for one that they do not determine. Raises
    VerifyException where the operands do not fit together."""
    pure: bool = True
    in_place: str | None = None
    """ExecuTorch's kernel that writes to some of what `self` holds instead (`aten::index_put_`)."""
    in_place_if: "Callable[[EdgeOp], bool] | None" = None
    """Whether that kernel takes a call, if it does not take all."""

    @cached_property
    def schema(self) -> Schema:
        return parse_schema(self.text)

    @property
    def op_name(self) -> str:
        """`edge.mean.dim`; operators of another namespace keep it: `edge.quantized_decomposed.quantize_per_tensor`."""
        qualified = self.text[: self.text.index("(")]
        return "edge." + qualified.removeprefix("aten::").replace("::", ".")


def row(
    text: str,
    doc: str,
    *,
    out: str | None = None,
    infer: "Callable[[EdgeOp], Sequence[Attribute | None]] | None" = None,
    pure: bool = True,
    in_place: str | None = None,
    in_place_if: "Callable[[EdgeOp], bool] | None" = None,
) -> Row:
    """A table row. `out` and `in_place` are the kernels' names without `aten::` (`add.out`)."""
    if out is not None and "::" not in out:
        out = f"aten::{out}"
    in_place = None if in_place is None else f"aten::{in_place}"
    return Row(text, doc, out, infer, pure, in_place, in_place_if)


class EdgeOp(IRDLOperation):
    """A call of one ATen overload, with value semantics.

    Operands are the schema's tensors, in order; then one `i64` per run-time size (an element of a SymInt property whose
    value is DYNAMIC). Everything else is a property named like the argument; one equal to the default is left out.
    """

    row: ClassVar[Row]
    traits = traits_def()

    @property
    def schema(self) -> Schema:
        return self.row.schema

    @property
    def out_kernel(self) -> str | None:
        """The qualified name of ExecuTorch's kernel, as in `aten::add.out`."""
        return self.row.out

    @property
    def in_place_kernel(self) -> str | None:
        """The qualified name of ExecuTorch's kernel that writes to `self` instead, if it takes this call."""
        holds = self.row.in_place_if
        return self.row.in_place if holds is None or holds(self) else None

    # Accessors

    def tensor(self, name: str) -> SSAValue | None:
        """The value of a `Tensor` or `Tensor?` argument."""
        start, stop = self._span(name)
        return self._operands[start] if stop > start else None

    def required(self, name: str) -> SSAValue:
        """The value of a `Tensor` argument, which every call has."""
        value = self.tensor(name)
        assert value is not None, f"{self.name} has no operand '{name}'"
        return value

    def tensors(self, name: str) -> list[SSAValue | None]:
        """The values of a `Tensor[]` or `Tensor?[]` argument."""
        start, stop = self._span(name)
        values = iter(self._operands[start:stop])
        present = self.properties.get(name + PRESENT_SUFFIX)
        if present is None:
            return list(values)
        assert isinstance(present, DenseArrayBase)
        return [next(values) if there else None for there in present.get_values()]

    def value(self, name: str) -> Any:
        """The Python value of any other argument, its default filled in: lists are tuples, a ScalarType is an element
        type, and a size that is only known at run time is the SSA value that holds it."""
        argument = self.schema.values[name]
        attribute = self.properties.get(name)
        if attribute is None:
            return None if argument.default is REQUIRED else default_of(argument)
        value = to_python(argument.type, attribute)
        if not argument.type.is_symbolic:
            return value
        if value == DYNAMIC:
            return self.size_of(name, self._symbols(name)[0])
        if isinstance(value, tuple) and DYNAMIC in value:
            symbols = iter(self._symbols(name))
            return tuple(self.size_of(name, next(symbols)) if v == DYNAMIC else v for v in value)
        return value

    @property
    def symbols(self) -> Sequence[SSAValue]:
        """The operands that hold run-time sizes."""
        return self._operands[len(self._operands) - self.symbol_count(self.schema.symbolic) :]

    def symbol_count(self, arguments: Iterable[Argument]) -> int:
        """How many operands the run-time sizes of these arguments are."""
        count = 0
        for argument in arguments:
            attribute = self.properties.get(argument.name)
            if attribute is not None:
                value = to_python(argument.type, attribute)
                count += value.count(DYNAMIC) if isinstance(value, tuple) else value == DYNAMIC
        return count

    def _symbols(self, name: str) -> Sequence[SSAValue]:
        symbolic = self.schema.symbolic
        index = next(i for i, argument in enumerate(symbolic) if argument.name == name)
        return self.symbols[self.symbol_count(symbolic[:index]) :]

    def _span(self, name: str) -> tuple[int, int]:
        """First and last operand index of a tensor argument."""
        start = 0
        for argument, size in zip(self.schema.tensors, self.segment_sizes(), strict=False):
            if argument == name:
                return start, start + size
            start += size
        raise KeyError(f"{self.name} has no tensor argument '{name}'")

    def segment_sizes(self) -> Sequence[int]:
        """Operand count of each tensor argument, in the schema's order."""
        tensors, variadic = self.schema.tensors, self.schema.variadic
        if not variadic:
            return (1,) * len(tensors)
        if len(variadic) == 1:
            symbols = self.symbol_count(self.schema.symbolic) if self.schema.symbolic else 0
            rest = len(self._operands) - symbols - len(tensors) + 1
            return tuple(rest if name == variadic[0] else 1 for name in tensors)
        sizes = self.properties.get(SEGMENTS)
        if not isinstance(sizes, DenseArrayBase) or sizes.elt_type != i32:
            raise VerifyException(f"expected property {SEGMENTS}: operand counts of {', '.join(tensors)}")
        return cast("Sequence[int]", sizes.get_values())

    # Construction

    @classmethod
    def build_from(
        cls,
        args: Mapping[str, Any],
        result_types: Sequence[Attribute] | None = None,
        location: LocationAttr | None = None,
        *,
        schema: Schema | None = None,
        properties: Mapping[str, Attribute] = {},
    ) -> Self:
        """Build the op from its arguments by name: SSA values (or lists of them) for tensors, Python values for the
        rest, SSA values also for run-time sizes. An argument left out has its default.

        Without `result_types` they are computed, which needs a row that determines them. ValueError names a missing,
        unknown or mistyped argument.
        """
        schema = schema or cls.row.schema
        unknown = args.keys() - schema.tensors.keys() - schema.values.keys()
        if unknown:
            raise ValueError(f"{schema.qualified_name} has no argument '{min(unknown)}'")
        operands, sizes, own = _flatten_tensors(schema, args)
        own.update(properties)
        if len(schema.variadic) > 1:
            own[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
        for argument in schema.values.values():
            value = args.get(argument.name, argument.default)
            if value is REQUIRED:
                raise ValueError(f"{schema.qualified_name} needs argument '{argument.name}'")
            if value is None:
                if argument.default is not REQUIRED and argument.default is not None:
                    raise ValueError(f"{schema.qualified_name}: argument '{argument.name}' cannot be None")
                continue
            if argument.type.is_symbolic:
                value = _split_symbols(value, operands)
            if value == argument.default and type(value) is type(argument.default):
                continue
            try:
                attribute = to_attribute(argument.type, value)
            except ValueError as e:
                raise ValueError(
                    f"{schema.qualified_name}: argument '{argument.name}' is {value!r}, expected {e}"
                ) from None
            if not is_default(argument, attribute):
                own[argument.name] = attribute
        op = cls.create(operands=operands, result_types=result_types or (), properties=own, location=location)
        if result_types is None:
            op.results = SSAValues(OpResult(t, op, i) for i, t in enumerate(op.infer_result_types()))
        return op

    size_of: Callable[[str, SSAValue], int | SSAValue] = staticmethod(lambda name, symbol: symbol)
    """What an argument that is a run-time size is read as; `infer_at` tells it."""

    def infer_at(
        self, operands: Sequence[SSAValue], size_of: Callable[[str, SSAValue], int]
    ) -> Sequence[Attribute | None]:
        """The result types for tensor operands of other shapes, and sizes for the arguments that are run-time sizes,
        by the argument's name and value; None for what the row does not determine."""
        assert self.row.infer is not None
        call = type(self).create(
            operands=(*operands, *self.symbols), properties=self.properties, result_types=self.result_types
        )
        call.size_of = size_of
        try:
            return self.row.infer(call)
        finally:
            call.erase()

    def infer_result_types(self) -> Sequence[Attribute]:
        """The result types that operands and properties determine; ValueError if they do not."""
        types = self.row.infer(self) if self.row.infer else (None,)
        if any(t is None for t in types):
            raise ValueError(f"{self.name} does not determine its result types; give them")
        return cast("Sequence[Attribute]", types)

    def __post_init__(self) -> None:
        """Defaults are implied, never stored, so there is nothing to fill in."""

    OWN_PROPERTIES: ClassVar[frozenset[str]] = frozenset()
    """Properties that are not arguments of the schema."""

    def verify_(self) -> None:
        verify_call(self)

    def print(self, printer: Printer) -> None:
        print_call(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(**parse_call(parser, cls.row.schema))

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        return irdl_definition(cls)


def _flatten_tensors(schema: Schema, args: Mapping[str, Any]) -> tuple[list[SSAValue], list[int], dict[str, Attribute]]:
    """Operands, operand count by tensor argument, and the properties that say which list elements are present."""
    operands: list[SSAValue] = []
    sizes: list[int] = []
    properties: dict[str, Attribute] = {}
    for argument in schema.tensors.values():
        value = args.get(argument.name)
        elements: list[Any] = list(value) if argument.type.is_list and value is not None else [value]
        if mistyped := [e for e in elements if e is not None and not isinstance(e, SSAValue | Operation)]:
            raise ValueError(
                f"{schema.qualified_name}: argument '{argument.name}' is {mistyped[0]!r}, expected a tensor"
            )
        there = [SSAValue.get(e) for e in elements if e is not None]
        if len(there) < len(elements):
            if argument.type.is_list and argument.type.optional_element and value is not None:
                properties[argument.name + PRESENT_SUFFIX] = DenseArrayBase.from_list(
                    i1, [e is not None for e in elements]
                )
            elif not (argument.type.optional and value is None):
                raise ValueError(f"{schema.qualified_name}: argument '{argument.name}' cannot be none")
        operands += there
        sizes.append(len(there))
    return operands, sizes, properties


def _split_symbols(value: Any, operands: list[SSAValue]) -> Any:
    """Replace SSA values by DYNAMIC and append them to the operands."""
    if isinstance(value, SSAValue | Operation):
        operands.append(SSAValue.get(value))
        return DYNAMIC
    if isinstance(value, Sequence):
        return tuple(_split_symbols(element, operands) for element in cast("Sequence[Any]", value))
    return value


_PURE = traits_def(Pure())


def op_class(definition: Row) -> type[EdgeOp]:
    """The op class of a table row."""
    name = definition.op_name
    members: dict[str, Any] = {
        "name": name,
        "row": definition,
        "__doc__": f"{definition.doc}\n\n    {definition.text}",
        "__module__": __name__,
    }
    if definition.pure:
        members["traits"] = _PURE
    return type(name.removeprefix("edge.").replace(".", "_") + "_op", (EdgeOp,), members)
