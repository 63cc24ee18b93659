"""The models that are measured: of the zoo, or the user's."""

from __future__ import annotations

from pathlib import Path

import torch

from xir.models import ModelError, load_model
from xir.tools.aot.factories import call_factory


def named_model(reference: str) -> tuple[str, torch.nn.Module, tuple[torch.Tensor, ...]]:
    """What tables and files call a model, the model in evaluation mode, and example inputs.

    `reference` is a name of the zoo, or `FILE.py:FACTORY` as of `xir-aot --model`. ModelError or UsageError for
    neither, and for what needs keyword arguments or open sizes.
    """
    if ":" not in reference:
        return reference, *load_model(reference)
    file = Path(reference.rpartition(":")[0])
    factory, made = call_factory(reference)
    if made.kwargs or made.dynamic_shapes is not None:
        raise ModelError(f"'{reference}' has keyword arguments or open sizes, which are not measured")
    return f"{file.stem}_{factory}", made.model, made.args
