"""torch's exported programs as edge modules. This package imports torch; nothing but the API and the tools needs it."""

from .importer import import_exported_program
from .pt2 import import_pt2, load_pt2

__all__ = ["import_exported_program", "import_pt2", "load_pt2"]
