"""Printing the module around passes, as `mlir-opt --mlir-print-ir-*` does."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xir.files import atomic_file
from xir.ir.passes import PassManager, XirPass
from xir.ir.printer import PrintOptions, module_to_text

WITH_LOCATIONS = PrintOptions(debuginfo=True)


class _EveryPass:
    def __contains__(self, name: object) -> bool:
        return True


EVERY_PASS: Container[str] = _EveryPass()


@dataclass(frozen=True)
class IrPrinting:
    """When and where modules are printed."""

    before: Container[str] = ()
    """The passes before which the module is printed."""
    after: Container[str] = ()
    """Those after which it is."""
    only_on_change: bool = False
    """After a pass, print only a module that the pass changed; a changed location is a change."""
    only_on_failure: bool = False
    """After a pass, any pass, print only a module that a failed one leaves."""
    tree: Path | None = None
    """Print each module into a file of its own: `<tree>/builtin_module_<symbol>/<number>_<pass>.mlir`, numbered in
    their order; None is standard error."""
    text: PrintOptions = field(default_factory=PrintOptions)

    def install(self, manager: PassManager) -> None:
        """Print around the passes that `manager` runs."""
        hooks = _Hooks(self, manager)
        manager.before_pass.append(hooks.before)
        if self.only_on_failure:
            manager.failed_pass.append(hooks.failed)
        else:
            manager.after_pass.append(hooks.after)


class _Hooks:
    def __init__(self, printing: IrPrinting, manager: PassManager):
        self._printing = printing
        self._ctx = manager.ctx
        self._count = 0
        self._digest = b""

    def before(self, each: XirPass, module: ModuleOp) -> None:
        if each.name in self._printing.before:
            self._print("Before", each, module)
        if self._printing.only_on_change and each.name in self._printing.after:
            self._digest = _digest(module)

    def after(self, each: XirPass, module: ModuleOp) -> None:
        if each.name not in self._printing.after:
            return
        if not self._printing.only_on_change or self._digest != _digest(module):
            self._print("After", each, module)

    def failed(self, each: XirPass, module: ModuleOp) -> None:
        self._print("After", each, module, " Failed")

    def _print(self, when: str, each: XirPass, module: ModuleOp, outcome: str = "") -> None:
        class_name = type(each).__name__.removesuffix("Pass")
        head = f"// -----// IR Dump {when} {class_name}{outcome} ({each.name}) //----- //\n"
        text = f"{head}{module_to_text(module, self._ctx, self._printing.text)}\n"
        if self._printing.tree is None:
            sys.stderr.write(text)
            return
        name = "no-symbol-name" if module.sym_name is None else module.sym_name.data
        folder = self._printing.tree / f"builtin_module_{name}"
        folder.mkdir(parents=True, exist_ok=True)
        self._count += 1
        with atomic_file(folder / f"{self._count - 1}_{each.name}.mlir") as file:
            file.write(text.encode())


def _digest(module: ModuleOp) -> bytes:
    return hashlib.sha256(module_to_text(module, None, WITH_LOCATIONS).encode()).digest()
