"""The list of planted miscompiles fits the sources: `make planted` runs it."""

from __future__ import annotations

import pytest

from bench.planted import ROOT, PlantedFault, planted_faults
from bench.planted_programs import PROGRAMS, text_of
from xir.transforms.registry import PASSES

FAULTS = planted_faults()

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


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.culprit}: {fault.after.strip()}"[:60])
def test_there_is_what_a_fault_changes(fault: PlantedFault) -> None:
    assert fault.before in (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.before != fault.after
    if fault.program in PROGRAMS:
        lines = (ROOT / "bench" / "planted_programs.py").read_text(encoding="utf-8")
    else:
        lines = text_of(fault.program)
    assert all(each in lines for each in fault.at)


def test_there_are_faults_in_all_passes() -> None:
    assert len(FAULTS) >= 60
    assert set(PASSES) - {fault.culprit for fault in FAULTS} - KEEP_ALL - NOT_EVALUATED == set()
