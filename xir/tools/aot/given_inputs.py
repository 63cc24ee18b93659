"""`--inputs FILE`: what a user's files of inputs have, as calls of methods."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xir.tools.command_line import UsageError

if TYPE_CHECKING:
    from xir.runtime.same_results import MethodCall


def given_calls(paths: Sequence[Path], methods: Sequence[str]) -> list[MethodCall]:
    """The calls that files have, in order. UsageError for a file that has none, OSError for one that is not there.

    The arrays of an `.npz` file are the inputs of one call. A `.pt` file has a tensor, or a list of inputs, or a list
    of such lists, one for each call; or a dict of these by the names of methods.
    """
    return [call for path in paths for call in _calls(path, methods)]


def _calls(path: Path, methods: Sequence[str]) -> list[MethodCall]:
    from xir.runtime.same_results import MethodCall

    value: Any = _npz(path) if path.suffix == ".npz" else _pt(path)
    if not isinstance(value, dict):
        value = {_only(path, methods): value}
    found: list[MethodCall] = []
    for method, inputs in cast("dict[object, Any]", value).items():
        if method not in methods:
            raise UsageError(f"--inputs: {path} is for '{method}', and the program has {', '.join(methods)}")
        lists = _lists(inputs)
        found += [MethodCall(str(method), each, f"call {index} of {path.name}") for index, each in enumerate(lists, 1)]
    if not found:
        raise UsageError(f"--inputs: {path} has no call")
    return found


def _only(path: Path, methods: Sequence[str]) -> str:
    """The method that inputs without a name are for."""
    if "forward" in methods or len(methods) == 1:
        return "forward" if "forward" in methods else methods[0]
    raise UsageError(
        f"--inputs: {path} does not say for which of {', '.join(methods)} it is: save a dict by their names as .pt"
    )


def _lists(value: Any) -> list[list[Any]]:
    """The inputs of each call."""
    if not isinstance(value, list | tuple):
        return [[value]]
    values = list(cast("Sequence[Any]", value))
    if values and all(isinstance(each, list | tuple) for each in values):
        return [list(each) for each in values]
    return [values]


def _npz(path: Path) -> list[Any]:
    import numpy as np
    import torch

    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            return [torch.from_numpy(arrays[name]) for name in arrays.files]
    except (ValueError, TypeError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise UsageError(f"--inputs: {path} is no .npz file of tensors: write one with numpy.savez") from error


def _pt(path: Path) -> Any:
    import pickle

    import torch

    if path.suffix not in (".pt", ".pth"):
        raise UsageError(f"--inputs takes .npz and .pt files, got '{path}'")
    try:
        return torch.load(path, weights_only=True)
    except (RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise UsageError(f"--inputs: {path} is no .pt file of tensors alone: write one with torch.save") from error
