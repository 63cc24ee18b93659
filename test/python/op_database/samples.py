"""The fp32 samples of PyTorch's operator database, each as a program that `torch.export` takes.

A sample's tensors are the program's inputs; numbers, dtypes and all else are part of the program.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils import _pytree as pytree

SEED = 0


@dataclass(frozen=True)
class Sample:
    """One call of an operator."""

    index: int
    """Its place among the operator's samples."""
    program: nn.Module
    inputs: tuple[torch.Tensor, ...]

    def copies(self) -> tuple[torch.Tensor, ...]:
        """The inputs, for a run that may write to them."""
        return tuple(value.detach().clone() for value in self.inputs)


class Call(nn.Module):
    """A call of an operator, with its tensors as inputs."""

    def __init__(self, function: Callable[..., Any], leaves: list[Any], spec: pytree.TreeSpec):
        super().__init__()
        self.function = function
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.spec = spec

    def forward(self, *inputs: torch.Tensor) -> Any:
        leaves = list(self.leaves)
        for place, value in zip(self.places, inputs, strict=True):
            leaves[place] = value
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)


@cache
def operators() -> dict[str, OpInfo]:
    """Name -> what the database says of an operator that computes in fp32 on a CPU.

    The name has the database's variant behind the operator's, as in "linspace.tensor_overload".
    """
    found = (info for info in op_db if torch.float32 in info.supported_dtypes("cpu"))
    return {f"{info.name}.{info.variant_test_name}".rstrip("."): info for info in found}


def samples(name: str) -> list[Sample]:
    """All samples of an operator, the same each time."""
    seed(SEED)
    info = operators()[name]
    made: list[Sample] = []
    for index, sample in enumerate(info.sample_inputs("cpu", torch.float32, requires_grad=False)):
        leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        inputs = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        made.append(Sample(index, Call(info.op, leaves, spec).eval(), inputs))
    return made


def seed(number: int) -> None:
    """Begin the random numbers anew, of torch, NumPy and Python, all of which samples are drawn from."""
    torch.manual_seed(number)
    np.random.seed(number)
    random.seed(number)
