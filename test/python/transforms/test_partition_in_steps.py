"""`partition-xnnpack` gives what its three steps give, each printed and read again: over lit's inputs and the zoo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from xir.api import to_edge
from xir.dialects.xnnpack import SubgraphOp
from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.ir.printer import module_to_text
from xir.transforms.registry import passes_of

LIT = Path(__file__).parents[2] / "lit"
FOLDERS = (LIT / "legalizations", LIT / "transforms" / "partition-xnnpack")
FILES = sorted(path for folder in FOLDERS for path in folder.glob("*.mlir"))
TARGETS = ("executorch", "xir")

STEPS = ("mark-delegates{{backend=xnnpack target={0}}}", "form-delegates", "legalize-to-xnnpack{{target={0}}}")


def run(pipeline: str, module: ModuleOp, ctx: XirContext) -> list[str]:
    """Run a pipeline on a module; the reasons that it gives."""
    said: list[str] = []

    def keep(diagnostic: Diagnostic) -> bool:
        said.append(str(diagnostic).partition(" not delegated: ")[2])
        return True

    with ctx.diagnostics.handler(keep):
        PassManager(ctx, passes_of(pipeline)).run(module)
    return said


def check(module: ModuleOp, ctx: XirContext, target: str) -> int:
    """Compare both ways; the number of subgraphs."""
    expected = module.clone()
    reasons = run(f"partition-xnnpack{{target={target}}}", expected, ctx)
    found: list[str] = []
    for step in STEPS:
        module = parse_module(ctx, module_to_text(module, ctx))
        found += run(step.format(target), module, ctx)
    if not module.is_structurally_equivalent(expected):
        # Values may have other names, but the texts show best where the rest differs.
        assert module_to_text(module, ctx) == module_to_text(expected, ctx)
        pytest.fail("attributes differ that the text does not show")
    assert sorted(found) == sorted(reasons)
    return sum(isinstance(op, SubgraphOp) for op in expected.walk())


def inputs() -> Iterator[Any]:
    """Each file for one target, in turn; `make test-zoo` takes the other one."""
    for (turn, path), (number, target) in product(enumerate(FILES), enumerate(TARGETS)):
        marks = () if turn % len(TARGETS) == number else pytest.mark.exhaustive
        yield pytest.param(path, target, id=f"{path.stem}-{target}", marks=marks)


@pytest.mark.parametrize(("path", "target"), list(inputs()))
def test_lit_inputs(path: Path, target: str) -> None:
    count = 0
    for part in re.split(r"^// -----$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        ctx = XirContext(allow_unregistered=True)
        count += check(parse_module(ctx, part), ctx, target)
    assert count > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["lstm", pytest.param("mv3", marks=pytest.mark.exhaustive)])
def test_models(name: str) -> None:
    import torch

    from xir.models import load_model

    edge = to_edge(torch.export.export(*load_model(name)))
    run("simplify", edge.module, edge.ctx)
    assert check(edge.module, edge.ctx, "executorch") > 0
