"""Running a file on a device for what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.device.errors import DeviceError
from xir.runtime.agreement import plain_array, tensor_of

if TYPE_CHECKING:
    from xir.device.session import Loaded, Session
    from xir.device.transports import Transport


def load_with(
    session: Session,
    file: bytes | Path,
    inputs: Sequence[Any],
    data: Path | None = None,
    method: str = "forward",
    threads: int = 1,
) -> Loaded:
    """A file on a device, with those inputs of its method that are tensors. `data` has the weights that it lacks.

    DeviceError if it names an input that there is not. RefusedError if the device does not load the file, or has
    another shape or type for an input.
    """
    program = session.load(file, threads, method, data)
    for index in program.inputs:
        if not 0 <= index < len(inputs):
            raise DeviceError(f"{session.device}: it asks for input {index}, and the program has {len(inputs)}")
        session.give(program, index, plain_array(inputs[index]))
    return program


def output_of(session: Session, program: Loaded, index: int) -> Any:
    """What the last run computed, as a tensor of torch's. DeviceError if what comes is no tensor."""
    dtype, shape, data = session.output(program, index)
    try:
        return tensor_of(dtype, shape, data)
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise DeviceError(
            f"{session.device}: output {index} comes as {len(data)} bytes of {dtype!r:.20} in shape {shape}: "
            "use the xnn_executor_runner that belongs to this xir"
        ) from error


def run_file(device: Transport, file: bytes, method: str, inputs: Sequence[Any], wanted: Sequence[int]) -> list[Any]:
    """The outputs of one run that are named by their numbers, which are tensors of torch's.

    DeviceError if the device is lost, refuses the file, or gives no tensors.
    """
    with device.open() as session:
        program = load_with(session, file, inputs, method=method)
        session.run(program)
        return [output_of(session, program, index) for index in wanted]
