"""A log of what is done to modules, in order: `--log-actions-to`, with the tags of MLIR's actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from xir.ir.location import format_location
from xir.ir.rewriting import RewriteCounter

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr, ModuleOp

    from xir.ir.passes import PassManager, XirPass


@dataclass
class ActionLog:
    """Writes a line when a pass begins, for each of its rewrites, and when it is done."""

    stream: IO[str]
    """Each line is there before what follows it is done, so that the last one tells of a crash."""

    def install(self, manager: PassManager) -> None:
        """Watch a manager's passes."""
        if manager.rewrite_counters is None:
            manager.rewrite_counters = {}
        counters = manager.rewrite_counters

        def before(each: XirPass, module: ModuleOp) -> None:
            known = counters.get(each.name)
            if not isinstance(known, _LoggedRewrites):
                counters[each.name] = _LoggedRewrites(limit=None if known is None else known.limit, log=self)
            self.write(f"begins action `pass-execution`: `{each}` on `{module.name}`")

        def after(each: XirPass, module: ModuleOp) -> None:
            self.write(f"completed `pass-execution`: `{each.name}`")

        manager.before_pass.append(before)
        manager.after_pass.append(after)

    def write(self, line: str) -> None:
        """Write a line."""
        self.stream.write(f"{line}\n")
        self.stream.flush()


@dataclass
class _LoggedRewrites(RewriteCounter):
    log: ActionLog | None = None

    def add(self, pattern: str, op: str, location: LocationAttr) -> None:
        """Count a rewrite, and log it."""
        super().add(pattern, op, location)
        assert self.log is not None
        self.log.write(f"  action `apply-pattern`: `{pattern}` on `{op}` at {format_location(location)}")
