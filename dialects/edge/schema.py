"""ATen operator schemas as data, read from their text form; no torch needed.

The grammar is the one that PyTorch prints for `OpOverload._schema` and writes in `native_functions.yaml`:

    aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
"""

import ast
import re
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NoReturn


class SchemaError(ValueError):
    """A schema text that does not follow the grammar."""


class Required(Enum):
    """The default of an argument that has none."""

    REQUIRED = "required"


REQUIRED = Required.REQUIRED


@dataclass(frozen=True, slots=True)
class ArgType:
    """`Tensor?`, `SymInt[2]`, `float[]?`, `Tensor?[]`, ..."""

    base: str
    optional: bool = False
    """The argument as a whole may be None."""
    is_list: bool = False
    length: int | None = None
    """The expected length of a list, as in `int[2]`."""
    optional_element: bool = False
    """Elements of the list may be None, as in `Tensor?[]`."""

    @property
    def is_tensor(self) -> bool:
        return self.base == "Tensor"

    @property
    def is_symbolic(self) -> bool:
        """Its value, or an element of it, may be an SSA value: a size, or another number that the program computes."""
        return self.base == "SymInt" or (self.base == "Scalar" and not self.is_list)

    def __str__(self) -> str:
        text = self.base
        if self.is_list:
            text += "?" * self.optional_element + f"[{'' if self.length is None else self.length}]"
        return text + "?" * self.optional


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator."""

    name: str
    type: ArgType
    default: Any = REQUIRED
    """A Python value (lists as tuples, enumerators such as `contiguous_format` as strings), or REQUIRED."""
    kwarg_only: bool = False
    alias: str | None = None
    """The alias annotation without its parentheses: `a`, `a!`, `a -> *`."""

    @property
    def mutated(self) -> bool:
        return self.alias is not None and "!" in self.alias


@dataclass(frozen=True, slots=True)
class Return:
    """One result of an operator."""

    type: ArgType
    name: str | None = None
    alias: str | None = None


@dataclass(frozen=True)
class Schema:
    """One overload of one operator."""

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    text: str = field(compare=False)

    @property
    def qualified_name(self) -> str:
        """`aten::mean.dim`; a default overload has no suffix."""
        return f"{self.namespace}::{self.name}" + (f".{self.overload}" if self.overload else "")

    @property
    def mutates(self) -> bool:
        return any(argument.mutated for argument in self.arguments)

    @cached_property
    def tensors(self) -> dict[str, Argument]:
        """The arguments that are operands, in order."""
        return {a.name: a for a in self.arguments if a.type.is_tensor}

    @cached_property
    def values(self) -> dict[str, Argument]:
        """The arguments that are properties, in order."""
        return {a.name: a for a in self.arguments if not a.type.is_tensor}

    @cached_property
    def symbolic(self) -> tuple[Argument, ...]:
        """The properties that may hold run-time sizes, in order."""
        return tuple(a for a in self.values.values() if a.type.is_symbolic)

    @cached_property
    def variadic(self) -> tuple[str, ...]:
        """Names of the operands whose count varies: optional ones and lists."""
        return tuple(a.name for a in self.tensors.values() if a.type.is_list or a.type.optional)


_HEAD = re.compile(r"\s*(?:(\w+)::)?(\w+)(?:\.(\w+))?\s*\(")
_TYPE = re.compile(
    r"""\s*(?P<base>[A-Za-z_][\w.]*)
        (?:\((?P<alias>[^()]*)\))?
        (?P<element_optional>\?(?=\[))?
        (?P<list>\[(?P<length>\d*)\])?
        (?:\((?P<list_alias>[^()]*)\))?
        (?P<optional>\?)?""",
    re.VERBOSE,
)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_DEFAULT = re.compile(r"\s*=\s*(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^,()\s]+)\s*")
_SPACE = re.compile(r"\s*")


class _Reader:
    """A cursor over the text of one schema."""

    def __init__(self, text: str):
        self.text = text
        self.pos = 0

    def match(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        found = pattern.match(self.text, self.pos)
        if found is None:
            self.fail(expected)
        self.pos = found.end()
        return found

    def optional(self, token: str) -> bool:
        start = self.match(_SPACE, "").end()
        if not self.text.startswith(token, start):
            return False
        self.pos = start + len(token)
        return True

    def require(self, token: str) -> None:
        if not self.optional(token):
            self.fail(f"'{token}'")

    def fail(self, expected: str) -> NoReturn:
        raise SchemaError(f"expected {expected} at column {self.pos + 1} of schema '{self.text}'")

    def read_type(self) -> tuple[ArgType, str | None]:
        found = self.match(_TYPE, "a type")
        is_list = found["list"] is not None
        type = ArgType(
            found["base"],
            optional=found["optional"] is not None,
            is_list=is_list,
            length=int(found["length"]) if found["length"] else None,
            optional_element=found["element_optional"] is not None,
        )
        return type, found["alias"] or found["list_alias"]

    def read_argument(self, kwarg_only: bool) -> Argument:
        type, alias = self.read_type()
        name = self.match(_NAME, "an argument name")[1]
        default = REQUIRED
        if found := _DEFAULT.match(self.text, self.pos):
            self.pos = found.end()
            default = _default_value(type, found[1])
        return Argument(name, type, default, kwarg_only, alias)

    def read_arguments(self) -> tuple[Argument, ...]:
        arguments: list[Argument] = []
        kwarg_only = False
        if self.optional(")"):
            return ()
        while True:
            if self.optional("*"):
                kwarg_only = True
            else:
                arguments.append(self.read_argument(kwarg_only))
            if self.optional(")"):
                return tuple(arguments)
            self.require(",")

    def read_return(self) -> Return:
        type, alias = self.read_type()
        name = _NAME.match(self.text, self.pos)
        if name is not None:
            self.pos = name.end()
        return Return(type, name[1] if name else None, alias)

    def read_returns(self) -> tuple[Return, ...]:
        if not self.optional("("):
            return (self.read_return(),)
        if self.optional(")"):
            return ()
        returns = [self.read_return()]
        while not self.optional(")"):
            self.require(",")
            returns.append(self.read_return())
        return tuple(returns)


_ENUMERATORS = {
    "MemoryFormat": ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"),
    "ScalarType": ("uint8", "int8", "int16", "int32", "long", "half", "float", "double"),
    "Layout": ("strided",),
}
"""Names by number, as c10's `MemoryFormat.h`, `ScalarType.h` and `Layout.h` order them: PyTorch prints the numbers."""


def _default_value(type: ArgType, text: str) -> Any:
    """A default as Python value. `int[2] stride=1` stands for `(1, 1)`, as PyTorch reads it."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # an enumerator: contiguous_format, strided, long
    if isinstance(value, list):
        return tuple(value)
    if type.is_list and value is not None:
        return (value,) * (type.length or 1)
    if type.base == "float" and value is not None:
        return float(value)
    if type.base in _ENUMERATORS and value is not None:
        return _ENUMERATORS[type.base][value]
    return value


def parse_schema(text: str) -> Schema:
    """Read a schema's text; SchemaError says what was expected and at which column."""
    reader = _Reader(text)
    head = reader.match(_HEAD, "'namespace::name.overload('")
    overload = head[3] or ""
    arguments = reader.read_arguments()
    reader.require("->")
    returns = reader.read_returns()
    if reader.match(_SPACE, "").end() != len(text):
        reader.fail("the end")
    return Schema(
        head[1] or "aten", head[2], "" if overload == "default" else overload, arguments, returns, text.strip()
    )
