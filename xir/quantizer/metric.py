"""A metric of the user's: a function of a callable program that says what the program is worth, in numbers.

    def accuracy(program):
        right = sum(int(program(image).argmax()) == label for image, label in examples())
        return right / len(examples())

Larger is better. The program is called as the model is, with tensors, and gives what the model returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, cast

import torch
from torch import Tensor

from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import place
from xir.progress import step

Program = Callable[..., Any]
Metric = Callable[[Program], Any]
"""What it returns is a number, or a dict of numbers by name."""

Values = dict[str, float]
"""What programs are worth, by the number's name."""

SAME = 1e-6
"""How far two values for one program may be apart, relative to the larger: sums in another order round otherwise."""


class Judge:
    """Calls a metric. DiagnosticError, which names it, for one that raises or gives no finite numbers."""

    def __init__(self, metric: Metric, state: Callable[[], AbstractContextManager[None]]):
        """`state` opens a block after which the program's buffers are as before."""
        self.name = str(getattr(metric, "__name__", type(metric).__name__))
        self._metric, self._state = metric, state
        self._names: list[str] | None = None

    def of_float(self, module: torch.nn.Module) -> Values:
        """The values of the float program, from two calls. DiagnosticError if they differ."""
        first, second = self(module, "the float program"), self(module, "the float program")
        for name, value in first.items():
            other = second[name]
            if not math.isclose(value, other, rel_tol=SAME, abs_tol=1e-12):
                which = "" if name == self.name else f" as '{name}'"
                raise self._error(
                    f"for the same program it returned {value:g}, then {other:g}{which}: take the same inputs in each "
                    "call, and seed what is random"
                )
        return first

    def __call__(self, module: torch.nn.Module, what: str = "the quantised program") -> Values:
        """The values of a program that messages call `what`."""
        with step(f"Measuring '{self.name}' of {what}"), self._state():
            try:
                result = self._metric(_called(module))
            except DiagnosticError:
                raise
            except Exception as error:
                raise self._error(f"it failed on {what}: {type(error).__name__}: {error}") from error
        values = self._values(result, what)
        if self._names is not None and self._names != list(values):
            raise self._error(
                f"it returned {_listed(values)} for {what}, and {_listed(self._names)} before: give the same numbers "
                "for each program"
            )
        self._names = list(values)
        return values

    def _values(self, result: Any, what: str) -> Values:
        if not isinstance(result, Mapping):
            return {self.name: self._number(result, self.name, what)}
        if not result:
            raise self._error(f"it returned an empty dict for {what}: give a number, or a dict of numbers by name")
        return {
            str(name): self._number(value, str(name), what) for name, value in cast("Mapping[Any, Any]", result).items()
        }

    def _number(self, value: Any, name: str, what: str) -> float:
        if isinstance(value, Tensor) and value.numel() == 1:
            value = value.item()
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise self._error(
                f"it returned a {type(value).__name__} for {what}: give a number, or a dict of numbers by name"
            ) from None
        if not math.isfinite(number):
            which = "" if name == self.name else f" as '{name}'"
            raise self._error(f"it returned {number}{which} for {what}, which is no finite number")
        return number

    def _error(self, message: str) -> DiagnosticError:
        return DiagnosticError(place(f"metric {self.name}"), message)


def _called(module: torch.nn.Module) -> Program:
    """The module as a plain function, which has no gradients."""

    def program(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return module(*args, **kwargs)

    return program


def _listed(names: Mapping[str, float] | list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
