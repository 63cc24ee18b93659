"""Mistakes made by a machine: what they change, and that the passes' sources have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.mutation import fits, mutations

ROOT = Path(__file__).parents[3]

SOURCE = """
LIMIT = 3


def choose(values: list[int], low: int = 0) -> int:
    if not values:
        return 0
    total = sum(each for each in values[1:5] if each > low and each != 7)
    note(total + 1)
    values.append(total)
    return max(total - 2, low)
"""


def changed(kind: str) -> list[str]:
    """The lines that changes of this kind leave, without what was there before."""
    before = SOURCE.splitlines()
    found: list[str] = []
    for each in mutations(SOURCE):
        if each.kind == kind:
            found += [line.strip() for line in each.applied(SOURCE).splitlines() if line not in before]
    return found


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("guard", "if (False):"),
        ("sign", "if (values):"),
        ("comparison", "total = sum(each for each in values[1:5] if (each >= low) and each != 7)"),
        ("condition", "total = sum(each for each in values[1:5] if ((each > low)))"),
        ("filter", "total = sum(each for each in values[1:5] if (True))"),
        ("bound", "total = sum(each for each in values[1:] if each > low and each != 7)"),
        ("statement", "pass"),
        ("function", "return (min(total - 2, low))"),
        ("operator", "return max((total + 2), low)"),
        ("operand", "return max((total), low)"),
        ("order", "return max((2 - total), low)"),
        ("constant", "return max(total - 3, low)"),
    ],
)
def test_what_is_changed(kind: str, line: str) -> None:
    assert line in changed(kind)


def test_what_stays() -> None:
    texts = [each.applied(SOURCE) for each in mutations(SOURCE)]
    assert texts
    assert all("LIMIT = 3\n" in text for text in texts)
    assert all("low: int = 0)" in text for text in texts)
    assert all("note(total + 1)" in text for text in texts)


def test_changed_code_tells_when_it_works() -> None:
    (mutation,) = (each for each in mutations(SOURCE) if each.kind == "function")
    seen: list[bool] = []
    names: dict[str, object] = {"works": lambda: seen.append(True), "note": lambda _: None}
    exec(mutation.applied(SOURCE, "works()"), names)
    choose = names["choose"]
    assert callable(choose)
    assert choose([1, 2, 3]) == 0
    assert seen == [True]


def test_what_is_no_python_is_told() -> None:
    (bound, *_) = (each for each in mutations(SOURCE) if each.kind == "bound")
    assert fits(bound, SOURCE, "works()")
    assert not fits(replace(bound, after="1::5:"), SOURCE, "works()")


def test_each_folder_of_passes_has_some() -> None:
    for folder in ("edge", "xnnpack", "pte", "general", "delegate"):
        files = sorted((ROOT / "transforms" / folder).rglob("*.py"))
        assert sum(len(mutations(path.read_text(encoding="utf-8"))) for path in files) > 50, folder
