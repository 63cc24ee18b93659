"""What a build is held to: a lock, or bounds, or both."""

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
from xir.lock.causes import Causes
from xir.lock.comparison import Change, Verdict, compared, of_verdict
from xir.lock.errors import BrokenContractError
from xir.lock.facts import Facts, facts_of
from xir.lock.lock_file import Lock, read_lock, text_of
from xir.lock.requirements import Requirement, requirements_of

if TYPE_CHECKING:
    from xir.api import ExecutorchProgram

MOST_TOLD = 5
"""How many facts that are better, or only different, are told one by one."""


@dataclass(frozen=True)
class Contract:
    """What `ExecutorchProgram.save` holds a program to.

    Raises ValueError for bounds that are none, DiagnosticError for a lock that is none, and OSError for one that cannot
    be read.
    """

    lock: str | os.PathLike[str] | None = None
    """The file of the lock. One that is not there is written."""
    require: str = ""
    """Bounds that hold without a lock, as `xir-aot --require` takes them."""
    update: bool = False
    """Write the lock anew, whatever it says."""
    cpu: str | None = None
    """The one processor that times are predicted for, as `XnnpackPartitioner` takes it; None predicts none."""
    accuracy: Mapping[str, float] = field(default_factory=dict[str, float])
    """What the program is worth, by the number's name; larger is better."""
    requirements: Sequence[Requirement] = field(init=False, repr=False, default=())
    held: Lock | None = field(init=False, repr=False, default=None)
    """The lock as it is now; None if there is none, or if it is written anew whatever it says."""

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
        """The same, for a program that is worth these numbers."""
        return replace(self, accuracy=accuracy)

    def hold(self, program: ExecutorchProgram, *, weights_apart: bool = False) -> Kept:
        """Hold a program to it. BrokenContractError if it is worse."""
        profile = None if self.cpu is None else one_profile(self.cpu)
        facts = facts_of(program, profile, self.accuracy, weights_apart=weights_apart)
        worse: list[Change] = []
        broken = [f"--require: {wrong}" for each in self.requirements if (wrong := each.unmet(facts)) is not None]
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
        """What to write to the lock's file; None if it stays as it is."""
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
        """What there is to tell: that the lock is new, what it says otherwise, and how to keep that."""
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
