"""Runs the files named on standard input in one of the runtimes, and pickles what they give to standard output."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import torch

from differential.results import Result, plain
from xir.runtime import Runtime


def main(runtime: str) -> int:
    """Run each file on inputs that follow from it alone."""
    torch.set_num_threads(1)
    run = {"xir": run_xir, "stock": run_stock}[runtime]
    # Stock prints to standard output.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for name in sys.stdin.read().splitlines():
        try:
            result: Result = [plain(value) for value in run(Path(name).read_bytes())]
        except Exception as error:
            result = str(error) or type(error).__name__
        pickle.dump(result, output)
        output.flush()
    return 0


def inputs_of(data: bytes) -> list[torch.Tensor]:
    """Small numbers of the types and shapes that the program declares, in its orders of dimensions."""
    values: list[torch.Tensor] = []
    generator = torch.Generator().manual_seed(1)
    for info in Runtime.get().load_program(data, threads=1).metadata().inputs:
        assert info.shape is not None
        assert info.dim_order is not None
        shape, order, dtype = info.shape, info.dim_order, getattr(torch, str(info.dtype))
        physical = torch.rand([shape[dim] for dim in order], generator=generator) * 6 - 2
        values.append(physical.permute([order.index(dim) for dim in range(len(order))]).to(dtype))
    return values


def run_xir(data: bytes) -> list[Any]:
    """The outputs in xir's runtime."""
    return Runtime.get().load_program(data, threads=1).load_method("forward").execute(inputs_of(data))


def run_stock(data: bytes) -> list[Any]:
    """The outputs in stock ExecuTorch."""
    from reference.runtimes import load_stock

    return list(load_stock(data).forward(inputs_of(data)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
