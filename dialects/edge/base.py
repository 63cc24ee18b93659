"""The one shape that all edge ops have: a call of an ATen operator."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, dataclass_transform

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

from .accessors import Accessor, accessors_of
from .attributes import DYNAMIC, RUN_TIME, to_attribute, to_python
from .definition import irdl_definition
from .properties import PRESENT_SUFFIX, SEGMENTS, is_default
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
    infer: Callable[[Any], Sequence[Attribute | None]] | None
    """Takes an op of this row. Computes the result types from operands and properties, `None` for one that they do not
    determine. Raises VerifyException where the operands do not fit together."""
    pure: bool = True
    in_place: str | None = None
    """ExecuTorch's kernel that writes to some of what `self` holds instead (`aten::index_put_`)."""
    in_place_if: Callable[[Any], bool] | None = None
    """Whether that kernel takes a call, if it does not take all."""
    class_name: str | None = None
    """The name of the op's class, where the one that follows from the op's name is another op's."""

    @cached_property
    def schema(self) -> Schema:
        return parse_schema(self.text)

    @cached_property
    def accessors(self) -> Mapping[str, Accessor]:
        """What reads each argument, by name."""
        return accessors_of(self.schema)

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
    infer: Callable[[Any], Sequence[Attribute | None]] | None = None,
    pure: bool = True,
    in_place: str | None = None,
    in_place_if: Callable[[Any], bool] | None = None,
    class_name: str | None = None,
) -> Row:
    """A table row. `out` and `in_place` are the kernels' names without `aten::` (`add.out`)."""
    if out is not None and "::" not in out:
        out = f"aten::{out}"
    in_place = None if in_place is None else f"aten::{in_place}"
    return Row(text, doc, out, infer, pure, in_place, in_place_if, class_name)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class EdgeOp(IRDLOperation):
    """A call of one ATen overload, with value semantics.

    Operands are the schema's tensors, in order; then one `i64` per run-time size (an element of a SymInt property whose
    value is DYNAMIC), or `i64`, `f64` or `i1` per number that the program computes (a Scalar property RUN_TIME).
    Everything else is a property named like the argument; one equal to the default is left out.

    The class of an op has an attribute for each argument, and takes the same by keyword (`accessors.py` has the types):

        edge.AddTensorOp(self=a, other=b, alpha=2).alpha
    """

    row: ClassVar[Row]
    traits = traits_def()

    def __init__(self, /, *, location: LocationAttr | None = None, **arguments: Any):
        operands, properties = assemble(self.row.schema, arguments)
        Operation.__init__(self, operands=operands, properties=properties, location=location)
        self.results = SSAValues(OpResult(t, self, i) for i, t in enumerate(self.infer_result_types()))

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

    @property
    def overwritten(self) -> SSAValue | None:
        """The operand in whose memory the op may compute its first result, by the in-place form of its kernel."""
        return None if self.in_place_kernel is None else self.argument("self")

    # Accessors

    if not TYPE_CHECKING:  # which knows them from `ops.pyi`, and that there are no others

        def __getattr__(self, name: str) -> Any:
            accessor = type(self).row.accessors.get(name)
            if accessor is None:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            return accessor(self)

    def argument(self, name: str) -> Any:
        """An argument by its name, for what takes any op; KeyError if there is none of that name."""
        return self.accessors[name](self)

    @property
    def accessors(self) -> Mapping[str, Accessor]:
        """What reads each argument, by name."""
        return self.row.accessors

    @property
    def operator_name(self) -> str:
        """What users know the op by: its name, or torch's name of an operator without a row."""
        return self.name

    @property
    def tensor_operands(self) -> Sequence[SSAValue]:
        """The operands but run-time sizes and numbers."""
        return self._operands[: len(self._operands) - self.symbol_count(self.schema.symbolic)]

    @property
    def symbols(self) -> Sequence[SSAValue]:
        """The operands that hold run-time sizes and numbers."""
        return self._operands[len(self._operands) - self.symbol_count(self.schema.symbolic) :]

    @property
    def has_run_time_numbers(self) -> bool:
        """Whether a Scalar argument is an SSA value. Rules and decompositions are for ops without any."""
        return self.symbol_count(each for each in self.schema.symbolic if each.type.base == "Scalar") > 0

    def symbol_count(self, arguments: Iterable[Argument]) -> int:
        """How many operands the run-time sizes and numbers of these arguments are."""
        count = 0
        for argument in arguments:
            attribute = self.properties.get(argument.name)
            if attribute is not None:
                value = to_python(argument.type, attribute)
                dynamic = RUN_TIME if argument.type.base == "Scalar" else DYNAMIC
                count += value.count(dynamic) if isinstance(value, tuple) else value == dynamic
        return count

    def symbols_of(self, name: str) -> Sequence[SSAValue]:
        """The run-time sizes from those of one argument on."""
        symbolic = self.schema.symbolic
        index = next(i for i, argument in enumerate(symbolic) if argument.name == name)
        return self.symbols[self.symbol_count(symbolic[:index]) :]

    def span(self, name: str) -> tuple[int, int]:
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
            return [rest if name == variadic[0] else 1 for name in tensors]
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
        operands, own = assemble(schema or cls.row.schema, args)
        own.update(properties)
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


def assemble(schema: Schema, args: Mapping[str, Any]) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """The operands and properties of a call; ValueError names a missing, unknown or mistyped argument."""
    unknown = args.keys() - schema.tensors.keys() - schema.values.keys()
    if unknown:
        raise ValueError(f"{schema.qualified_name} has no argument '{min(unknown)}'")
    operands, sizes, properties = _flatten_tensors(schema, args)
    if len(schema.variadic) > 1:
        properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
    for argument in schema.values.values():
        value = args.get(argument.name, argument.default)
        if value is REQUIRED:
            raise ValueError(f"{schema.qualified_name} needs argument '{argument.name}'")
        if value is None:
            if argument.default is not REQUIRED and argument.default is not None:
                raise ValueError(f"{schema.qualified_name}: argument '{argument.name}' cannot be None")
            continue
        if argument.type.is_symbolic:
            value = _split_symbols(value, operands, RUN_TIME if argument.type.base == "Scalar" else DYNAMIC)
        if value == argument.default and type(value) is type(argument.default):
            continue
        try:
            attribute = to_attribute(argument.type, value)
        except ValueError as e:
            given = "known at run time alone" if isinstance(value, SSAValue) else repr(value)
            raise ValueError(f"{schema.qualified_name}: argument '{argument.name}' is {given}, expected {e}") from None
        if not is_default(argument, attribute):
            properties[argument.name] = attribute
    return operands, properties


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


def _split_symbols(value: Any, operands: list[SSAValue], dynamic: Any) -> Any:
    """Replace SSA values by `dynamic` and append them to the operands."""
    if isinstance(value, SSAValue | Operation):
        operands.append(SSAValue.get(value))
        return dynamic
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_split_symbols(element, operands, dynamic) for element in cast("Sequence[Any]", value))
    return value


_PURE = traits_def(Pure())


def class_name(op_name: str) -> str:
    """`AddTensorOp` of `edge.add.Tensor`."""
    words = op_name.removeprefix("edge.").replace(".", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) + "Op"


def op_class(definition: Row) -> type[EdgeOp]:
    """The op class of a table row."""
    members = {"__doc__": f"{definition.doc}\n\n    {definition.text}", "__module__": __name__}
    made = type(definition.class_name or class_name(definition.op_name), (EdgeOp,), members)
    bind(made, definition)
    return made


def bind(op_class: type[EdgeOp], definition: Row) -> None:
    """Make a class that of a row's op."""
    op_class.name = definition.op_name
    op_class.row = definition
    if definition.pure:
        op_class.traits = _PURE
