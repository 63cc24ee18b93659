"""What a test registers is gone after it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from xir.backend.registry import BACKENDS
from xir.dialects import edge
from xir.dialects.registry import DIALECTS
from xir.transforms.edge.decompositions import DECOMPOSITIONS
from xir.transforms.edge.decompositions import rule as decompositions
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES
from xir.transforms.xnnpack.legalizations.rule import RULES

REGISTRIES: tuple[MutableMapping[str, Any], ...] = (
    PASSES, PIPELINES, DIALECTS, BACKENDS, RULES, DECOMPOSITIONS, edge.OPS,
)  # fmt: skip


@pytest.fixture
def registries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(edge, "Edge", edge.Edge)
    monkeypatch.setattr(decompositions, "REPLACED", set[str]())
    kept = [dict(registry) for registry in REGISTRIES]
    yield
    for registry, before in zip(REGISTRIES, kept, strict=True):
        registry.clear()
        registry.update(before)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A file with a function that does nothing."""
    path = tmp_path / "in.mlir"
    path.write_text("func.func @forward() {\n  func.return\n}\n", encoding="utf-8")
    return path
