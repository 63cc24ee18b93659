"""`.pt2` files: programs saved by `torch.export.save`."""

import os
import zipfile
from pathlib import Path

import torch
from torch.export import ExportedProgram
from xdsl.dialects.builtin import ModuleOp

from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import file_location

from .importer import import_exported_program

TORCHAO = ("torchao", "quantized_decomposed")
"""The namespaces of operators that torchao registers when it is imported."""


def load_pt2(path: str | os.PathLike[str]) -> ExportedProgram:
    """Read a `.pt2` file. DiagnosticError if it is not there, is none, or this torch cannot read it."""
    path = Path(path)
    where = file_location(str(path), 1)
    if not path.is_file():
        raise DiagnosticError(where, "no such file")
    if not zipfile.is_zipfile(path):
        raise DiagnosticError(where, "not a .pt2 file: write one with torch.export.save(program, path)")
    try:
        _register_operators(path)
        return torch.export.load(path)
    except Exception as e:  # torch raises anything from KeyError to RuntimeError on a malformed archive
        reason = str(e).strip().split("\n")[0] or type(e).__name__
        raise DiagnosticError(where, f"torch {torch.__version__} cannot load this .pt2 file: {reason}") from e


def _register_operators(path: Path) -> None:
    """Import torchao if the program calls operators that it registers, which takes seconds."""
    with zipfile.ZipFile(path) as archive:
        graphs = [archive.read(name) for name in archive.namelist() if name.endswith(".json")]
    if any(f"torch.ops.{namespace}.".encode() in graph for graph in graphs for namespace in TORCHAO):
        from . import torchao_operators  # pyright: ignore[reportUnusedImport]  # noqa: F401


def import_pt2(path: str | os.PathLike[str], ctx: XirContext) -> ModuleOp:
    """Import the program of a `.pt2` file; see `import_exported_program`."""
    return import_exported_program(load_pt2(path), ctx)
