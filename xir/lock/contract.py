"""Contracts for builds: a lock, or bounds, or both."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xir.cost.processors import one_profile
from xir.files import atomic_file
from xir.ir.diagnostics import DiagnosticError
from xir.ir.shown_text import shortened
from xir.lock.causes import Causes
from xir.lock.comparison import Change, Verdict, compared, of_verdict
from xir.lock.errors import BrokenContractError
from xir.lock.facts import Facts, facts_of
from xir.lock.lock_file import Lock, read_lock, text_of
from xir.lock.requirements import Requirement, requirements_of

if TYPE_CHECKING:
    from xir.api import ExecutorchProgram

MOST_TOLD = 5
"""How many facts that are better, or only different, are reported one by one."""


@dataclass(frozen=True)
class Contract:
    """The conditions that `ExecutorchProgram.save` checks before it writes a file.

    Raises ValueError for invalid bounds, DiagnosticError for an invalid lock, and OSError for one that cannot be read.
    """

    lock: str | os.PathLike[str] | None = None
    """The file of the lock. If it does not exist, it is written."""
    require: str = ""
    """Bounds that apply in addition to the lock, as for `xir-aot --require`."""
    update: bool = False
    """Accept all differences, and write the lock anew."""
    cpu: str | None = None
    """The processor to predict times for, named as for `XnnpackPartitioner`; None predicts no times."""
    accuracy: Mapping[str, float] = field(default_factory=dict[str, float])
    """Your own numbers about the program's quality, by name; larger is better."""
    requirements: Sequence[Requirement] = field(init=False, repr=False, default=())
    """The bounds of `require`."""
    held: Lock | None = field(init=False, repr=False, default=None)
    """The existing lock; None if there is none, or if it is damaged and will be replaced."""

    def __post_init__(self) -> None:
        if self.require.strip():
            object.__setattr__(self, "requirements", tuple(requirements_of(self.require)))
        if self.cpu is not None:
            one_profile(self.cpu)
        if self.lock is not None and Path(self.lock).exists():
            object.__setattr__(self, "held", self._read(self.lock))

    def _read(self, path: str | os.PathLike[str]) -> Lock | None:
        try:
            return read_lock(path)
        except DiagnosticError:
            if not self.update:
                raise
            return None

    def with_accuracy(self, accuracy: Mapping[str, float]) -> Contract:
        """The same contract, with these numbers as `accuracy`."""
        return replace(self, accuracy=accuracy)

    def hold(self, program: ExecutorchProgram, *, weights_apart: bool = False) -> Kept:
        """Compare a program with the lock and the bounds, and write nothing.

        Raises BrokenContractError if it is worse than the lock, or out of bounds.
        """
        profile = None if self.cpu is None else one_profile(self.cpu)
        facts = facts_of(program, profile, self.accuracy, weights_apart=weights_apart)
        worse: list[Change] = []
        broken = [
            shortened(f"--require: {wrong}") for each in self.requirements if (wrong := each.unmet(facts)) is not None
        ]
        changes: list[Change] = []
        if self.held is not None:
            causes = Causes(self.held, facts, [*program.edge_remarks, *program.remarks])
            changes = compared(self.held, facts, causes)
            if not self.update:
                worse = of_verdict(changes, Verdict.WORSE)
                broken += [f"{self.held.path}:{change.line}: error: {change}" for change in worse]
        if broken:
            raise BrokenContractError(broken, is_worse=bool(worse))
        return Kept(self, facts, changes)


@dataclass(frozen=True)
class Kept:
    """A build that keeps its contract."""

    contract: Contract
    facts: Facts
    changes: Sequence[Change]

    @property
    def lock_text(self) -> str | None:
        """The new text of the lock's file; None if the file stays as it is."""
        contract = self.contract
        if contract.lock is None or (contract.held is not None and not (contract.update and self.changes)):
            return None
        return text_of(self.facts)

    @contextmanager
    def written(self) -> Generator[None]:
        """Write the lock, if it is new or to be updated, when the block ends without an error."""
        text, path = self.lock_text, self.contract.lock
        if text is None or path is None:
            yield
            return
        with atomic_file(os.fspath(path)) as file:
            file.write(text.encode("utf-8"))
            yield

    def lines(self) -> list[str]:
        """The lines to report: that the lock is new, or the differences from it and how to accept them."""
        contract, held = self.contract, self.contract.held
        if contract.lock is None:
            return []
        path = os.fspath(contract.lock)
        if held is None:
            return [f"{path}: {len(self.facts.values)} facts written; later builds are held to them"]
        if contract.update:
            done = "written anew" if self.changes else "as it was"
            return [f"{path}:{change.line}: {change}" for change in self.changes] + [f"{path}: {done}"]
        said: list[str] = []
        for verdict, words in ((Verdict.BETTER, "better than the lock"), (Verdict.OTHER, "no worse than the lock")):
            changes = of_verdict(self.changes, verdict)
            said += [f"{path}:{change.line}: {words}: {change}" for change in changes[:MOST_TOLD]]
            if len(changes) > MOST_TOLD:
                said.append(f"{path}: {words}: {len(changes) - MOST_TOLD} more facts")
        return [*said, f"{path}: --update-lock keeps it"] if said else [f"{path}: as the lock says"]
