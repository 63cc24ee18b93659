"""Models made of functions, for tests that need no class of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from torch import Tensor, nn


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
