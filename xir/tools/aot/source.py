"""Where the program comes from: the zoo, a factory function, or a file; and its export."""

from __future__ import annotations

import argparse
import io
import logging
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING

from xir.progress import step
from xir.tools.aot.arguments import DTYPES
from xir.tools.aot.factories import Made, call_factory
from xir.tools.command_line import UsageError

if TYPE_CHECKING:
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
            made = Made(model, tuple(inputs), {}, None)
    else:
        with step(f"Loading {options.model}"):
            name, made = call_factory(options.model)
    if options.dtype:
        made = _converted(made, options.dtype)
    if options.max_batch is not None:
        made = _of_any_batch(name, made, options.max_batch)
    with step(f"Exporting {name}"):
        return name, _export(name, made)


def model_of(options: argparse.Namespace) -> str:
    """The model as the command line names it."""
    return options.pt2 or options.model_name or options.model


def _converted(made: Made, dtype: str) -> Made:
    """The model and its floating-point inputs in another element type."""
    import torch
    from torch.utils import _pytree as pytree

    element = getattr(torch, DTYPES[dtype])

    def convert(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(element) if tensor.is_floating_point() else tensor

    args, kwargs = pytree.tree_map_only(torch.Tensor, convert, (made.args, made.kwargs))
    return Made(made.model.to(element), args, kwargs, made.dynamic_shapes)


def _of_any_batch(name: str, made: Made, max_batch: int) -> Made:
    """The model with the dynamic shapes that --max-batch stands for."""
    import torch
    from torch.utils import _pytree as pytree

    from xir.importer.signature import arguments_by_name

    if made.dynamic_shapes is not None:
        raise UsageError(f"'{name}' says itself what is dynamic: leave --max-batch out")

    def two(tensor: torch.Tensor) -> torch.Tensor:
        """Export takes a size of 1 for one that stays 1."""
        return torch.cat([tensor[:1]] * 2) if tensor.dim() else tensor

    args, kwargs = pytree.tree_map_only(torch.Tensor, two, (made.args, made.kwargs))
    batch = torch.export.Dim("batch", max=max_batch)
    shapes = pytree.tree_map(
        lambda x: {0: batch} if isinstance(x, torch.Tensor) and x.dim() else None,
        arguments_by_name(made.model.forward, args, kwargs),
    )
    return Made(made.model, args, kwargs, shapes)


def _export(name: str, made: Made) -> ExportedProgram:
    """Export a model. UsageError if it does not."""
    import torch

    written = io.StringIO()
    try:
        with _no_logs(), redirect_stderr(written):
            return torch.export.export(made.model, made.args, made.kwargs, dynamic_shapes=made.dynamic_shapes)
    except Exception as error:
        graph = str(getattr(error, "partial_fx_graph", ""))  # torch prints it for each of its functions that fails
        written = io.StringIO(written.getvalue().replace(f"{graph}\n", "") if graph else written.getvalue())
        how = "" if made.dynamic_shapes is None else " with these dynamic shapes"
        raise UsageError(f"'{name}' does not export{how}: {_reason(error)}") from error
    finally:
        sys.stderr.write(written.getvalue())


def _reason(error: Exception) -> str:
    """What torch says of a model, its conditions included, and the line of the model that it means."""
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    first, *rest = str(error).strip().splitlines() or [type(error).__name__]
    reason = " ".join([first, *(line.strip(" -") for line in rest if line.startswith("  - "))])
    if isinstance(error, GuardOnDataDependentSymNode):
        reason += " A branch cannot depend on numbers: choose with torch.where, or branch with torch.cond."
    line = _line_of_model(error)
    return reason if line is None else f"{reason} (at {line.filename}:{line.lineno}: {line.line})"


def _line_of_model(error: Exception) -> traceback.FrameSummary | None:
    """The last line outside torch that ran when the export failed."""
    import torch

    folder = Path(torch.__file__).parent
    frames = traceback.extract_tb(error.__traceback__)
    torchs = [Path(frame.filename).is_relative_to(folder) for frame in frames]
    inside = list(zip(frames, torchs, strict=True))[torchs.index(True) :] if any(torchs) else []
    lines = [frame for frame, is_torchs in inside if not is_torchs and Path(frame.filename).is_file()]
    return lines[-1] if lines else None


@contextmanager
def _no_logs() -> Generator[None]:
    """Nothing is logged meanwhile: torch writes a traceback of each operator that fails, which is said anyway."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
