"""The C++ runtime (`backend_cpp/python/module.cc`), on NumPy arrays in memory order."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
KernelArgument: TypeAlias = Any
# A tensor as (shape, elements in memory order).
TensorResult: TypeAlias = tuple[tuple[int, ...], Array]
# What goes to the argument of a number.
KernelResult: TypeAlias = tuple[int, TensorResult | list[TensorResult] | int | float]
Kernel: TypeAlias = Callable[[list[KernelArgument]], Sequence[KernelResult]]
KernelFinder: TypeAlias = Callable[[str], Kernel | None]
# Tensors as (array, dtype, dimension order).
Output: TypeAlias = tuple[np.ndarray[Any, Any], int, tuple[int, ...]] | int | bool | float | str | None

class XirRuntimeError(RuntimeError): ...
class XirCancelledError(XirRuntimeError): ...
class XirMissingDataError(XirRuntimeError): ...

class Profile:
    @property
    def method(self) -> str: ...
    @property
    def duration(self) -> float: ...
    @property
    def events(self) -> list[dict[str, Any]]: ...

class State:
    @property
    def buffers(self) -> list[dict[str, Any]]: ...
    def read(self, name: str) -> Array: ...
    def write(self, name: str, array: Array) -> None: ...
    def reset(self) -> None: ...

class Method:
    @property
    def name(self) -> str: ...
    def execute(
        self,
        inputs: list[int | bool | float | tuple[Array, tuple[int, ...]] | tuple[int, tuple[int, ...], int, object]],
        *,
        profile: bool,
        max_seconds: float | None,
    ) -> tuple[list[Output], Profile | None]: ...
    def bind_output(self, index: int, array: Array | None) -> bool: ...
    def cancel(self) -> None: ...
    @property
    def state(self) -> State: ...

class Program:
    @property
    def method_names(self) -> list[str]: ...
    @property
    def threads(self) -> int: ...
    @property
    def packed_bytes(self) -> int: ...
    @property
    def packed_file(self) -> tuple[bool, bool, str]: ...
    def metadata(self, name: str) -> dict[str, Any]: ...
    def new_state(self) -> State: ...
    def load_method(self, name: str, state: State | None) -> Method: ...

def profile_table(executions: list[Profile], *, by_time: bool, width: int) -> str: ...
def profile_trace(executions: list[Profile]) -> str: ...
def profile_etdump(executions: list[Profile]) -> bytes: ...
def portable_kernels() -> list[str]: ...
def manual_seed(seed: int) -> None: ...
def open(
    path: bytes,
    *,
    threads: int,
    max_memory: int,
    max_seconds: float,
    xnnpack_paths: list[str],
    libraries: list[bytes],
    data: list[bytes],
    packed_weights: bytes,
    packed_weights_limit: int,
    fallback: KernelFinder | None,
) -> Program: ...
def from_bytes(
    buffer: Any,
    *,
    threads: int,
    max_memory: int,
    max_seconds: float,
    xnnpack_paths: list[str],
    libraries: list[bytes],
    data: list[bytes],
    packed_weights: bytes,
    packed_weights_limit: int,
    fallback: KernelFinder | None,
) -> Program: ...

# None where XNNPACK runs the graph, else (the index of the node at fault if known, why not).
def check_graph(
    flatbuffer: bytes, *, constant_bytes: int, named_data: dict[str, bytes], xnnpack_paths: list[str]
) -> tuple[int | None, str] | None: ...
