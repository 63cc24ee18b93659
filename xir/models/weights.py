"""Weights: from a state dict, or random ones that keep values of order one."""

# pyright: reportPrivateUsage=false
# The common base of batch norms is `_BatchNorm`.

import os
from pathlib import Path

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from .errors import ModelError

BATCH = 2
"""Samples that statistics are taken from; at the last layers' 7x7 positions that still makes a hundred values."""


def load_weights(model: torch.nn.Module, path: str | os.PathLike[str]) -> None:
    """Load a state dict, which has to fit exactly. ModelError says what is wrong with the file."""
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as e:  # torch raises anything from EOFError to UnpicklingError
        reason = str(e).strip().split("\n")[0] or type(e).__name__
        raise ModelError(f"{path}: not a state dict that torch can load: {reason}") from e
    if not isinstance(state, dict):
        raise ModelError(f"{path}: holds a {type(state).__name__}, not a state dict")
    own = model.state_dict()
    if problems := [f"'{k}' is missing" for k in own.keys() - state.keys()] + [
        f"'{k}' is not in the model" for k in state.keys() - own.keys()
    ]:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise ModelError(f"{path}: does not fit the model: {min(problems)}{more}")
    for key, value in own.items():
        if not isinstance(state[key], torch.Tensor) or state[key].shape != value.shape:
            shape = tuple(getattr(state[key], "shape", ()))
            raise ModelError(
                f"{path}: does not fit the model: '{key}' has shape {shape}, expected {tuple(value.shape)}"
            )
    model.load_state_dict(state)


@torch.no_grad()
def settle_random_weights(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
    """Make a freshly built model's outputs of order one, so that comparing them means something.

    Batch norms start with statistics that are not their inputs', and values shrink layer by layer to 1e-9: they get
    the statistics of random data. Without norms values shrink as well: each convolution is scaled by what it puts
    out. Matrices that start as zeros (a head to be trained) become random, and the output is
    scaled by its last layer.
    """
    for parameter in model.parameters():
        if parameter.dim() > 1 and not parameter.any():
            torch.nn.init.kaiming_normal_(parameter, nonlinearity="linear")
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if norms:
        _take_statistics(model, norms, inputs)
    elif not any("Norm" in type(m).__name__ for m in model.modules()):
        _scale_convolutions(model, inputs)
    _scale_output(model, inputs)


def _take_statistics(model: torch.nn.Module, norms: list[_BatchNorm], inputs: tuple[torch.Tensor, ...]) -> None:
    momentum = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain average
        norm.train()
    model(*(torch.randn(BATCH, *x.shape[1:]) for x in inputs))
    for norm, value in zip(norms, momentum, strict=True):
        norm.momentum = value
        norm.eval()


def _scale_convolutions(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
    """Give each convolution outputs of deviation one, in the order of their calls (Mishkin and Matas, 2016)."""

    def scale(layer: torch.nn.Module, _: object, output: torch.Tensor) -> torch.Tensor:
        deviation = output.std()
        if not deviation > 0:
            return output
        for parameter in layer.parameters():
            parameter /= deviation
        return output / deviation

    convolutions = [m for m in model.modules() if isinstance(m, torch.nn.Conv1d | torch.nn.Conv2d)]
    hooks = [layer.register_forward_hook(scale) for layer in convolutions]
    model(*inputs)
    for hook in hooks:
        hook.remove()


def _scale_output(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
    layers = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    output = model(*inputs)
    if not layers or not isinstance(output, torch.Tensor) or output.numel() < 100:
        return
    deviation = output.std()
    if deviation > 0:
        for parameter in layers[-1].parameters():
            parameter /= deviation
