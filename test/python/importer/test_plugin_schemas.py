"""A plugin's schema that is not the operator's is the plugin's mistake, and told at its class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import xir
from xir.dialects import edge
from xir.ir.diagnostics import DiagnosticError
from xir.plugin_loading import load_plugin

SCHEMA = "xir_schemas::scale(Tensor x, float by, int n=1) -> Tensor"

PLUGIN = """from xdsl.ir import SSAValue
from xir.plugin import EdgeOp, register_op

@register_op("{schema}", infer=lambda op: (op.x.type,))
class ScaleOp(EdgeOp):
    \"\"\"Scales.\"\"\"

{fields}
"""


def annotated(argument: str) -> str:
    """`int n=1` as a field of a class."""
    kind, name = argument.split()
    name, equals, default = name.partition("=")
    return f"    {name}: {'SSAValue' if kind == 'Tensor' else kind}" + (f" = {default}" if equals else "")


@pytest.fixture
def registered() -> Iterator[Callable[[Path, str], None]]:
    """Registers an op from a file of its own; it is gone after the test."""
    before, dialect = dict(edge.OPS), edge.Edge

    def register(path: Path, arguments: str) -> None:
        fields = "\n".join(map(annotated, arguments.split(", ")))
        path.write_text(PLUGIN.format(schema=f"xir_schemas::scale({arguments}) -> Tensor", fields=fields))
        load_plugin(str(path))

    with torch.library._scoped_library("xir_schemas", "FRAGMENT") as library:
        library.define(SCHEMA.partition("::")[2])
        library.impl("scale", lambda x, by, n=1: x * by * n, "CPU")
        library.impl("scale", lambda x, by, n=1: torch.empty_like(x), "Meta")
        yield register
    edge.OPS.clear()
    edge.OPS.update(before)
    edge.Edge = dialect


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.xir_schemas.scale(x, 2.0) + 1


@pytest.mark.parametrize(
    "arguments",
    [
        "Tensor x, int by, int n=1",
        "Tensor x, float factor, int n=1",
        "Tensor x, float by",
        "Tensor x, float by, int n",
        "Tensor x, float by, int n=2",
    ],
)
def test_another_schema_is_told_at_the_class(
    arguments: str, registered: Callable[[Path, str], None], tmp_path: Path
) -> None:
    registered(tmp_path / "plugin.py", arguments)
    with pytest.raises(DiagnosticError) as error:
        xir.to_edge(torch.export.export(Scaled(), (torch.ones(4),)))
    first, note = str(error.value).splitlines()
    assert first.startswith(
        f"{tmp_path / 'plugin.py'}:4: error: ScaleOp has the schema 'xir_schemas::scale({arguments}) "
    )
    assert f"the operator has '{SCHEMA}'" in first
    line = inspect.getsourcelines(Scaled.forward)[1] + 1
    assert note == f"{__file__}:{line}: note: the model calls it here"


def test_the_operators_schema_is_taken(registered: Callable[[Path, str], None], tmp_path: Path) -> None:
    registered(tmp_path / "plugin.py", "Tensor x, float by, int n=1")
    edge_program = xir.to_edge(torch.export.export(Scaled(), (torch.ones(4),)))
    assert "edge.xir_schemas.scale" in str(edge_program)
