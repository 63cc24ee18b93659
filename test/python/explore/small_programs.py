"""Programs that are small and have all that a page shows: a delegate, a kernel beside it, places, remarks, state."""

from __future__ import annotations

from pathlib import Path

import torch

import xir
from xir.api import EdgeProgram, ExecutorchProgram
from xir.explore import Recorder
from xir.runtime import Runtime


class Branches(torch.nn.Module):
    """Two branches, a residual, and a sort, which XNNPACK has not."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.left = torch.nn.Conv2d(8, 8, 1)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x).relu()
        x = self.left(x).sigmoid() * x + x
        return torch.sort(self.head(x.mean((2, 3)))).values


INPUTS = (torch.linspace(-1, 1, 3 * 8 * 8).reshape(1, 3, 8, 8),)


def compiled(recorder: Recorder | None = None) -> tuple[EdgeProgram, ExecutorchProgram]:
    """The model behind `delegate` and behind `emit`."""
    torch.manual_seed(0)
    edge = xir.to_edge(torch.export.export(Branches().eval(), INPUTS))
    lowered = edge.to_backend(xir.XnnpackPartitioner(), recorder=recorder)
    return lowered, lowered.to_executorch(recorder=recorder)


def write_factory(folder: Path, layers: str, inputs: str) -> str:
    """What `xir-aot --model` takes: a file with a factory of a sequence of layers."""
    path = folder / "factory.py"
    path.write_text(
        f"import torch\n\n\ndef net():\n    torch.manual_seed(0)\n"
        f"    return torch.nn.Sequential({layers}), (torch.{inputs},)\n"
    )
    return f"{path}:net"


def trace_of(model: Path, inputs: list[torch.Tensor]) -> Path:
    """A trace of two executions of a file."""
    method = Runtime.get().load_program(model, threads=1).load_method()
    method.execute(inputs, profile=True)
    first = method.profile()
    method.execute(inputs, profile=True)
    path = model.with_suffix(".json")
    (first + method.profile()).to_trace(path)
    return path
