"""Where the program comes from: the zoo, a factory function, or a file; and its export."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.aot_compiler.arguments import DTYPES, UsageError
from xir.aot_compiler.factories import call_factory
from xir.progress import step

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram


def load(options: argparse.Namespace) -> tuple[str, ExportedProgram]:
    """The model's name and its exported program."""
    if options.pt2:
        with step(f"Loading {options.pt2}"):
            from xir.importer import load_pt2

            return Path(options.pt2).stem, load_pt2(options.pt2)
    if options.model_name:
        name = options.model_name
        with step(f"Loading {name}"):
            from xir.models import load_model

            model, inputs = load_model(name, options.weights)
            shapes = None
    else:
        with step(f"Loading {options.model}"):
            name, model, inputs, shapes = call_factory(options.model)
    if options.dtype:
        model, inputs = _converted(model, inputs, options.dtype)
    with step(f"Exporting {name}"):
        return name, _export(name, model, tuple(inputs), shapes, options.max_batch)


def _converted(model: Any, inputs: Any, dtype: str) -> tuple[Any, Any]:
    """The model and its floating-point inputs in another element type."""
    import torch
    from torch.utils import _pytree as pytree

    element = getattr(torch, DTYPES[dtype])

    def convert(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(element) if tensor.is_floating_point() else tensor

    return model.to(element), pytree.tree_map_only(torch.Tensor, convert, inputs)


def _export(name: str, model: Any, inputs: tuple[Any, ...], shapes: Any, max_batch: int | None) -> ExportedProgram:
    """Export a model, with its dynamic shapes or those that --max-batch stands for."""
    import torch
    from torch.utils import _pytree as pytree

    if max_batch is not None:
        if shapes is not None:
            raise UsageError(f"'{name}' says itself what is dynamic: leave --max-batch out")
        # Export takes a size of 1 for one that stays 1.
        inputs = pytree.tree_map_only(torch.Tensor, lambda x: torch.cat([x[:1]] * 2) if x.dim() else x, inputs)
        batch = torch.export.Dim("batch", max=max_batch)
        shapes = pytree.tree_map(lambda x: {0: batch} if isinstance(x, torch.Tensor) and x.dim() else None, inputs)
    try:
        with _no_logs():
            return torch.export.export(model, inputs, dynamic_shapes=shapes)
    except Exception as error:
        first, *rest = str(error).strip().splitlines() or [type(error).__name__]
        reason = " ".join([first, *(line.strip(" -") for line in rest if line.startswith("  - "))])
        how = "" if shapes is None else " with these dynamic shapes"
        raise UsageError(f"'{name}' does not export{how}: {reason}") from error


@contextmanager
def _no_logs() -> Generator[None]:
    """Nothing is logged meanwhile: torch writes a traceback of each operator that fails, which is said anyway."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
