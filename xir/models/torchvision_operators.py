"""`import torchvision`, also where its compiled operators do not load."""

import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

DECLARED: list[Any] = []
"""A library's declarations live as long as the object does."""


class DeclaredOnImport(MetaPathFinder):
    """Declares what torchvision's compiled library would, when torchvision is about to be imported.

    Beside a CPU build of torch its wheel cannot load that library, and then fails on import because two operators that
    it registers a meta function for do not exist. Most models call neither, so that declaring them is enough.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """None: the next finder finds the module."""
        if fullname == "torchvision":
            sys.meta_path.remove(self)
            declare_operators()
        return None


def make_importable() -> None:
    """Have `import torchvision` work from now on; costs nothing until then, and nothing where it is not installed."""
    if "torchvision" not in sys.modules and not any(isinstance(each, DeclaredOnImport) for each in sys.meta_path):
        sys.meta_path.insert(0, DeclaredOnImport())


def declare_operators() -> None:
    """Declare what torchvision needs of its compiled library, if that does not load."""
    import torch

    found = importlib.machinery.PathFinder.find_spec("torchvision")
    if found is None or DECLARED:
        return
    for folder in found.submodule_search_locations or ():
        for path in Path(folder).glob("_C*.so"):
            try:
                torch.ops.load_library(path)
            except OSError:
                continue
            return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    DECLARED.append(library)
