"""The two runtimes that a file is run in: xir's, and stock ExecuTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from executorch.extension.pybindings import portable_lib
from torch.utils._pytree import tree_leaves

from xir.runtime import Runtime

Run = Callable[[Sequence[Any]], list[Any]]


class _KeepingItsFile:
    """A program of stock's with the bytes that it reads and does not keep."""

    def __init__(self, program: Any, file: bytes):
        self._program, self._file = program, file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)


def load_stock(file: bytes | Path, data: Path | None = None) -> Any:
    """A program in stock ExecuTorch, with `forward`, `run_method` and `method_meta`, of a file's bytes or path.

    `data` is a file of constants beside it, which only paths may have. A program's outputs may lie in memory that its
    next run writes: clone what has to last. This is the one place that calls ExecuTorch's loader, whose name says that
    it is private.
    """
    if isinstance(file, bytes):
        program = portable_lib._load_for_executorch_from_buffer(file)  # pyright: ignore[reportPrivateUsage]
        return _KeepingItsFile(program, file)
    paths = [str(path) for path in (file, data) if path is not None]
    return portable_lib._load_for_executorch(*paths)  # pyright: ignore[reportPrivateUsage]


def both(file: bytes, *, threads: int | None = None) -> tuple[Run, Run]:
    """What runs `forward` of a file: xir's runtime, then stock's."""
    method, stock = Runtime.get().load_program(file, threads=threads).load_method(), load_stock(file)

    return lambda inputs: method.execute(list(inputs)), lambda inputs: stock.forward(list(inputs))


def agree(
    file: bytes,
    model: Callable[..., Any],
    calls: Iterable[Sequence[Any]],
    *,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    of_largest: float = 0,
) -> None:
    """Each call gives eager's results in both runtimes: `forward` of the file, and the model, with the same inputs.

    `of_largest` is what a result may be off as well, of its largest magnitude.
    """
    runs = both(file)
    for inputs in calls:
        with torch.no_grad():
            expected = [torch.as_tensor(each) for each in tree_leaves(model(*inputs))]
        for runtime, run in zip(("xir", "ExecuTorch"), runs, strict=True):
            for index, (found, wanted) in enumerate(zip(run(inputs), expected, strict=True)):
                allowed = atol + (of_largest * float(wanted.abs().max()) if of_largest else 0)
                where = f"output {index} in {runtime}: ".__add__
                torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=rtol, atol=allowed, msg=where)
