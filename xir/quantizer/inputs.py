"""What a model takes, and whether a sample of it fits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import LocationAttr

from xir.importer.dtypes import is_open
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import place

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of a call."""


class ModelInputs:
    """The inputs of an exported program. Samples of them are handed on flat: tensors, numbers and None in one tuple."""

    def __init__(self, program: ExportedProgram, *, forward: Callable[..., Any] | None = None):
        """`forward` is the model's own, where it is known: it may take more than the program was exported with."""
        spec = program.call_spec.in_spec
        assert spec is not None  # only a program without a signature has none
        self.spec = spec
        """The tree of positional and keyword arguments."""
        placeholders = (node for node in program.graph.nodes if node.op == "placeholder")
        self.values: list[Any] = [
            node.meta["val"]
            for node, each in zip(placeholders, program.graph_signature.input_specs, strict=True)
            if each.kind is InputKind.USER_INPUT
        ]
        """What the program was exported for: tensors without data, and numbers."""
        self._names = list(_names(spec))
        args, kwargs = self.call(self.values)
        self._unused = [name for name in _positional(forward)[len(args) :] if name not in kwargs]
        """The parameters of the model that the program was exported without."""

    def sample(self, args: Iterable[Any], kwargs: Mapping[str, Any] | None) -> tuple[Any, ...]:
        """The flat form of a call. DiagnosticError if the program cannot be called so."""
        return self._flat(place("sample inputs"), [(tuple(args), dict(kwargs or {}))])

    def samples(self, calibration: object) -> Iterator[tuple[Any, ...]]:
        """The flat forms of calibration inputs.

        Each is a tuple of positional arguments, a dict of keyword arguments, a pair `(args, kwargs)` of both, or the
        tensor of a single input. What the model does not take is left out where it can only be labels: what comes last
        in a tuple, and what dicts call so. DiagnosticError for an input that does not fit.
        """
        if isinstance(calibration, Tensor) or not isinstance(calibration, Iterable):
            what = "a tensor" if isinstance(calibration, Tensor) else f"of type {type(calibration).__name__}"
            raise DiagnosticError(
                place("calibration"), f"it is {what}: give an iterable of inputs, such as a list of batches"
            )
        for index, sample in enumerate(cast("Iterable[Any]", calibration)):
            where = place(f"calibration input {index}")
            yield self._flat(where, _readings(where, sample), _without_labels(sample))

    def call(self, flat: Sequence[Any]) -> Arguments:
        """The arguments of a call with these values."""
        args, kwargs = pytree.tree_unflatten(flat, self.spec)
        return tuple(args), kwargs

    def _flat(
        self, where: LocationAttr, readings: Sequence[Arguments], unlabelled: Sequence[Arguments] = ()
    ) -> tuple[Any, ...]:
        for reading in (*readings, *unlabelled):
            values, spec = pytree.tree_flatten(_ordered(reading, self.spec))
            if spec != self.spec:
                continue
            if reading not in readings and self._unused and not reading[1]:
                raise DiagnosticError(
                    where,
                    f"its last value is a label or the model's '{self._unused[0]}', which the program was exported "
                    "without: leave labels out, or give the argument to the sample inputs as well",
                )
            for name, value, like in zip(self._names, values, self.values, strict=True):
                _check(where, name, value, like)
            return tuple(values)
        raise DiagnosticError(where, _mismatch(readings[0], self.call(self.values)))


def _readings(where: LocationAttr, sample: Any) -> list[Arguments]:
    """What a calibration input may stand for."""
    match sample:
        case Tensor():
            return [((sample,), {})]
        case tuple() | list():
            positional: Arguments = tuple(sample), {}
            match sample:
                case (tuple() | list() as args, Mapping() as kwargs):
                    return [(tuple(args), dict(kwargs)), positional]
                case _:
                    return [positional]
        case Mapping():
            return [((), dict(sample)), ((sample,), {})]
        case _:
            raise DiagnosticError(
                where,
                f"it is of type {type(sample).__name__}: give a tuple of tensors, a dict of keyword arguments, a pair "
                "of both, or the tensor of a single input",
            )


LABELS = frozenset({"label", "labels", "target", "targets"})
"""What data loaders of dicts call what a model is to answer."""


def _without_labels(sample: Any) -> list[Arguments]:
    """What a calibration input stands for if it has labels that the model does not take."""
    match sample:
        case (tuple() | list(), Mapping()):
            return []  # arguments by position and by keyword, whether they fit or not
        case (inputs, _):
            nested = _readings(place("calibration"), inputs) if isinstance(inputs, _FORMS) else []
            return [((inputs,), {}), *nested]
        case tuple() | list() if len(sample) > 1:
            return [(tuple(sample[:-1]), {})]
        case Mapping() if not LABELS.isdisjoint(sample):
            inputs = {key: value for key, value in sample.items() if key not in LABELS}
            return [((), inputs), ((inputs,), {})]
        case _:
            return []


_FORMS = (Tensor, tuple, list, Mapping)


def _positional(forward: Callable[..., Any] | None) -> list[str]:
    """The names of the parameters that a call may give by position."""
    if forward is None:
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind in kinds]


def _ordered(value: Any, spec: pytree.TreeSpec) -> Any:
    """The value with dictionaries in the order of `spec`, and lists as tuples or the reverse."""
    children = spec.children()
    if spec.type is dict and isinstance(value, Mapping) and set(value) == set(spec.context):
        return {key: _ordered(value[key], child) for key, child in zip(spec.context, children, strict=True)}
    if spec.type in (tuple, list) and isinstance(value, tuple | list) and len(value) == len(children):
        return spec.type(_ordered(each, child) for each, child in zip(value, children, strict=True))
    return value


def _names(spec: pytree.TreeSpec) -> Iterator[str]:
    """What messages call the values: `0` and `'mask'` for arguments, `'cache'[0]` for what they consist of."""
    args, kwargs = spec.children()
    for index, child in enumerate(args.children()):
        yield from _paths(str(index), child)
    for key, child in zip(kwargs.context, kwargs.children(), strict=True):
        yield from _paths(f"'{key}'", child)


def _paths(name: str, spec: pytree.TreeSpec) -> Iterator[str]:
    children = spec.children()
    if spec.is_leaf():
        yield name
    for key, child in zip(spec.context if spec.type is dict else range(len(children)), children, strict=True):
        yield from _paths(f"{name}[{key!r}]", child)


def _mismatch(given: Arguments, taken: Arguments) -> str:
    """Why a call with these arguments is none of the model's."""
    (args, kwargs), (own_args, own_kwargs) = given, taken
    if kwargs.keys() == own_kwargs.keys() and len(args) != len(own_args):
        return f"it has {_count(args)}; the model takes {_count(own_args)}"
    if missing := [name for name in own_kwargs if name not in kwargs]:
        return f"it lacks the keyword argument '{missing[0]}'; the model takes {_text(taken)}"
    return f"it is {_text(given)}; the model takes {_text(taken)}"


def _count(values: Sequence[Any]) -> str:
    noun = "tensor" if all(isinstance(value, Tensor) for value in values) else "input"
    return f"{len(values)} {noun}{'' if len(values) == 1 else 's'}"


def _text(arguments: Arguments) -> str:
    """Arguments as one writes them, by their types: `(Tensor, mask=Tensor, cache=[Tensor, Tensor])`."""
    args, kwargs = arguments
    return f"({', '.join([*map(_types, args), *(f'{key}={_types(value)}' for key, value in kwargs.items())])})"


def _types(value: Any) -> str:
    match value:
        case None:
            return "None"
        case Mapping():
            return "{" + ", ".join(f"{key!r}: {_types(each)}" for key, each in value.items()) + "}"
        case list():
            return f"[{', '.join(map(_types, value))}]"
        case tuple():
            return f"({', '.join(map(_types, value))}{',' if len(value) == 1 else ''})"
        case Tensor():
            return "Tensor"
        case torch.SymInt():
            return "int"
        case _:
            return type(value).__name__


def _check(where: LocationAttr, name: str, value: Any, like: Any) -> None:
    """DiagnosticError unless `value` is one of those that a program exported for `like` takes."""
    if isinstance(like, Tensor):
        _check_tensor(where, f"tensor {name}", value, like)
    elif isinstance(like, torch.SymInt):
        if not isinstance(value, int):
            raise DiagnosticError(where, f"input {name} is of type {type(value).__name__}; the model takes an int")
    elif type(value) is not type(like) or value != like:
        text = "a tensor" if isinstance(value, Tensor) else repr(value)
        raise DiagnosticError(where, f"input {name} is {text}; the model was exported for {like!r} alone")


def _check_tensor(where: LocationAttr, name: str, value: Any, like: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise DiagnosticError(where, f"{name} is a {type(value).__name__}")
    if value.device != like.device:
        raise DiagnosticError(where, f"{name} is on device {value.device}; the model is on {like.device}")
    if value.dtype != like.dtype:
        raise DiagnosticError(where, f"{name} has dtype {value.dtype}; the model takes {like.dtype}")
    if value.dim() != like.dim() or any(
        not is_open(b) and a != b for a, b in zip(value.shape, like.shape, strict=True)
    ):
        shape = ", ".join("any" if is_open(size) else str(size) for size in like.shape)
        raise DiagnosticError(where, f"{name} has shape {list(value.shape)}; the model takes [{shape}]")
    if value.is_floating_point() and not bool(torch.isfinite(value).all()):
        raise DiagnosticError(where, f"{name} has infinite or NaN values, which no scale can hold")
