"""What passes did, in numbers: `--mlir-pass-statistics`, in the form of MLIR's report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.ir.passes import PassManager, XirPass

Display = Literal["list", "pipeline"]

DESCRIPTIONS = {
    "num-rewrites": "Number of rewrites",
    "num-ops-before": "Number of operations before the pass",
    "num-ops-after": "Number of operations after it",
}


@dataclass
class PassStatistics:
    """Counts the rewrites of passes, and the operations around them."""

    passes: list[tuple[str, dict[str, int]]] = field(default_factory=list[tuple[str, dict[str, int]]])
    """The name of each pass that ran and its numbers, in order."""

    def install(self, manager: PassManager) -> None:
        """Watch a manager's passes."""
        if manager.rewrite_counters is None:
            manager.rewrite_counters = {}
        counters = manager.rewrite_counters

        def rewrites(each: XirPass) -> int:
            return counter.count if (counter := counters.get(each.name)) is not None else 0

        def before(each: XirPass, module: ModuleOp) -> None:
            self.passes.append((each.name, {"num-rewrites": -rewrites(each), "num-ops-before": _size(module)}))

        def after(each: XirPass, module: ModuleOp) -> None:
            numbers = self.passes[-1][1]
            numbers["num-rewrites"] += rewrites(each)
            numbers["num-ops-after"] = _size(module)

        manager.before_pass.append(before)
        manager.after_pass.append(after)
        manager.restarted.append(self.passes.clear)

    def write(self, stream: IO[str], display: Display) -> None:
        """Write the report: of each pass as it ran, or, as a list, of all runs of a pass together, by name."""
        rule = "===" + "-" * 73 + "==="
        stream.write(f"{rule}\n{'... Pass statistics report ...':^79}\n{rule}\n")
        finished = [(name, numbers) for name, numbers in self.passes if "num-ops-after" in numbers]
        if display == "list":
            _write(stream, sorted(_together(finished).items()), indent=0)
        else:
            stream.write("'builtin.module' Pipeline\n")
            _write(stream, finished, indent=2)


def _size(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())


def _together(passes: Iterable[tuple[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    """The numbers of equal passes, added."""
    sums: dict[str, dict[str, int]] = {}
    for name, numbers in passes:
        total = sums.setdefault(name, dict.fromkeys(numbers, 0))
        for key, number in numbers.items():
            total[key] += number
    return sums


def _write(stream: IO[str], passes: Iterable[tuple[str, dict[str, int]]], indent: int) -> None:
    for name, numbers in passes:
        stream.write(f"{' ' * indent}{name}\n")
        for key, number in numbers.items():
            stream.write(f"{' ' * indent}  (S) {number:4} {key:<14} - {DESCRIPTIONS[key]}\n")
