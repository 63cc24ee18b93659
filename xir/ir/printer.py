"""IR to MLIR text: xDSL's printer with exact floats, unique names, elision and streamed resources, and faster.

Differences that show:
- A finite float never prints as a hex literal, and reads back as the same value.
- Names keep their `_<digits>`; a name that is taken gets the next free suffix.
- Attributes and properties are in the order of their names.
- Constant data in `{-# dialect_resources #-}` is printed only when asked for, and streamed.
- Locations of block arguments and ops are printed with `debuginfo`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import IO

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.printer import Printer

from xir.ir.builtin import blob_header
from xir.ir.context import XirContext

ELIDED_KEY = "__elided__"
"""The resource that stands for an elided constant, as in MLIR; it has no data."""


MAX_WRITTEN_OUT = 100
"""Constants with more elements print as one hex string, as in MLIR; except i1, whose bits MLIR packs there."""


@dataclass(frozen=True)
class PrintOptions:
    """How a module is printed; the defaults give readable text without the weights."""

    generic: bool = False
    """Every op in generic form (`--mlir-print-op-generic`)."""
    debuginfo: bool = False
    """Locations after ops and block arguments (`--mlir-print-debuginfo`)."""
    elide_elements_above: int | None = None
    """Dense constants with more elements print as `dense_resource<__elided__>`; None prints all."""
    resources: bool = False
    """Print the data of the resources that are referred to (`--print-resources`)."""
    resource_digits_limit: int | None = None
    """With a limit, print only the resources whose text has at most so many characters; implies `resources`."""


def print_module(op: Operation, stream: IO[str], ctx: XirContext | None = None, options: PrintOptions | None = None):
    """Print `op` and a newline to `stream`. Printing resources needs the context that holds them."""
    options = options or PrintOptions()
    printer = XirPrinter(
        stream,
        print_generic_format=options.generic,
        print_debuginfo=options.debuginfo,
        elide_elements_above=options.elide_elements_above,
    )
    printer.print_op(op)
    stream.write("\n")
    if ctx is not None and (options.resources or options.resource_digits_limit is not None):
        printer.print_resources(ctx, options.resource_digits_limit)


def module_to_text(op: Operation, ctx: XirContext | None = None, options: PrintOptions | None = None) -> str:
    """The text of `op`, as `print_module` prints it."""
    stream = StringIO()
    print_module(op, stream, ctx, options)
    return stream.getvalue()


@dataclass(eq=False, repr=False)
class XirPrinter(Printer):
    """The printer behind `print_module`; dialects use it through xDSL's `Printer` interface."""

    elide_elements_above: int | None = field(default=None, kw_only=True)

    _types: dict[int, tuple[Attribute, str]] = field(default_factory=dict[int, tuple[Attribute, str]], init=False)
    """The text of each type seen so far, by identity; the type is kept alive so that its id is not reused."""

    _taken: list[set[str]] = field(default_factory=lambda: [set[str]()], init=False)
    """The names used so far, in each scope."""

    def __post_init__(self) -> None:
        if self.stream is None:
            raise ValueError("XirPrinter needs a stream")
        self._write = self.stream.write

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Write `text`; a newline in it is followed by the indentation."""
        if "\n" not in text:
            self._write(text)
            return
        depth = (self._indent if indent is None else indent) * self.indent_num_spaces
        self._write(text.replace("\n", "\n" + " " * depth))

    # --- Values ----------------------------------------------------------------------------------------------------

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print `%name`. A value is named when it is first printed: by its hint, made unique, or by the next number."""
        name = self._ssa_values.get(value)
        if name is None:
            name = self._ssa_values[value] = self._new_name(value.name_hint)
        self._write(f"%{name}")
        return name

    def _new_name(self, hint: str | None) -> str:
        taken = self._taken[-1]
        if not hint:
            return self._get_new_valid_name_id()
        name = hint
        while name in taken:
            # Counting continues from the last value of this name, so that many values of one name are cheap.
            suffix = self.ssa_names.get(hint, 0)
            self.ssa_names[hint] = suffix + 1
            name = f"{hint}_{suffix}"
        taken.add(name)
        return name

    def enter_scope(self) -> None:
        """Start a new scope of names inside an op isolated from above."""
        super().enter_scope()
        self._taken.append(self._taken[-1].copy())

    def exit_scope(self) -> None:
        """Go back to the names outside."""
        super().exit_scope()
        self._taken.pop()

    # --- Attributes ------------------------------------------------------------------------------------------------

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute or type."""
        if isinstance(attribute, TypeAttribute):
            self._write(self._type_text(attribute))
        elif isinstance(attribute, DenseIntOrFPElementsAttr):
            self._print_dense(attribute)
        else:
            super().print_attribute(attribute)

    def _type_text(self, type: Attribute) -> str:
        if (known := self._types.get(id(type))) is not None:
            return known[1]
        stream = StringIO()
        printer = XirPrinter(stream)
        Printer.print_attribute(printer, type)
        text = stream.getvalue()
        self._types[id(type)] = (type, text)
        return text

    def _print_dense(self, attribute: DenseIntOrFPElementsAttr) -> None:
        length = len(attribute)
        limit = self.elide_elements_above
        if limit is not None and length > limit:
            self._write(f"dense_resource<{ELIDED_KEY}>")
        else:
            self._write("dense<")
            if length:
                self._print_elements(attribute, length)
            self._write(">")
        self._write(" : ")
        self.print_attribute(attribute.type)

    def _print_elements(self, attribute: DenseIntOrFPElementsAttr, length: int) -> None:
        data = attribute.data.data
        element_type = attribute.get_element_type()
        size = len(data) // length
        # Compared as bytes: 0.0 equals -0.0, and a NaN equals nothing.
        if data == data[:size] * length:
            first = element_type.unpack(data[:size], 1)[0]
            attribute._print_one_elem(first, self)  # pyright: ignore[reportPrivateUsage]
        elif length > MAX_WRITTEN_OUT and element_type != i1:
            self._write(f'"0x{data.hex().upper()}"')
        else:
            values = attribute.get_values()
            attribute._print_dense_list(values, attribute.get_shape(), self)  # pyright: ignore[reportPrivateUsage]

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        """Print `{name = attribute, ...}` in the order of the names, as MLIR does, so that equal ops print equally."""
        with self.in_braces():
            self.print_list(sorted(attr_dict.items(), key=lambda item: item[0]), self._print_attr_string)

    def print_float(self, value: float, type: AnyFloat) -> None:
        """Print a float so that it reads back as the same value: short if exact, bits for infinities and NaNs."""
        if not math.isfinite(value):
            self._write(f"0x{type.pack((value,))[::-1].hex().upper()}")
            return
        short = f"{value:.6e}"
        if type.unpack(type.pack((float(short),)), 1)[0] == value:
            self._write(short)
            return
        text = f"{value:.9g}" if type.compile_time_size <= 4 else repr(value)
        mantissa, e, exponent = text.partition("e")
        self._write(f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}")

    # --- Resources -------------------------------------------------------------------------------------------------

    def print_resource_handle(self, dialect: str, handle: str) -> None:
        """Print a resource's key and remember that it was referred to."""
        self._dialect_resources.setdefault(dialect, set()).add(handle)
        self.print_identifier_or_string_literal(handle)

    def print_resources(self, ctx: XirContext, digits_limit: int | None = None) -> None:
        """Print the data of the resources referred to so far that `ctx` has, each at most `digits_limit` long."""
        keys = [
            key
            for key in sorted(self._dialect_resources.get("builtin", ()))
            if key in ctx.blobs
            and (digits_limit is None or len(blob_header()) + 2 * ctx.blobs.nbytes(key) <= digits_limit)
        ]
        if not keys:
            return
        self._write("\n{-#\n  dialect_resources: {\n    builtin: {")
        for index, key in enumerate(keys):
            self._write(",\n      " if index else "\n      ")
            self.print_identifier_or_string_literal(key)
            self._write(f': "{blob_header()}')
            for chunk in ctx.blobs.chunks(key):
                for start in range(0, len(chunk), 1 << 20):
                    self._write(chunk[start : start + (1 << 20)].hex().upper())
            self._write('"')
        self._write("\n    }\n  }\n#-}\n")
