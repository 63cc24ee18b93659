"""`python -m bench.planted`: plants miscompiles in the passes, one after the other, and tells which the check finds.

Each fault runs in a process of its own, with its file changed in memory, over a few small programs that all passes have
something to do in. It is found if `--verify-numerics` or the verifier stops at the pass that it was planted in.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class PlantedFault:
    """One mistake in a pass."""

    culprit: str
    """The pass."""
    file: str
    before: str
    """What stands there."""
    after: str
    """What stands there instead."""


FAULTS = [
    PlantedFault(**row)
    for row in tomllib.loads(Path(__file__).with_name("planted_faults.toml").read_text(encoding="utf-8"))["fault"]
]


class Network(nn.Module):
    """Convolutions of all kinds with batch norms and bounds, a residual sum, pools, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.deep = nn.Sequential(
            nn.Conv2d(8, 8, (3, 5), padding=(1, 2), groups=8, bias=False), nn.BatchNorm2d(8), nn.Hardtanh(-0.5, 0.75),
            nn.Conv2d(8, 8, (1, 3), padding=(0, 1)), nn.BatchNorm2d(8),
        )  # fmt: skip
        self.up = nn.ConvTranspose2d(8, 6, (2, 3), stride=2, groups=2)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1, dilation=1, ceil_mode=True)
        self.head = nn.Linear(6, 5)
        for each in self.modules():
            if isinstance(each, nn.BatchNorm2d):
                assert each.running_var is not None
                assert each.running_mean is not None
                each.weight.data.uniform_(0.5, 1.5)
                each.bias.data.uniform_(-0.5, 0.5)
                each.running_var.uniform_(0.02, 1.02)
                each.running_mean.uniform_(-0.5, 0.5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(x)
        shared = self.deep(x)
        x = torch.cat([x + shared, torch.sigmoid(shared).clamp(0.3, 0.6)], 1)[:, 4:12]
        x = self.pool(self.up(x))
        x = nn.functional.max_pool2d(x, (3, 2), stride=1, dilation=2)
        # A sum of scaled and shifted channels, and of a constant that is computed.
        x = x * 1.5 - 0.25
        weights = torch.arange(6.0).reshape(1, 6, 1, 1) / 3 + 1
        x = x * weights
        return self.head(x.mean((2, 3))), shared.relu()


class Attention(nn.Module):
    """A block of a transformer: one projection for all, a product with a transposed matrix, a slice of one token."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.project, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm.weight.data.uniform_(0.5, 2)
        self.norm.bias.data.uniform_(-1, 1)
        self.mix = nn.Parameter(torch.randn(16, 16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v = self.project(self.norm(x)).reshape(-1, 6, 3, 4, 4).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1)
        y = self.out((weights @ v).transpose(1, 2).reshape(-1, 6, 16)) + x
        same, again = torch.exp(y * 0.1), torch.exp(y * 0.1)
        return torch.addmm(self.mix[0], y[:, 1], self.mix), (same * again)[:, 2:5]


def write_programs(folder: Path) -> None:
    """Write the programs as text, and their inputs beside them."""
    from xir import quantize, to_edge
    from xir.ir.printer import PrintOptions, module_to_text

    torch.manual_seed(0)
    image, tokens = (torch.randn(1, 3, 18, 16),), (torch.randn(1, 6, 16),)
    network, attention = Network().eval(), Attention().eval()
    exported = [
        ("network", torch.export.export(network, image), image),
        ("attention", torch.export.export(attention, tokens), tokens),
    ]
    exported.append(("network_in_int8", quantize(exported[0][1], image), image))
    for name, program, inputs in exported:
        edge = to_edge(program)
        text = module_to_text(edge.module, edge.ctx, PrintOptions(resources=True))
        (folder / f"{name}.mlir").write_text(text, encoding="utf-8")
        torch.save(list(inputs), folder / f"{name}.pt")


class Planter(importlib.abc.MetaPathFinder):
    """Loads one file with a fault in it."""

    def __init__(self, fault: PlantedFault):
        relative = Path(fault.file).with_suffix("")
        self.name = ".".join(("xir", *relative.parts))
        source = (ROOT / fault.file).read_text(encoding="utf-8")
        if fault.before not in source:
            raise ValueError(f"{fault.file} does not say: {fault.before}")
        self.source = source.replace(fault.before, fault.after, 1)
        self.path = str(ROOT / fault.file)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """The changed file's spec, under the name that passes import it by."""
        if fullname != self.name:
            return None
        loader = _Changed(fullname, self.path)
        loader.source = self.source
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


class _Changed(importlib.machinery.SourceFileLoader):
    source = ""

    def get_code(self, fullname: str) -> Any:
        return compile(self.source, self.path, "exec")


def outcome(fault: PlantedFault, folder: Path) -> dict[str, str]:
    """What becomes of the programs with a fault planted: the pass that is accused, by which check, in which program."""
    try:
        sys.meta_path.insert(0, Planter(fault))
    except ValueError as error:
        return {"result": "stale", "message": str(error)}
    from xir.api import EdgeProgram, XnnpackPartitioner
    from xir.evaluate import MiscompileError, NumericsChecker
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import DiagnosticError
    from xir.ir.internal_errors import InternalError
    from xir.ir.parser import parse_module

    for path in sorted(folder.glob("*.mlir")):
        name, ctx = path.stem, XirContext()
        edge = EdgeProgram(parse_module(ctx, path.read_text(encoding="utf-8"), path.name), ctx)
        checker = NumericsChecker(torch.load(path.with_suffix(".pt")))
        try:
            edge.to_backend(XnnpackPartitioner(), numerics=checker).to_executorch(numerics=checker)
        except MiscompileError as error:
            right = error.culprit.name == fault.culprit
            return {"result": "found" if right else "elsewhere", "message": str(error.diagnostic.message), "in": name}
        except (DiagnosticError, InternalError) as error:
            return {"result": "refused", "message": str(error).splitlines()[0], "in": name}
        except Exception as error:
            return {"result": "crashed", "message": f"{type(error).__name__}: {error}", "in": name}
    return {"result": "missed", "message": ""}


def outcomes(faults: Sequence[PlantedFault], folder: Path) -> Iterator[tuple[PlantedFault, dict[str, str], float]]:
    """Each fault's, with the seconds that it took; every one in a process that has not loaded xir yet."""
    for fault in faults:
        start = time.time()
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            torch.set_num_threads(1)
            os.write(writer, json.dumps(outcome(fault, folder)).encode()[:4000])
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            told = stream.read()
        os.waitpid(child, 0)
        yield (
            fault,
            json.loads(told) if told else {"result": "crashed", "message": "the process ended"},
            time.time() - start,
        )


def main() -> int:
    """Plant, look, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults of this pass")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    counts: dict[str, int] = {}
    chosen = [each for each in FAULTS if options.only in each.culprit]
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if (writer := os.fork()) == 0:
            write_programs(folder)
            os._exit(0)
        os.waitpid(writer, 0)
        for fault, found, seconds in outcomes(chosen, folder):
            counts[found["result"]] = counts.get(found["result"], 0) + 1
            what = f"{fault.before.strip()} -> {fault.after.strip()}"
            print(f"{found['result']:9} {seconds:5.1f} s  {fault.culprit:22} {what[:90]}", flush=True)
            if found["result"] != "found":
                print(f"          {found['message'][:150]}", flush=True)
    print(", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
    return 0 if set(counts) == {"found"} else 1


if __name__ == "__main__":
    sys.exit(main())
