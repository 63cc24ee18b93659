"""A fault of the importer or of a row of the edge dialect is named: modules of the IR alone would not show it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import xir
from xir.dialects.edge import base
from xir.evaluate.imported import WrongImportError, check_import
from xir.tools import xir_bisect


class Network(nn.Module):
    """Arithmetic, a move, two outputs and a buffer that is written."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, stride=2), nn.LayerNorm(3)
        self.register_buffer("total", torch.ones(2, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.norm(self.conv(x).relu_())
        self.total.add_(y.mean((2, 3)))
        first, second = y.split(2, 1)
        return first.sub(second, alpha=2), self.total * 0.5


def program(form: str = "fp32") -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    module, x = Network().eval(), torch.randn(2, 3, 8, 8)
    if form == "fp32":
        return torch.export.export(module, (x,))
    return xir.quantize(module, (x,), config=xir.QuantConfig("static"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["fp32", "static"])
def test_a_right_import_is_not_accused(form: str) -> None:
    check_import(program(form))


@pytest.mark.filterwarnings("ignore")
def test_a_lost_argument_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dialect that forgets `alpha`: each pass then keeps what the wrong module computes."""
    right = base.EdgeOp.build_from.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def forgetful(cls, args, *rest, **kwargs):  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
        return right(cls, {name: value for name, value in args.items() if name != "alpha"}, *rest, **kwargs)

    monkeypatch.setattr(base.EdgeOp, "build_from", classmethod(forgetful))
    with pytest.raises(WrongImportError, match=r"edge\.sub\.Tensor"):
        check_import(program())
    file = tmp_path / "network.pt2"
    torch.export.save(program(), file)
    assert xir_bisect.main([str(file)]) == 1
    told = capsys.readouterr().out
    assert "test_imported.py:31: error: the import changes what the program computes" in told
    assert "row: edge.sub.Tensor" in told
