"""Whether a module's text reads back as the same module."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import file_location
from xir.ir.parser import parse_module
from xir.ir.printer import PrintOptions, module_to_text

FORMS = (PrintOptions(debuginfo=True), PrintOptions(generic=True, debuginfo=True))


def check_roundtrip(ctx: XirContext, module: ModuleOp) -> None:
    """Print the module in custom and generic form, read it, and print it again.

    DiagnosticError at the first line that differs, or where the text does not parse.
    """
    for options in FORMS:
        form = "generic" if options.generic else "custom"
        text = module_to_text(module, ctx, options)
        again = module_to_text(parse_module(ctx, text, f"<{form} form>"), ctx, options)
        if again == text:
            continue
        lines = zip(text.splitlines(), again.splitlines(), strict=False)
        line, (was, now) = next(
            ((number, pair) for number, pair in enumerate(lines, 1) if pair[0] != pair[1]), (1, ("", ""))
        )
        raise DiagnosticError(
            file_location(f"<{form} form>", line),
            f"the text does not read back as it is: '{was.strip()}' has become '{now.strip()}'",
        )
