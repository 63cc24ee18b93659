"""Models made of functions, for tests that need no class of their own."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Generator, Iterable
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves  # pyright: ignore[reportPrivateUsage]


class Calling(nn.Module):
    """A model whose forward is `function` of itself and the inputs. `parts` are its modules, parameters and buffers by
    name: a tensor that is no parameter becomes a buffer.
    """

    def __init__(self, function: Callable[..., Any], /, **parts: nn.Module | Tensor):
        super().__init__()
        for name, part in parts.items():
            if isinstance(part, nn.Module | nn.Parameter):
                setattr(self, name, part)
            else:
                self.register_buffer(name, part)
        # As a method of the instance it keeps its parameters' names, which torch.export asks for.
        self.forward = MethodType(function, self)

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(name)


class Function(nn.Module):
    """A function of the inputs as a model; the inputs have no names of their own."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Several(nn.Module):
    """Independent programs as one, to be exported and compiled at once: each with so many inputs of its own, and the
    leaves of all their results."""

    def __init__(self, programs: Iterable[tuple[nn.Module, int]]):
        super().__init__()
        pairs = list(programs)
        self.programs = nn.ModuleList(program for program, _ in pairs)
        self.counts = [count for _, count in pairs]

    def forward(self, *inputs: Tensor) -> list[Any]:
        results, start = list[Any](), 0
        for program, count in zip(self.programs, self.counts, strict=True):
            results += tree_leaves(program(*inputs[start : start + count]))
            start += count
        return results


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Nothing on standard error, no warnings, no gradients."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        yield
