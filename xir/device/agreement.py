"""How far what a device computes is from what PyTorch does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xir.device.errors import DeviceError
from xir.runtime.agreement import Agreement, compared, number_array, plain_array

if TYPE_CHECKING:
    from xir.device.session import Loaded, Session


def load_with(session: Session, path: Path, inputs: Sequence[Any], data: Path | None = None) -> Loaded:
    """A file on a device, with those inputs of its method that are tensors. `data` has the weights that it lacks.

    DeviceError if it names an input that there is not. RefusedError if the device does not load the file, or has
    another shape or type for an input.
    """
    program = session.load(path, data=data)
    for index in program.inputs:
        if not 0 <= index < len(inputs):
            raise DeviceError(f"{session.device}: it asks for input {index}, and the program has {len(inputs)}")
        session.give(program, index, plain_array(inputs[index]))
    return program


def agreement_on(session: Session, program: Loaded, expected: Sequence[Any]) -> Agreement:
    """Run a program on a device, and compare its outputs with PyTorch's, those that are tensors."""
    session.run(program)
    pairs = [
        (_output(session, program, index), number_array(want))
        for index, want in enumerate(expected)
        if hasattr(want, "dtype")
    ]
    return compared([got for got, _ in pairs], [want for _, want in pairs])


def _output(session: Session, program: Loaded, index: int) -> np.ndarray:
    """An output in fp64. DeviceError if what comes is no array."""
    dtype, shape, data = session.output(program, index)
    try:
        return _numbers(dtype, data).reshape(shape)
    except (TypeError, ValueError) as error:
        raise DeviceError(
            f"{session.device}: output {index} comes as {len(data)} bytes of {dtype!r:.20} in shape {shape}: "
            "use the xnn_executor_runner that belongs to this xir"
        ) from error


def _numbers(dtype: str, data: bytes) -> np.ndarray:
    """NumPy has no bfloat16, the upper half of an fp32."""
    if dtype == "bfloat16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.frombuffer(data, np.dtype(dtype)).astype(np.float64)
