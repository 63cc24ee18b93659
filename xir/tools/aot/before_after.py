"""What a file that exists was, and what it has become, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xir.cost.processors import processors
from xir.cost.profile import threads_text
from xir.files import size_text
from xir.lock.facts import Facts, program_facts
from xir.lock.lock_file import number_of
from xir.lock.predicted import knowing_most, predicted_microseconds

if TYPE_CHECKING:
    from xir.api import ExecutorchProgram
    from xir.runtime.same_results import Sameness


def before_and_after(
    programs: Sequence[ExecutorchProgram], sizes: Sequence[int], found: Sameness, cpu: str, threads: int
) -> list[str]:
    """The lines of the table, of both programs and their files' bytes; 0 threads if nobody said how many."""
    facts = [program_facts(program, None) for program in programs]
    rows = [
        ("", "before", "after"),
        ("bytes", *map(size_text, sizes)),
        ("delegates", *(f"{_total(each, 'delegates'):.0f}" for each in facts)),
        ("kernel calls outside", *(f"{_total(each, 'outside'):.0f}" for each in facts)),
        ("arenas", *(size_text(int(_total(each, "arena"))) for each in facts)),
        ("tensors in a delegate", *(size_text(int(_total(each, "memory"))) for each in facts)),
    ]
    for profile in knowing_most(processors(cpu).profiles, programs):
        times = (predicted_microseconds(program, profile, threads=threads or 1) / 1e6 for program in programs)
        rows.append((f"predicted, {profile.processor}", *map(_time, times)))
    rows.append((f"measured, {threads_text(threads or 1)}", _time(found.before), _time(found.after)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [f"{name:{widths[0]}}  {old:>{widths[1]}}  {new:>{widths[2]}}" for name, old, new in rows]


def _total(facts: Facts, kind: str) -> float:
    """All facts of a kind together."""
    return sum(number_of(kind, value) or 0 for key, value in facts.values.items() if key[0] == kind)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"
