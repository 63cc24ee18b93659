"""Recording what a program looks like after each pass, while pass managers run."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from xir.explore.document import Stage, stage_of
from xir.explore.snapshot import full_text
from xir.ir.diagnostics import Diagnostic
from xir.ir.passes import PassManager, XirPass


@dataclass
class Recorder:
    """The stages of one program: what it was at first, and after each pass that changed it.

    It may be attached to several managers, one behind the other.
    """

    stages: list[Stage] = field(default_factory=list[Stage])
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """What passes had to say, errors among it."""
    _text: str = ""
    """Of the last stage, with locations."""
    _first: XirPass | None = None

    def attach(self, manager: PassManager) -> None:
        """Record what the manager's passes do."""
        manager.before_pass.append(self._before)
        manager.after_pass.append(self._after)
        manager.failed_pass.append(self._failed)

    def say(self, diagnostic: Diagnostic) -> bool:
        """A handler of diagnostics: takes note, and passes them on."""
        self.remarks.append(diagnostic)
        return False

    def record(self, module: ModuleOp, name: str, summary: str = "") -> None:
        """Record the module as a stage of that name, or the name alone if it is as it was."""
        text = full_text(module)
        if self.stages and text == self._text:
            self.stages[-1].idle.append(name)
            return
        self._text = text
        self.stages.append(stage_of(module, name, summary))

    def _before(self, each: XirPass, module: ModuleOp) -> None:
        if not self.stages:
            self._first = each
            self.record(module, "input", "the program as it came")
        elif each is self._first and full_text(module) != self._text:
            # The pass manager begins again when a backend has refused what a pass gave it.
            self.record(module, "taken back", "a backend refused an op: the passes run again without it")

    def _after(self, each: XirPass, module: ModuleOp) -> None:
        self.record(module, str(each), (type(each).__doc__ or "").partition("\n")[0])

    def _failed(self, each: XirPass, module: ModuleOp) -> None:
        name = f"{each} (failed)"
        try:
            self.record(module, name, (type(each).__doc__ or "").partition("\n")[0])
        except Exception:
            # What a pass leaves in the middle of its work may be nothing that can be shown. The pass's own error tells.
            if self.stages:
                self.stages[-1].idle.append(name)
