"""Crash reproducers: IR and pipeline in one file, in the form of MLIR, that `xir-opt --run-reproducer` runs again.

```mlir
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(fuse-conv-relu)",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xir.files import atomic_file
from xir.ir.context import XirContext
from xir.ir.passes import PassManager, XirPass
from xir.ir.printer import PrintOptions, module_to_text
from xir.ir.provenance import drop_origins

KEY = "mlir_reproducer"
"""Of the external resources that a reproducer is."""


def reproducer_text(module: ModuleOp, ctx: XirContext, each: XirPass, verify_each: bool) -> str:
    """A module with all its constants and locations, and the pass to run on it."""
    pipeline = f"builtin.module({each})".replace("\\", "\\\\").replace('"', '\\"')
    text = module_to_text(module, ctx, PrintOptions(resources=True, debuginfo=True))
    return f"""{text}
{{-#
  external_resources: {{
    {KEY}: {{
      pipeline: "{pipeline}",
      disable_threading: true,
      verify_each: {str(verify_each).lower()}
    }}
  }}
#-}}
"""


@dataclass
class CrashReproducer:
    """Writes a file when a pass fails: the module that the pass was given, and the pass.

    `mlir-opt` writes the module before the first pass and the whole pipeline, unless it is asked for a local one; this
    is always local.
    """

    path: Path
    written: bool = False
    _before: list[ModuleOp] = field(default_factory=list[ModuleOp])

    def install(self, manager: PassManager) -> None:
        """Watch the passes of a manager. Each module is copied before its pass, but for the constants."""

        def keep(each: XirPass, module: ModuleOp) -> None:
            self._before[:] = [module.clone()]

        def write(each: XirPass, module: ModuleOp) -> None:
            (before,) = self._before
            drop_origins(before)
            text = reproducer_text(before, manager.ctx, each, manager.verify_each)
            with atomic_file(self.path) as file:
                file.write(text.encode("utf-8"))
            self.written = True

        manager.before_pass.insert(0, keep)
        manager.failed_pass.append(write)


def reproducer_pipeline(resources: Mapping[str, Mapping[str, str | bool]]) -> tuple[str, bool] | None:
    """Pipeline and whether to verify, as a reproducer's external resources say; None if there is no reproducer."""
    if KEY not in resources or not isinstance(pipeline := resources[KEY].get("pipeline"), str):
        return None
    return pipeline, resources[KEY].get("verify_each", True) is not False
