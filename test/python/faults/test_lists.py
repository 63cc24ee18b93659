"""The lists of planted miscompiles and holes fit the sources: `make planted` and `make planted-holes` run them."""

from __future__ import annotations

from bench.planted import ROOT, planted_faults
from bench.planted_holes import FUZZERS, planted_holes
from bench.planted_programs import PROGRAMS, text_of
from xir.transforms.registry import PASSES

KEEP_ALL = {
    "check-bit-exact",
    "check-delegates",
    "check-quantization",
    "check-xnnpack",
    "drop-dead-resources",
    "mark-delegates",
}
"""Passes that check, count or mark, and leave what is computed alone."""

NOT_EVALUATED = {"fuse-prefix-attention", "raise-from-pte"}
"""Passes on sizes that only the run time knows, which the checker gives up, or on files; tests of whole programs hold
them."""


def test_there_is_what_each_fault_changes() -> None:
    programs = (ROOT / "bench" / "planted_programs.py").read_text(encoding="utf-8")
    for fault in planted_faults():
        assert fault.before in (ROOT / fault.file).read_text(encoding="utf-8"), fault
        assert fault.before != fault.after, fault
        lines = programs if fault.program in PROGRAMS else text_of(fault.program)
        assert all(each in lines for each in fault.at), fault


def test_there_are_faults_in_all_passes() -> None:
    faults = planted_faults()
    assert len(faults) >= 60
    assert set(PASSES) - {fault.culprit for fault in faults} - KEEP_ALL - NOT_EVALUATED == set()


def test_there_is_what_each_hole_changes() -> None:
    holes = planted_holes()
    assert len({hole.name for hole in holes}) == len(holes)
    for hole in holes:
        assert hole.fuzzer in FUZZERS, hole
        for file, text in hole.sources().items():
            assert text != (ROOT / file).read_text(encoding="utf-8"), hole
