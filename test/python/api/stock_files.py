"""Files of stock ExecuTorch, and what becomes of them when they are compiled once more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from reference import stock
from reference.runtimes import both, load_stock
from torch import Tensor, nn

import xir

IMAGE = torch.randn(1, 8, 6, 6)


def stock_file(
    model: nn.Module,
    inputs: tuple[Any, ...],
    path: Path,
    *,
    delegates: bool = True,
    quantized: Literal["static", "dynamic"] | None = None,
    weights_apart: bool = False,
    dynamic_shapes: Any = None,
    **options: Any,
) -> Path:
    """ExecuTorch's file of a model, beside one of its weights if these are apart; `options` are of its emitter."""
    export = partial(stock.quantized, is_dynamic=quantized == "dynamic") if quantized else torch.export.export
    exported = export(model.eval(), inputs, dynamic_shapes=dynamic_shapes)
    program = stock.compiled(exported, delegates=delegates, external_constants=weights_apart, **options)
    path.write_bytes(program.buffer)
    if weights_apart:
        program.write_tensor_data_to_file(str(path.parent))
    return path


def remade(path: Path) -> xir.ExecutorchProgram:
    """A file's program compiled once more, all of its methods, and saved as `better.pte` beside it."""
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    program.save(path.with_name("better.pte"))
    return program


def assert_same(
    old: Path,
    *calls: Sequence[Any],
    new: Path | None = None,
    check_stride: bool = False,
    atol: float = 1e-5,
    **runtimes: bool,
) -> None:
    """What stock's runtime makes of a file, `xir` and `stock` make of the new one, unless they are False: of
    `better.pte` beside it, or `new`."""
    expected, runs = load_stock(old), both((new or old.with_name("better.pte")).read_bytes())
    runs = [run for name, run in zip(("xir", "stock"), runs, strict=True) if runtimes.get(name, True)]
    for given in calls:
        want = [each.clone() if isinstance(each, Tensor) else each for each in expected.forward(list(given))]
        for run in runs:
            torch.testing.assert_close(run(given), want, rtol=1e-5, atol=atol, check_stride=check_stride)
