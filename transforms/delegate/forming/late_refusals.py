"""Running a pipeline again without what a backend refuses late: the driver of everything that delegates.

A backend says of each op whether it takes it before other passes fuse ops and rearrange them, so it may refuse what
these make of them. The pass that finds this raises `LateRefusalError`, and `run_passes` begins again from the module as
it came, where the pass that delegates leaves the refused ops alone. Pass managers know nothing of this.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from xir.ir.cloning import clone_module
from xir.ir.collection import paused_collection
from xir.ir.diagnostics import Diagnostic, DiagnosticError, Severity
from xir.ir.location import Locatable
from xir.ir.passes import PassManager, XirPass


class LateRefusalError(DiagnosticError):
    """A backend refuses delegated ops after other passes have changed them."""

    def __init__(self, where: Locatable, message: str, refused: Mapping[int, str], backend: str):
        super().__init__(where, message)
        self.refused = refused
        """The origins of what is refused, and why; empty where they are unknown."""
        self.backend = backend
        """The backend's name."""


class DelegatingPass(XirPass):
    """A pass that decides which ops a backend gets, and numbers them so that they can be taken back."""

    @abstractmethod
    def take_back(self, module: ModuleOp, refused: Mapping[int, str], backend: str, by: str) -> None:
        """Mark ops of a module that the pass is about to see, so that the backend does not get them.

        `refused` says by the ops' origins why, and `by` is the pass that found it.
        """


class RefusingPass(XirPass):
    """A pass that may raise `LateRefusalError`; the pipeline tracks origins for it."""

    uses_origins: ClassVar[bool] = True


def run_passes(manager: PassManager, module: ModuleOp, *, original: ModuleOp | None = None) -> None:
    """Run a manager's passes on `module` in place; what a backend refuses late is taken back.

    Passes then run again from the module as it came, and the one that delegated the refused node leaves the ops alone
    that it was made of. Each time it is one op more, or an error. What passes say is what those of the last run said.

    `original` is a module equal to `module` which stays as it is; where the caller has one it spares a copy.

    It raises what `PassManager.run` raises.
    """
    passes = list(manager.passes)
    delegating = next((each for each in passes if isinstance(each, DelegatingPass)), None)
    behind = [] if delegating is None else passes[passes.index(delegating) + 1 :]
    if delegating is None or not any(isinstance(each, RefusingPass) for each in behind):
        manager.run(module)
        return
    with paused_collection():
        driver = _Driver(manager, delegating, clone_module(module) if original is None else original)
    with manager.paused_collection(), driver.in_charge():
        while not driver.run_once(module):
            driver.restore(module)


class _Driver:
    """What it takes to run a pipeline once more, without the ops that a backend has refused late."""

    def __init__(self, manager: PassManager, delegating: DelegatingPass, original: ModuleOp):
        self._manager = manager
        self._ctx = manager.ctx
        self._delegating = delegating
        self._original = original
        self._blobs = manager.ctx.blobs.clone()
        self._counters = manager.rewrite_counters or {}
        self._counts = {name: counter.count for name, counter in self._counters.items()}
        self._refused: list[tuple[Mapping[int, str], str, str]] = []
        self._said: list[Diagnostic] = []
        self._failed: list[XirPass] = []

    @contextmanager
    def in_charge(self) -> Generator[None]:
        """Hold what passes say until the last run, for what a run said that is given up is of no interest, and tell of
        failures only those that are none of a backend."""
        manager, hooks = self._manager, self._manager.failed_pass
        manager.failed_pass = [self._note_failure]
        manager.before_pass.insert(0, self._take_back)
        self._ctx.diagnostics.handlers.append(self._hold)
        try:
            yield
        except Exception:
            for each in self._failed:
                for hook in hooks:
                    hook(each, self._module)
            raise
        finally:
            self._ctx.diagnostics.handlers.remove(self._hold)
            for diagnostic in self._said:
                self._ctx.diagnostics.emit(diagnostic)
            manager.before_pass.remove(self._take_back)
            manager.failed_pass = hooks

    def run_once(self, module: ModuleOp) -> bool:
        """Run the passes; False if they are to run again without ops that were refused late."""
        self._failed.clear()
        self._module = module
        try:
            self._manager.run(module)
        except LateRefusalError as error:
            if not self._is_news(error):
                raise
            self._refused.append((error.refused, error.backend, self._failed[-1].name))
            return False
        return True

    def restore(self, module: ModuleOp) -> None:
        """Give a module its content back, the context its blobs, and counters of rewrites their counts."""
        for op in reversed(list(module.body.block.ops)):
            op.detach()
            op.erase(safe_erase=False)
        with paused_collection():
            copy = clone_module(self._original)
            for op in list(copy.body.block.ops):
                op.detach()
                module.body.block.add_op(op)
        self._ctx.blobs.restore(self._blobs)
        self._ctx.analyses.invalidate()
        for name, counter in self._counters.items():
            counter.count = self._counts.get(name, 0)
        self._said.clear()
        for hook in self._manager.restarted:
            hook()

    def _is_news(self, error: LateRefusalError) -> bool:
        """Whether another run without what is refused could help."""
        known = {(backend, origin) for refused, backend, _ in self._refused for origin in refused}
        return any((error.backend, origin) not in known for origin in error.refused)

    def _note_failure(self, each: XirPass, module: ModuleOp) -> None:
        self._failed.append(each)

    def _take_back(self, each: XirPass, module: ModuleOp) -> None:
        """Mark what was refused, if it is the turn of the pass that would delegate it again."""
        if each is self._delegating:
            for refused, backend, by in self._refused:
                self._delegating.take_back(module, refused, backend, by)

    def _hold(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.severity is Severity.ERROR:
            return False
        self._said.append(diagnostic)
        return True
