"""Each pass is proved, and what is off by one in it disproved, or it has a reason why it is tested alone."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from proofs.proof import FAULTY_PASSES
from xir.transforms.registry import PASSES

HERE = Path(__file__)


def test_passes_that_say_so_are_proved() -> None:
    """A mistake is planted in each (`disproves`)."""
    for path in HERE.parent.glob("test_*.py"):
        if path != HERE:
            import_module(f"proofs.{path.stem}")
    assert {name for name, load in PASSES.items() if load().proved} == FAULTY_PASSES


TESTED_ALONE = {
    "rewrites no computation": (
        "check-bit-exact check-delegates check-quantization check-xnnpack drop-dead-resources form-delegates"
        " mark-delegates plan-memory separate-packed-constants"
    ),
    "goes from one IR to another by rules, each of which is tested": (
        "decompose-for-kernels legalize-to-xnnpack lower-to-pte partition-xnnpack raise-from-pte"
    ),
    "sorts rows by what a router computes, of whose permutations a formula would have a case each": "densify-experts",
}
"""Why passes are tested and not proved."""


def test_every_pass_is_proved_or_has_a_reason() -> None:
    """A new pass needs a decision."""
    listed = " ".join(TESTED_ALONE.values()).split()
    assert sorted(listed) == sorted(name for name, load in PASSES.items() if not load().proved)
