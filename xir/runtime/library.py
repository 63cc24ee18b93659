"""Where the running Python has XNNPACK."""

from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path


@cache
def xnnpack_paths() -> list[str]:
    """Directories in which XNNPACK may be: xir's wheel has one, and the installed `executorch` wheel keeps its own.

    Neither package is imported: only its XNNPACK is used.
    """
    return _folders("xir", "lib/xnnpack") + _folders("executorch", "lib")


def _folders(package: str, folder: str) -> list[str]:
    """A folder of a package wherever the package is; empty where it is not installed."""
    spec = PathFinder.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [str(Path(location) / folder) for location in spec.submodule_search_locations]
