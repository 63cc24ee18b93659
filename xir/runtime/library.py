"""Where the running Python has XNNPACK."""

from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path


@cache
def xnnpack_paths() -> list[str]:
    """Directories in which the installed `executorch` wheel keeps its libraries; empty where it is not installed.

    The package itself is not imported: only its XNNPACK is used.
    """
    spec = PathFinder.find_spec("executorch")
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [str(Path(location) / "lib") for location in spec.submodule_search_locations]
