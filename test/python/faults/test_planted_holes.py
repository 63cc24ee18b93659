"""The list of planted holes fits the sources: `make planted-holes` runs it."""

from __future__ import annotations

import pytest

from bench.planted_holes import FUZZERS, ROOT, Hole, planted_holes

HOLES = planted_holes()


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: hole.name)
def test_there_is_what_a_hole_changes(hole: Hole) -> None:
    assert hole.fuzzer in FUZZERS
    for file, text in hole.sources().items():
        assert text != (ROOT / file).read_text(encoding="utf-8")


def test_each_hole_has_a_name() -> None:
    assert len({hole.name for hole in HOLES}) == len(HOLES)
