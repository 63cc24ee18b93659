"""Diagnostics of a model as tools print them."""

from xir.ir.diagnostics import Diagnostic
from xir.ir.location import has_line


def located(diagnostic: Diagnostic, model: str) -> str:
    """The text of a diagnostic; one that says no line of a file begins with the model that it is about."""
    return str(diagnostic) if has_line(diagnostic.location) else f"{model}: {diagnostic}"
