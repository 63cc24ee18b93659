"""The samples of PyTorch's operator database, each as a program that `torch.export` takes.

A sample's tensors are the program's inputs; numbers, dtypes and all else are part of the program. Complex tensors go in
and come out as pairs of real numbers (`torch.view_as_real`), since no file has complex inputs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import SEED as TORCH_SEED
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils import _pytree as pytree

SEED = 0

DTYPES = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp64": torch.float64,
    "int64": torch.int64,
    "int32": torch.int32,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
    "complex64": torch.complex64,
}
"""The types that samples are taken in."""


def dtype_of(name: str) -> torch.dtype:
    """The type of the inputs of a type's samples."""
    return DTYPES[name].to_real() if DTYPES[name].is_complex else DTYPES[name]


@dataclass(frozen=True)
class Sample:
    """One call of an operator."""

    index: int
    """Its place among the operator's samples."""
    program: nn.Module
    inputs: tuple[torch.Tensor, ...]
    name: str = ""
    """The operator's."""
    dtype: str = "fp32"

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
        self.complex = {place for place in self.places if real(leaves[place]) is not leaves[place]}
        self.spec = spec

    def forward(self, *inputs: torch.Tensor) -> Any:
        leaves = list(self.leaves)
        for place, value in zip(self.places, inputs, strict=True):
            leaves[place] = torch.view_as_complex(value) if place in self.complex else value
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return pytree.tree_map_only(torch.Tensor, real, self.function(*args, **kwargs))


def real(value: torch.Tensor) -> torch.Tensor:
    """A tensor whose complex numbers are pairs."""
    is_dense = value.layout == torch.strided
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() and is_dense else value


@cache
def operators(dtype: str = "fp32") -> dict[str, OpInfo]:
    """Name -> what the database says of an operator that computes in a type on a CPU.

    The name has the database's variant behind the operator's, as in "linspace.tensor_overload".
    """
    found = (info for info in op_db if DTYPES[dtype] in info.supported_dtypes("cpu"))
    return {f"{info.name}.{info.variant_test_name}".rstrip("."): info for info in found}


def samples(name: str, dtype: str = "fp32", first: int | None = None) -> list[Sample]:
    """The first samples of an operator, or all; the same each time."""
    seed(SEED)
    info = operators(dtype)[name]
    made: list[Sample] = []
    for index, sample in enumerate(islice(drawn_by_torch(info, DTYPES[dtype]), first)):
        leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        inputs = tuple(real(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor))
        made.append(Sample(index, Call(info.op, leaves, spec).eval(), inputs, name, dtype))
    return made


def drawn_by_torch(info: OpInfo, dtype: torch.dtype) -> Iterator[SampleInput]:
    """What `info.sample_inputs` gives outside of a test of torch's, whose seed each sample begins with.

    That method looks for such a test in the whole stack, with all source lines: a quarter of the time of this database.
    """
    found = iter(info.sample_inputs_func(info, "cpu", dtype, False))
    while True:
        seed(TORCH_SEED)
        try:
            yield next(found)
        except StopIteration:
            return


def seed(number: int) -> None:
    """Begin the random numbers anew, of torch, NumPy and Python, all of which samples are drawn from."""
    torch.default_generator.manual_seed(number)  # torch.manual_seed also seeds devices, and takes a millisecond
    np.random.seed(number)
    random.seed(number)
