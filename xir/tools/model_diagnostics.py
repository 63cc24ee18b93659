"""Diagnostics of a model as tools print them."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

from xir.ir.diagnostics import AlreadyReportedError, Diagnostic, DiagnosticError, WrongStageError
from xir.ir.location import has_line


def located(diagnostic: Diagnostic, model: str) -> str:
    """The text of a diagnostic; one that says no line of a file begins with the model that it is about."""
    return str(diagnostic) if has_line(diagnostic.location) else f"{model}: {diagnostic}"


@contextmanager
def about(model: str) -> Generator[None]:
    """Print the diagnostic that ends what is done inside with the model. AlreadyReportedError takes its place."""
    try:
        yield
    except WrongStageError:
        raise
    except DiagnosticError as error:
        sys.stderr.write(f"{located(error.diagnostic, model)}\n")
        raise AlreadyReportedError from error
