"""What a tool says where a package is not installed: everything that the step needs, not the first that is missing."""

from __future__ import annotations

import os
from pathlib import Path

IMPORTER = ("torch", "torchvision", "torchao")
"""What the extra `importer` brings. Another module that is missing is a bug."""


def missing_package(error: ModuleNotFoundError, what: str, *extras: str) -> str:
    """`what` needs these extras. Raises the error again if they do not bring the package."""
    if error.name == "xir.runtime._native":
        return str(error)
    package = (error.name or "").partition(".")[0]
    if package not in IMPORTER:
        raise error
    return f"'{package}' is not installed: {what} needs xir[{','.join(extras or ('importer',))}]{_and_xnnpack()}"


def _and_xnnpack() -> str:
    """What else is needed where XNNPACK is not there, which xir's wheels hold and builds from its sources lack."""
    try:
        from xir.runtime.library import xnnpack_paths
    except ModuleNotFoundError as error:
        return f"; {error}"
    if os.environ.get("XIR_XNNPACK_LIBRARY") or any(Path(path).is_dir() for path in xnnpack_paths()):
        return ""
    return " and XNNPACK (pip install --no-deps executorch==1.5.1)"
