"""What `--quantize` and its options ask of the quantizer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from xir.tools.aot.arguments import DEFAULT_CPU
from xir.tools.aot.factories import called, user_function
from xir.tools.command_line import UsageError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from xir.quantizer import QuantReport


def quantize_program(
    options: argparse.Namespace, program: ExportedProgram
) -> tuple[ExportedProgram, QuantReport | None]:
    """The quantised program, and its report where one was asked for."""
    from xir.quantizer import QuantConfig, quantize, quantize_and_measure

    try:
        config = QuantConfig(
            options.quantize,
            group_size=_group_size(options.group_size),
            keep_float=tuple(options.keep_float or ()),
            min_sqnr=options.min_sqnr,
            effort=options.quantize_effort or "fast",
            max_drop=_max_drop(options.max_drop),
            cpu=options.cpu or DEFAULT_CPU,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if program.example_inputs is None:
        raise UsageError("the program was saved without example inputs: export it again")
    (args, kwargs), calibration = program.example_inputs, _calibration(options)
    verify, metric = options.verify_numerics is not None, _metric(options.metric)
    if not (options.quantize_report or options.quantize_report_json or metric):
        return quantize(program, args, calibration, config, kwargs=kwargs, verify=verify), None
    return quantize_and_measure(program, args, calibration, config, kwargs=kwargs, metric=metric, verify=verify)


def _metric(reference: str | None) -> Callable[..., Any] | None:
    """The function that --metric names."""
    return None if reference is None else user_function(reference, "--metric", "FUNCTION")[1]


def _max_drop(texts: Sequence[str] | None) -> float | dict[str, float] | None:
    """What --max-drop says: one number for all that the metric returns, or numbers by name."""
    if not texts:
        return None
    drops: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            drops[name] = float(number)
        except ValueError:
            raise UsageError(f"--max-drop takes a number, or NAME=NUMBER, not '{text}'") from None
    if "" not in drops:
        return drops
    if len(texts) > 1:
        raise UsageError("--max-drop takes one number for all that the metric returns, or several with names")
    return drops[""]


def _group_size(text: str | None) -> int | None:
    """What --group-size says: the number, None for a group for each channel."""
    if text == "channel":
        return None
    try:
        return 32 if text is None else int(text)
    except ValueError:
        raise UsageError(f"--group-size takes a number or 'channel', not '{text}'") from None


def _calibration(options: argparse.Namespace) -> Iterable[Any] | None:
    """The inputs that ranges come from; None for the example inputs."""
    if options.calibration:
        name, function = user_function(options.calibration, "--calibration")
        return _guarded(called(name, function), name)
    if options.weights and options.quantize == "static":
        print(
            "xir-aot: note: ranges of activations come from random inputs: give --calibration for real ones",
            file=sys.stderr,
        )
    if not options.model_name or options.max_batch is not None or options.quantize != "static":
        return None  # random inputs give ranges, but weights are not rounded for them
    from xir.models import calibration_inputs

    return calibration_inputs(options.model_name)


def _guarded(inputs: Any, name: str) -> Any:
    """An iterable whose errors are the user's; what is none is left for the quantiser to report."""
    from torch import Tensor

    if isinstance(inputs, Tensor) or not isinstance(inputs, Iterable):
        return inputs

    def each() -> Iterator[Any]:
        values = iter(inputs)
        while True:
            try:
                value = next(values)
            except StopIteration:
                return
            except Exception as error:
                raise UsageError(f"'{name}' failed: {type(error).__name__}: {error}") from error
            yield value

    return each()
