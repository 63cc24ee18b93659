"""Where two texts of a program differ, whatever numbers their values have.

A pass that takes an op away shifts the numbers of all values behind it. Lines are therefore compared with values told
by the ops that make them, and aligned. Lines that are aligned make values that are the same; so the operands of a line
are the same if the lines that make them are, and a line that reads another value than before has changed after all.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_VALUE = re.compile(r"%[\w.$-]+")
_RESULTS = re.compile(r"\s*(%[\w.$-]+(?:, %[\w.$-]+)*) = ")
_ARGUMENT = re.compile(r"(%[\w.$-]+): ")
_OP = re.compile(r'"?([\w.]+)')

Definition = tuple[int, int]
"""The line that makes a value, and the place among the values that it makes."""


@dataclass
class _Line:
    key: str
    """The line with values told by what makes them."""
    bare: str
    """The line without the names of values."""
    uses: list[Definition | None] = field(default_factory=list["Definition | None"])
    """What makes the values that it reads; None where nothing above does."""


def difference(before: Sequence[str], after: Sequence[str]) -> list[list[int]]:
    """Where two texts differ: the lines from `a` to `b` of the first became those from `c` to `d` of the second."""
    old, new = _read(before), _read(after)
    codes = list(_alignment(old, new))
    aligned = {a + n: c + n for is_equal, a, b, c, _ in codes if is_equal for n in range(b - a)}
    back = {new_line: old_line for old_line, new_line in aligned.items()}
    changed: list[list[int]] = []
    for is_equal, a, b, c, d in codes:
        if not is_equal:
            _add(changed, a, b, c, d)
            continue
        for n in range(b - a):
            if not _reads_the_same(old[a + n], new[c + n], aligned, back):
                _add(changed, a + n, a + n + 1, c + n, c + n + 1)
    return changed


def _alignment(old: Sequence[_Line], new: Sequence[_Line]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Ranges of lines that are alike, and of those between: the key decides, and where it does not, the bare text."""
    for kind, a, b, c, d in _codes([line.key for line in old], [line.key for line in new]):
        if kind != "replace":
            yield kind == "equal", a, b, c, d
            continue
        for inner, i, j, k, m in _codes([line.bare for line in old[a:b]], [line.bare for line in new[c:d]]):
            yield inner == "equal", a + i, a + j, c + k, c + m


def _codes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    return list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def _add(changed: list[list[int]], a: int, b: int, c: int, d: int) -> None:
    """Add a range, to the last one if it begins where that ends."""
    if changed and changed[-1][1] == a and changed[-1][3] == c:
        changed[-1][1], changed[-1][3] = b, d
    else:
        changed.append([a, b, c, d])


def _reads_the_same(old: _Line, new: _Line, aligned: dict[int, int], back: dict[int, int]) -> bool:
    """Whether two lines with one key read the same values; new values in place of some that are gone are."""
    for before, after in zip(old.uses, new.uses, strict=True):
        if before is None or after is None:
            if before is not after:
                return False
        elif (
            before[1] != after[1]
            or aligned.get(before[0], after[0]) != after[0]
            or back.get(after[0], before[0]) != before[0]
        ):
            return False
    return True


def _read(lines: Sequence[str]) -> list[_Line]:
    """The lines with their keys, following which line makes which value."""
    made: dict[str, Definition] = {}
    ops: list[str] = []
    read: list[_Line] = []
    for number, text in enumerate(lines):
        results, rest = _RESULTS.match(text), text
        names: list[str] = []
        if results is not None:
            names, rest = results[1].split(", "), text[results.end() :]
        elif _is_header(text):
            names, rest = _ARGUMENT.findall(text), _ARGUMENT.sub("%: ", text)
        head = "" if results is None else text[: results.start(1)] + "%" * len(names) + " = "
        op = _OP.match(rest.lstrip())
        ops.append("" if op is None else op[1])
        line = _Line("", head + _VALUE.sub("%", rest))

        def told(match: re.Match[str], line: _Line = line) -> str:
            definition = made.get(match[0])
            line.uses.append(definition)
            return match[0] if definition is None else f"%{ops[definition[0]]}"

        line.key = head + _VALUE.sub(told, rest)
        read.append(line)
        made.update({name: (number, place) for place, name in enumerate(names)})
    return read


def _is_header(text: str) -> bool:
    """Whether a line begins a function or a block, whose arguments it names."""
    begin = text.lstrip()
    return begin.startswith(("^", "func.func ", "pte."))
