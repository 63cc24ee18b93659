"""Calls of a method at other sizes than the greatest, which are all that a file says of open ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from xir.runtime._native import XirRuntimeError
from xir.runtime.program import Method, MethodMetadata
from xir.runtime.same_results import INDICES, FixedInputs, MethodCall, drawn_inputs, is_time_up, loaded
from xir.runtime.stock_results import copied

OpenDims = Sequence[tuple[int, int]]
"""Dimensions of inputs: (number of the input, dimension)."""
LEAST = (1, 2, 3, 5)
"""Sizes that are tried, as what takes a size for larger than it is shows there."""
MOST_SIZES = 16
"""So many calls of a method are made at most."""
MOST_VARIED = 16
"""So many open sizes are varied by themselves at most."""


def sized_calls(
    path: Path,
    open_dims: Mapping[str, OpenDims | None],
    data: Sequence[Path] = (),
    fixed: Mapping[str, FixedInputs] = {},
    *,
    max_seconds: float = 0.0,
) -> list[MethodCall]:
    """Calls of a file's methods at other sizes, those that it runs at, each tried on a fresh method.

    `open_dims` are the sizes to vary of each method; None: all that its inputs' types leave open. Sizes with the same
    bound vary together and each by itself, since a file does not say which are the same. `fixed` are the inputs that
    methods take one value of alone. A call that takes longer than `max_seconds` is the last one that is tried of its
    method.
    """
    calls: list[MethodCall] = []
    for name, given in open_dims.items():
        metadata = loaded(path, data).load_method(name).metadata
        dims = _open_dims(metadata) if given is None else given
        ran = 0
        for sizes in _combinations(metadata, dims):
            method = loaded(path, data, max_seconds).load_method(name)
            began = time.monotonic()
            inputs = _inputs_that_run(method, sizes, fixed.get(name, {}))
            if inputs is None and is_time_up(began, max_seconds):
                break
            if inputs is None:
                continue
            calls.append(MethodCall(name, inputs, f"a call of sizes {_text(inputs)}", True, is_sized=True))
            ran += 1
            if ran == MOST_SIZES:
                break
    return calls


def _open_dims(metadata: MethodMetadata) -> OpenDims:
    return [
        (number, dim)
        for number, info in enumerate(metadata.inputs)
        if info.kind == "tensor" and info.dynamic
        for dim, bound in enumerate(info.shape or ())
        if bound > 1
    ]


def _combinations(metadata: MethodMetadata, dims: OpenDims) -> Iterator[dict[tuple[int, int], int]]:
    """Sizes to try, by dimension: of all together, of those with one bound, and of each."""
    bounds = {(number, dim): (metadata.inputs[number].shape or ())[dim] for number, dim in dims}
    groups = [[each for each in dims if bounds[each] == bound] for bound in dict.fromkeys(bounds.values())]
    seen: list[dict[tuple[int, int], int]] = [dict(bounds)]
    for some in [list(dims), *groups, *([each] for each in dims[:MOST_VARIED])]:
        wanted = [*LEAST, None, -1] if some == list(dims) else [1, None]
        for size in wanted:
            changed = {each: _size(size, bounds[each]) for each in some}
            sizes = {**bounds, **changed}
            if sizes not in seen:
                seen.append(sizes)
                yield sizes


def _size(size: int | None, bound: int) -> int:
    """A size up to a bound; None: the middle, -1: the last but one."""
    if size is None:
        return max(bound // 2, 1)
    return bound - 1 if size < 0 else min(size, bound)


def _inputs_that_run(method: Method, sizes: Mapping[tuple[int, int], int], fixed: FixedInputs) -> list[Any] | None:
    for most in INDICES:
        inputs = drawn_inputs(method.metadata, most, sizes, fixed)
        try:
            method.execute(copied(inputs))
        except (XirRuntimeError, ValueError):
            continue
        return inputs
    return None


def _text(inputs: Sequence[Any]) -> str:
    return ", ".join("x".join(map(str, each.shape)) or "scalar" for each in inputs if hasattr(each, "shape"))
