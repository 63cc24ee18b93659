"""Which portable kernels of the runtime a file needs, for builds with these alone (CMake's XIR_KERNELS)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xir.emitter.codec import Buffer
from xir.emitter.container import read_container

_NAMES = Path(__file__).parent.parent / "schema" / "portable_kernels.txt"


@cache
def runtime_kernels() -> frozenset[str]:
    """The names of the runtime's portable kernels, as CMake knows them: no extension module is loaded."""
    lines = _NAMES.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def needed_kernels(buffer: Buffer) -> frozenset[str]:
    """The names of the operators of all plans of a `.pte` file, such as `aten::add.out`; its data is not looked at.

    Raises FormatError for anything that is not a sound file.
    """
    return frozenset(
        f"{operator.get('name', '')}.{operator['overload']}" if operator.get("overload") else operator.get("name", "")
        for plan in read_container(buffer).program.get("execution_plan", ())
        for operator in plan.get("operators", ())
    )
