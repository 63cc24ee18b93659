"""Cases that are checked a dozen at a time: exporting and compiling a dozen small programs as one takes little longer
than one of them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

CaseT = TypeVar("CaseT")


def dozens(cases: Sequence[CaseT], name_of: Callable[[CaseT], str]) -> list[Any]:
    """Parameters of at most twelve cases each, named for the first and the last."""
    found = [cases[start : start + 12] for start in range(0, len(cases), 12)]
    return [pytest.param(each, id=f"{name_of(each[0])} to {name_of(each[-1])}") for each in found]


def check_together(
    check: Callable[[Sequence[CaseT]], object], cases: Sequence[CaseT], name_of: Callable[[CaseT], str]
) -> None:
    """Check the cases as one program. Where that fails, the message names the case that fails alone."""
    try:
        check(cases)
    except Exception:
        for case in cases:
            try:
                check([case])
            except Exception as error:
                raise AssertionError(f"the case '{name_of(case)}'") from error
        raise
