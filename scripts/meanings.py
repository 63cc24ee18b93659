"""Which composites are said in more than one place, and why: docs/reference/composites.md.

python scripts/meanings.py    list them; exit 1 if they are more than ten, or one has no reason

A composite is an op that ExecuTorch has no kernel for and that means others, by its decomposition. Its meaning is said
once; what stands here is an override.
"""

import inspect
import sys
from collections.abc import Iterator

from xir.dialects import edge
from xir.dialects.edge.kernels import executorch_kernels
from xir.documentation import table
from xir.importer.decompositions import OWN
from xir.transforms.edge._evaluation_arithmetic import EVALUATORS
from xir.transforms.edge.decompositions import DECOMPOSITIONS
from xir.transforms.xnnpack.legalizations import RULES
from xir.transforms.xnnpack.legalizations.expansion import expansion

MOST = 10
"""How many overlaps there may be."""


def composites() -> list[str]:
    """The edge ops that mean others, by name."""
    return sorted(name for name in DECOMPOSITIONS if edge.OPS[name].row.out not in executorch_kernels())


def places(name: str) -> list[str]:
    """Where it is said what a composite computes, besides its decomposition."""
    imported = {f"edge.{str(operator).removeprefix('aten.').removesuffix('.default')}" for operator in OWN}
    found: list[str] = []
    if name in RULES and RULES[name].build is not expansion and not RULES[name].remainder:
        found.append("an XNNPACK rule")
    if name in EVALUATORS:
        found.append("a numpy evaluator")
    if name in imported:
        found.append("a decomposition of the importer")
    return found


def overlaps() -> dict[str, tuple[list[str], str]]:
    """Composite -> where else it is said, and the reason, which is empty if none is given."""
    reasons = {name: info.overrides or "" for name, info in RULES.items()}
    return {name: (found, reasons.get(name, "")) for name in composites() if (found := places(name))}


def page() -> str:
    """The reference page."""
    heads = ("op", "also defined by", "reason")
    overridden = ((f"`{name}`", ", ".join(found), reason) for name, (found, reason) in overlaps().items())
    return (
        "# Composites\n\n"
        "A composite is an op without a kernel in ExecuTorch that consists of other ops. Its decomposition "
        "(`transforms/edge/decompositions/`) is its only definition: kernels, XNNPACK nodes and constants folded at "
        f"compile time all follow from it. Of {len(composites())} composites, {len(overlaps())} are overridden by a "
        f"second definition. At most {MOST} may be; `python scripts/meanings.py` lists them, and a test compares each "
        "with its decomposition.\n\n## Overrides\n\n"
        + table(heads, overridden)
        + "\n## All\n\n"
        + table(("op", "means", "in a delegate of XNNPACK"), rows())
    )


def rows() -> Iterator[tuple[str, ...]]:
    """A row for each composite."""
    for name in composites():
        means = " ".join(inspect.cleandoc(DECOMPOSITIONS[name].__doc__ or "").split())
        here = (
            "an override"
            if name in overlaps()
            else "the same, and a rule for calls that it leaves"
            if name in RULES and RULES[name].remainder
            else "the same"
        )
        yield f"`{name}`", means, here


def main() -> int:
    """List the overlaps; the exit status."""
    found = overlaps()
    for name, (where, reason) in found.items():
        print(f"{name}: {' and '.join(where)}: {reason or 'WITHOUT A REASON'}")
    print(f"{len(found)} of {len(composites())} composites are said in more than one place; {MOST} may be")
    return 0 if len(found) <= MOST and all(reason for _, reason in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
