"""The programs of the tests that ExecuTorch ships for its XNNPACK backend and for its operators, taken from them.

The tests are run with a stand-in for the class by which they lower and compare: it keeps what it is given.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import unittest
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import get_symmetric_quantization_config
from executorch.backends.xnnpack.test.tester import Quantize

FOLDERS = {"xnnpack": "executorch.backends.xnnpack.test.ops", "operators": "executorch.backends.test.suite.operators"}
"""The packages of tests."""

QUANTIZED = 5e-2
"""The absolute tolerance for quantised programs where a test gives none: that of stock's tests of linear layers."""


@dataclass(eq=False)
class Program:
    """A model with its inputs, and how a test wants it quantised and compared."""

    name: str
    """`folder.module.test`, and a number where a test has several."""
    model: torch.nn.Module
    inputs: tuple[Any, ...]
    dynamic_shapes: Any = None
    quantize: Quantize | None = None
    atol: float = 1e-3
    rtol: float = 1e-3
    """The tolerances of the test."""

    def key(self) -> tuple[object, ...]:
        """What tells programs of a test apart: a test lowers the same program by several of stock's flows."""
        shapes = tuple((tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) else repr(x) for x in self.inputs)
        return id(self.model), shapes, self.quantize is not None


class Recorder:
    """Takes the place of stock's Tester: keeps model, inputs and tolerances, and does nothing else."""

    kept: ClassVar[list[Program]] = []

    def __init__(
        self, module: torch.nn.Module, example_inputs: tuple[Any, ...], dynamic_shapes: Any = None, **_: Any
    ) -> None:
        self.program = Program("", module, tuple(example_inputs), dynamic_shapes)
        self.kept.append(self.program)

    def quantize(self, stage: Quantize | None = None, *_: Any) -> Recorder:
        self.program.quantize, self.program.atol = stage or Quantize(), QUANTIZED
        return self

    def run_method_and_compare_outputs(self, *_: Any, atol: float = 1e-3, rtol: float = 1e-3, **__: Any) -> Recorder:
        self.program.atol, self.program.rtol = atol, rtol
        return self

    def __getattr__(self, name: str) -> Callable[..., Recorder]:
        if name.startswith(("check", "to_", "export", "partition", "serialize", "run_passes", "dump_")):
            return lambda *_, **__: self
        raise AttributeError(name)


@dataclass
class Runner:
    """What the tests of operators are given as `test_runner`: keeps models, as they are and as they are quantised."""

    quantize: Callable[[], Quantize] | None = None
    _flow: object = field(default_factory=object)

    def lower_and_run_model(
        self, model: torch.nn.Module, inputs: Any, generate_random_test_inputs: bool = True, dynamic_shapes: Any = None
    ) -> None:
        stage = None if self.quantize is None else self.quantize()
        tolerance = {} if stage is None else {"atol": QUANTIZED}
        Recorder.kept.append(Program("", model, tuple(inputs), dynamic_shapes, stage, **tolerance))


def static_int8() -> Quantize:
    """Stock's quantizer, by channel with ranges from the inputs."""
    return Quantize(quantization_config=get_symmetric_quantization_config(is_per_channel=True))


def dynamic_int8() -> Quantize:
    """Stock's quantizer, by channel with ranges found at run time."""
    return Quantize(quantization_config=get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))


FORMS: dict[str, Callable[[], Quantize] | None] = {"float": None, "static": static_int8, "dynamic": dynamic_int8}
"""How the programs of operators are quantised."""


def modules(folder: str) -> Iterator[str]:
    """The names of a folder's test modules."""
    package = importlib.import_module(FOLDERS[folder])
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("test_"):
            yield found.name


def programs(folder: str, module: str, forms: Collection[str] = tuple(FORMS)) -> Iterator[Program]:
    """The programs of one module's tests, each once; those of operators in each of the forms."""
    imported = importlib.import_module(f"{FOLDERS[folder]}.{module}")
    tests = methods(imported) if folder == "xnnpack" else functions(imported, forms)
    for name, test in tests:
        torch.manual_seed(0)
        Recorder.kept.clear()
        try:
            test()
        except (unittest.SkipTest, AttributeError, TypeError, AssertionError) as error:
            # Tests that look into stock's own passes and graphs: what they lowered before is kept.
            if not Recorder.kept:
                print(f"{folder}.{module}.{name}: no program ({type(error).__name__}: {str(error)[:80]})", flush=True)
        different: dict[tuple[object, ...], Program] = {}
        for program in Recorder.kept:
            different.setdefault(program.key(), program)
        for index, program in enumerate(different.values()):
            program.name = f"{folder}.{module}.{name}" + (f"[{index}]" if len(different) > 1 else "")
            yield program


def methods(module: ModuleType) -> Iterator[tuple[str, Callable[[], object]]]:
    """The tests of a module of unittest's cases, with a stand-in for the class that lowers."""
    if hasattr(module, "Tester"):
        vars(module)["Tester"] = Recorder
    for case in vars(module).values():
        if isinstance(case, type) and issubclass(case, unittest.TestCase) and case.__module__ == module.__name__:
            for name in unittest.defaultTestLoader.getTestCaseNames(case):
                instance = case(name)
                yield name, getattr(instance, name)


def functions(module: ModuleType, forms: Collection[str]) -> Iterator[tuple[str, Callable[[], object]]]:
    """The tests of a module of pytest's functions, each in fp32 and as stock quantises it."""
    for name, function in list(vars(module).items()):
        if not name.startswith("test_") or not callable(function):
            continue
        marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
        axes = [[(mark.args[0], value) for value in mark.args[1]] for mark in marks]
        for form, choice in itertools.product(forms, itertools.product(*axes)):
            label = "".join(f" {getattr(value, 'values', value)}" for _, value in choice) + f" {form}"
            yield name + label, lambda f=function, q=FORMS[form], a=dict(choice): f(Runner(q), **a)
