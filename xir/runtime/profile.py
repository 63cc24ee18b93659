"""Where executions spend their time, and which parts of the model that is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from xir.files import atomic_file
from xir.runtime import _native


@dataclass(frozen=True)
class Origin:
    """A location in the model's source, from the file's debug information; "" and 0 are unknown."""

    file: str
    line: int
    """Counted from 1."""
    module: str
    """The path of the module instance, such as `features.0.1`."""
    op: str
    """The ATen operator, such as `aten::conv2d`."""
    name: str
    """Of the node in the exported graph."""


@dataclass(frozen=True)
class ProfileEvent:
    """A kernel, delegate call or operator that ran. A delegate's operators follow its call, within the call's time."""

    kind: Literal["kernel", "delegate", "operator"]
    """A call of a kernel or of a delegate, or an operator that XNNPACK ran in a delegate."""
    name: str
    """The kernel's or XNNPACK's; `delegate 0` for a call of one."""
    microkernel: str
    """The kind of microkernel that an operator runs, such as `GEMM`; "" if XNNPACK does not report it."""
    instruction: int
    """Of the method."""
    delegate: int | None
    """The delegate that is called, or that the operator is part of."""
    node: int | None
    """The node of the delegate's graph that the operator computes.

    XNNPACK fuses, drops and inserts some; None where that leaves a doubt.
    """
    start: float
    """Microseconds from the beginning of the execution."""
    duration: float
    """Microseconds. XNNPACK counts whole ones, rounded down."""
    result_bytes: int
    """The bytes of its results; for an operator at the graph's largest shapes."""
    constant_bytes: int
    """The bytes of the weights that it reads, as stored in the file."""
    origins: tuple[Origin, ...]
    """The ops of the model that it comes from: several if ops were fused, none if unknown."""


class Profile:
    """The times of one or several executions of a method. `a + b` has the executions of both."""

    def __init__(self, executions: Iterable[_native.Profile]):
        self._executions = list(executions)

    def __add__(self, other: Profile) -> Profile:
        return Profile([*self._executions, *other._executions])

    def __len__(self) -> int:
        return len(self._executions)

    def __str__(self) -> str:
        return self.table()

    @property
    def method(self) -> str:
        """The method's name."""
        return self._executions[0].method

    @property
    def durations(self) -> list[float]:
        """Microseconds of each execution by the wall clock."""
        return [execution.duration for execution in self._executions]

    @cached_property
    def executions(self) -> list[list[ProfileEvent]]:
        """The events of each execution, in order."""
        return [[_event(fields) for fields in execution.events] for execution in self._executions]

    @property
    def events(self) -> list[ProfileEvent]:
        """The events of the last execution, in order."""
        return self.executions[-1]

    def table(self, *, order: Literal["time", "ran"] = "time", width: int | None = None) -> str:
        """Readable tables: each operator with its share of the time, then totals by kind of operator and by module.

        Times are means over the executions. Lines are sorted by time, or in the order in which they `ran`, and are as
        wide as the terminal or `width` characters.
        """
        columns = width or shutil.get_terminal_size((120, 24)).columns
        return _native.profile_table(self._executions, by_time=order == "time", width=columns)

    def to_trace(self, path: str | os.PathLike[str] | None = None) -> str:
        """A trace in Chrome's JSON format, for ui.perfetto.dev; also written to `path`, if given."""
        trace = _native.profile_trace(self._executions)
        if path is not None:
            _write(path, trace.encode())
        return trace

    def to_etdump(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """An ETDump for ExecuTorch's Inspector; also written to `path`, if given."""
        etdump = _native.profile_etdump(self._executions)
        if path is not None:
            _write(path, etdump)
        return etdump


def _event(fields: dict[str, Any]) -> ProfileEvent:
    origins = tuple(Origin(*origin) for origin in fields.pop("origins"))
    return ProfileEvent(**fields, origins=origins)


def _write(path: str | os.PathLike[str], content: bytes) -> None:
    with atomic_file(os.fspath(path)) as file:
        file.write(content)
