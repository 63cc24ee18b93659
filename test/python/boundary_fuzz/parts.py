"""Cases with another extension module, or another text of a source, taken before xir's is imported."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from reference.cases import Failed


@dataclass(frozen=True)
class CheckWith:
    """Runs cases in a process whose first case it is to import xir's runtime."""

    native: str | None
    """A file."""
    planted: str | None
    """A source of xir, and the file to take for it, with `=` between them."""

    def __call__(self, numbers: range) -> list[Failed]:
        """Run cases; Failure where one shows something wrong."""
        if "boundary_fuzz.cases" not in sys.modules:
            self._replace_parts()
            import torch

            torch.set_num_threads(1)
            torch.special.i0e(torch.ones(2))
        from boundary_fuzz.cases import check

        for number in numbers:
            check(number)
        return []

    def _replace_parts(self) -> None:
        if self.native is not None:
            spec = importlib.util.spec_from_file_location("xir.runtime._native", self.native)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[spec.name] = module
        if self.planted is not None:
            from bench.planted import Planter

            file, _, text = self.planted.partition("=")
            sys.meta_path.insert(0, Planter(file, Path(text).read_text(encoding="utf-8")))
