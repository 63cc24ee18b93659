"""The one shape that all edge ops have: a call of an ATen operator."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    IntegerType,
    LocationAttr,
    TensorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    IRDLOption,
    OpDef,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    PropertyDef,
    ResultDef,
    VarOperandDef,
    VarResultDef,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .attributes import DYNAMIC, to_attribute, to_python
from .schema import REQUIRED, Argument, Schema, parse_schema

SEGMENTS = AttrSizedOperandSegments.attribute_name
"""Property with the operand count of each tensor argument; present where two or more of them vary."""
PRESENT_SUFFIX = "_present"
"""`indices_present = array<i1: false, true>`: which elements of a `Tensor?[]` argument are there, if not all are."""


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
) -> Row:
    """A table row. `out` is the kernel's name without `aten::` (`add.out`)."""
    if out is not None and "::" not in out:
        out = f"aten::{out}"
    return Row(text, doc, out, infer, pure)


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

    # Accessors

    def tensor(self, name: str) -> SSAValue | None:
        """The value of a `Tensor` or `Tensor?` argument."""
        start, stop = self._span(name)
        return self._operands[start] if stop > start else None

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
            return None if argument.default is REQUIRED else _default_of(argument)
        value = to_python(argument.type, attribute)
        if not argument.type.is_symbolic:
            return value
        if value == DYNAMIC:
            return self._symbols(name)[0]
        if isinstance(value, tuple) and DYNAMIC in value:
            symbols = iter(self._symbols(name))
            return tuple(next(symbols) if v == DYNAMIC else v for v in value)
        return value

    @property
    def symbols(self) -> Sequence[SSAValue]:
        """The operands that hold run-time sizes."""
        return self._operands[len(self._operands) - self._symbol_count(self.schema.symbolic) :]

    def _symbol_count(self, arguments: Iterable[Argument]) -> int:
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
        return self.symbols[self._symbol_count(symbolic[:index]) :]

    def _span(self, name: str) -> tuple[int, int]:
        """First and last operand index of a tensor argument."""
        start = 0
        for argument, size in zip(self.schema.tensors, self._segment_sizes(), strict=False):
            if argument == name:
                return start, start + size
            start += size
        raise KeyError(f"{self.name} has no tensor argument '{name}'")

    def _segment_sizes(self) -> Sequence[int]:
        """Operand count of each tensor argument, in the schema's order."""
        tensors, variadic = self.schema.tensors, self.schema.variadic
        if not variadic:
            return (1,) * len(tensors)
        if len(variadic) == 1:
            symbols = self._symbol_count(self.schema.symbolic) if self.schema.symbolic else 0
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
            if not _is_default(argument, attribute):
                own[argument.name] = attribute
        op = cls.create(operands=operands, result_types=result_types or (), properties=own, location=location)
        if result_types is None:
            op.results = SSAValues(OpResult(t, op, i) for i, t in enumerate(op.infer_result_types()))
        return op

    def infer_result_types(self) -> Sequence[Attribute]:
        """The result types that operands and properties determine; ValueError if they do not."""
        types = self.row.infer(self) if self.row.infer else (None,)
        if any(t is None for t in types):
            raise ValueError(f"{self.name} does not determine its result types; give them")
        return cast("Sequence[Attribute]", types)

    def __post_init__(self) -> None:
        """Defaults are implied, never stored, so there is nothing to fill in."""

    # Verification

    def verify_(self) -> None:
        schema = self.schema
        self._verify_properties(schema)
        self._verify_operands(schema)
        self._verify_results(schema)
        if self.row.infer is not None:
            self._verify_inferred(self.row.infer(self))

    def _verify_properties(self, schema: Schema) -> None:
        for name, argument in schema.values.items():
            attribute = self.properties.get(name)
            if attribute is None:
                if argument.default is REQUIRED and not argument.type.optional:
                    raise VerifyException(f"needs argument '{name}' ({argument.type})")
                continue
            try:
                value = to_python(argument.type, attribute)
            except VerifyException as e:
                raise VerifyException(f"argument '{name}': {e}") from None
            length = argument.type.length
            if length and length > 1 and len(value) != length and not (len(value) == 0 and argument.default == ()):
                raise VerifyException(f"argument '{name}': expected {length} values, got {len(value)}")
        allowed = {SEGMENTS} | {t + PRESENT_SUFFIX for t, a in schema.tensors.items() if a.type.optional_element}
        for name in self.properties.keys() - schema.values.keys() - allowed - self._own_properties:
            raise VerifyException(f"has no argument '{name}'")

    _own_properties: ClassVar[frozenset[str]] = frozenset()
    """Properties that are not arguments of the schema."""

    def _verify_operands(self, schema: Schema) -> None:
        sizes = self._segment_sizes()
        symbols = self._symbol_count(schema.symbolic)
        fits = len(sizes) == len(schema.tensors) and sum(sizes) + symbols == len(self._operands)
        if not fits or not all(map(_takes, schema.tensors.values(), sizes)):
            expected = ", ".join(f"{a.type} {a.name}" for a in schema.tensors.values())
            raise VerifyException(
                f"has {len(self._operands)} operands, which do not fit ({expected})"
                + (f" and {symbols} run-time sizes" if symbols else "")
            )
        for argument, size in zip(schema.tensors.values(), sizes, strict=True):
            if argument.type.optional_element:
                self._verify_present(argument.name + PRESENT_SUFFIX, size)
        tensor_count = len(self._operands) - symbols
        for index, operand in enumerate(self._operands):
            if index < tensor_count and not isinstance(operand.type, TensorType):
                raise VerifyException(f"operand #{index} has type {operand.type}, expected a tensor")
            if index >= tensor_count and operand.type != i64:
                raise VerifyException(f"operand #{index} has type {operand.type}, expected i64, a size")

    def _verify_present(self, name: str, size: int) -> None:
        present = self.properties.get(name)
        if present is None:
            return
        if not (
            isinstance(present, DenseArrayBase)
            and present.elt_type == i1
            and sum(map(bool, present.get_values())) == size
        ):
            raise VerifyException(f"{name} does not fit its operands")

    def _verify_results(self, schema: Schema) -> None:
        returns = schema.returns
        if len(returns) == 1 and returns[0].type.is_list:
            kinds = [returns[0].type.base] * len(self.results)
        elif len(returns) == len(self.results):
            kinds = [r.type.base for r in returns]
        else:
            raise VerifyException(f"has {len(self.results)} results, its schema {len(returns)}")
        for index, (kind, result) in enumerate(zip(kinds, self.results, strict=True)):
            if not _fits(kind, result.type):
                raise VerifyException(f"result #{index} has type {result.type}, expected a {kind}")

    def _verify_inferred(self, expected: Sequence[Attribute | None]) -> None:
        if len(expected) != len(self.results):
            raise VerifyException(f"has {len(self.results)} results, expected {len(expected)}")
        for index, (wanted, result) in enumerate(zip(expected, self.results, strict=True)):
            if wanted is not None and wanted != result.type and not _compatible(wanted, result.type):
                raise VerifyException(f"result #{index} has type {result.type}, expected {wanted}")

    # Text: edge.name(%a, none, [%b, %c])[%size] {property = ...} : (types) -> types

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.schema.tensors.values(), lambda argument: self._print_argument(printer, argument))
        printer.print_string(")")
        if symbols := self.symbols:
            with printer.in_square_brackets():
                printer.print_list(symbols, printer.print_ssa_value)
        shown = {n: self.properties[n] for n in self.schema.values if n in self.properties}
        printer.print_op_attributes(shown | self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    def _print_argument(self, printer: Printer, argument: Argument) -> None:
        if argument.type.is_list:
            with printer.in_square_brackets():
                printer.print_list(self.tensors(argument.name), lambda value: _print_operand(printer, value))
        else:
            _print_operand(printer, self.tensor(argument.name))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls._parse_call(parser, cls.row.schema, {})

    @classmethod
    def _parse_call(cls, parser: Parser, schema: Schema, properties: dict[str, Attribute]) -> Self:
        pos = parser.pos
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        if len(arguments) != len(schema.tensors):
            expected = ", ".join(f"{a.type} {a.name}" for a in schema.tensors.values())
            parser.raise_error(
                f"{schema.qualified_name} takes {len(schema.tensors)} tensor arguments ({expected}), "
                f"got {len(arguments)}",
                pos,
                parser.pos,
            )
        unresolved: list[UnresolvedOperand] = []
        sizes: list[int] = []
        for argument, group in zip(schema.tensors.values(), arguments, strict=True):
            if isinstance(group, list) != argument.type.is_list:
                form = "a list in brackets" if argument.type.is_list else "a single value"
                parser.raise_error(f"argument '{argument.name}' is {form}", pos, parser.pos)
            elements = group if isinstance(group, list) else [group]
            there = [e for e in elements if e is not None]
            if len(there) < len(elements):
                if argument.type.is_list and argument.type.optional_element:
                    properties[argument.name + PRESENT_SUFFIX] = DenseArrayBase.from_list(
                        i1, [e is not None for e in elements]
                    )
                elif argument.type.is_list or not argument.type.optional:
                    parser.raise_error(f"argument '{argument.name}' cannot be none", pos, parser.pos)
            unresolved += there
            sizes.append(len(there))
        if len(schema.variadic) > 1:
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
        unresolved += (
            parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand) or []
        )
        pos = parser.pos
        attributes: dict[str, Attribute] = {}
        for name, attribute in parser.parse_optional_attr_dict().items():
            if (argument := schema.values.get(name)) is not None:
                if not _is_default(argument, attribute):
                    properties[name] = attribute
            elif "." in name:
                attributes[name] = attribute  # another dialect's annotation, as MLIR names discardable attributes
            else:
                known = ", ".join(schema.values) or "none"
                parser.raise_error(
                    f"{schema.qualified_name} has no argument '{name}' (it has: {known})", pos, parser.pos
                )
        parser.parse_punctuation(":")
        pos = parser.pos
        type = parser.parse_function_type()
        operands = parser.resolve_operands(unresolved, type.inputs.data, pos)
        return cls.create(
            operands=operands, result_types=type.outputs.data, properties=properties, attributes=attributes
        )

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        return _irdl_definition(cls)


@cache
def _irdl_definition(cls: type[EdgeOp]) -> OpDef:
    """The definition in xDSL's terms, for tools that walk definitions; made on demand, which keeps start-up short."""
    schema = cls.row.schema
    operands: list[tuple[str, OperandDef]] = []
    for name, argument in schema.tensors.items():
        kind = VarOperandDef if argument.type.is_list else OptOperandDef if argument.type.optional else OperandDef
        operands.append((name, kind(TensorType)))
    if schema.symbolic:
        operands.append(("symbols", VarOperandDef(i64)))
    results: list[tuple[str, ResultDef]] = [
        (r.name or f"result{i}", (VarResultDef if r.type.is_list else ResultDef)(AnyAttr()))
        for i, r in enumerate(schema.returns)
    ]
    properties: dict[str, PropertyDef] = {name: OptPropertyDef(AnyAttr()) for name in schema.values}
    options: list[IRDLOption] = [AttrSizedOperandSegments(as_property=True)] if len(schema.variadic) > 1 else []
    return OpDef(
        cls.name, operands=operands, results=results, properties=properties, options=options, traits=cls.traits
    )


def _flatten_tensors(schema: Schema, args: Mapping[str, Any]) -> tuple[list[SSAValue], list[int], dict[str, Attribute]]:
    """Operands, operand count by tensor argument, and the properties that say which list elements are present."""
    operands: list[SSAValue] = []
    sizes: list[int] = []
    properties: dict[str, Attribute] = {}
    for argument in schema.tensors.values():
        value = args.get(argument.name)
        elements: list[Any] = list(value) if argument.type.is_list and value is not None else [value]
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


def _default_of(argument: Argument) -> Any:
    """The default as `EdgeOp.value` gives it."""
    if argument.type.base == "ScalarType" and argument.default is not None:
        return _ELEMENT_TYPES[argument.default]
    return argument.default


_ELEMENT_TYPES = {"long": i64, "float": f32, "double": f64}
"""The ScalarTypes that occur as defaults."""


def _is_default(argument: Argument, attribute: Attribute) -> bool:
    if argument.default is REQUIRED or argument.default is None:
        return False
    try:
        value = to_python(argument.type, attribute)
    except VerifyException:
        return False  # the verifier will say so
    default = _default_of(argument)
    return value == default and type(value) is type(default)


def _takes(argument: Argument, size: int) -> bool:
    """Whether an argument may have so many operands."""
    return size >= 0 and (argument.type.is_list or size == 1 or (size == 0 and argument.type.optional))


def _fits(kind: str, type: Attribute) -> bool:
    match kind:
        case "Tensor":
            return isinstance(type, TensorType)
        case "int" | "SymInt":
            return type == i64
        case "float":
            return type == f64
        case "bool":
            return type == i1
        case _:
            return isinstance(type, IntegerType | Float64Type)


def _compatible(expected: Attribute, actual: Attribute) -> bool:
    """Equal up to dimensions that one of the two leaves open."""
    return (
        isinstance(expected, TensorType)
        and isinstance(actual, TensorType)
        and expected.element_type == actual.element_type
        and expected.get_num_dims() == actual.get_num_dims()
        and all(a == b or a < 0 or b < 0 for a, b in zip(expected.get_shape(), actual.get_shape(), strict=True))
    )


def _print_operand(printer: Printer, value: SSAValue | None) -> None:
    if value is None:
        printer.print_string("none")
    else:
        printer.print_ssa_value(value)


def _parse_operand(parser: Parser) -> UnresolvedOperand | None:
    return None if parser.parse_optional_keyword("none") else parser.parse_unresolved_operand()


def _parse_argument(parser: Parser) -> UnresolvedOperand | list[UnresolvedOperand | None] | None:
    group = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_operand(parser))
    return _parse_operand(parser) if group is None else group


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
