"""Programs and methods, with the names of ExecuTorch's Python runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from xir.runtime import _native
from xir.runtime.convert import (
    TensorInput,
    are_numpy,
    bound_output,
    buffer_content,
    inverse,
    torch_from_physical,
)
from xir.runtime.fallback import Fallback
from xir.runtime.library import xnnpack_paths
from xir.runtime.plugin_libraries import with_registered
from xir.runtime.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a method.

    `kind` is "tensor", "int", "bool", "double", "string" or "none". The other fields are a tensor's: `dtype` such as
    "float32", `shape` (the largest one where `dynamic`), and `dim_order`, the dimensions from the outermost in memory
    to the innermost.
    """

    kind: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    dynamic: bool = False
    dim_order: tuple[int, ...] | None = None


@dataclass(frozen=True)
class BufferInfo:
    """A mutable buffer."""

    name: str
    dtype: str
    """As "float32"."""
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    """The dimensions from the outermost in memory to the innermost."""


@dataclass(frozen=True)
class MethodMetadata:
    """A method's inputs, outputs and buffers, its delegates and kernels."""

    name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    num_delegates: int
    kernel_names: tuple[str, ...]
    buffers: tuple[BufferInfo, ...] = ()
    """The buffers that it keeps from one execution to the next."""

    def num_inputs(self) -> int:
        """How many inputs `execute` takes."""
        return len(self.inputs)

    def num_outputs(self) -> int:
        """How many outputs `execute` returns."""
        return len(self.outputs)


@dataclass(frozen=True)
class PackedWeights:
    """A program's packed weights, and the state of their cache file."""

    nbytes: int
    """Bytes that all methods and instances share; 0 until a method is loaded."""
    read: bool
    """Whether some came from the file."""
    written: bool
    """Whether newly packed weights were written to the file."""
    remark: str
    """Why the file could not be used or written; usually empty."""


class State:
    """The contents of mutable buffers: caches and counters, which a program keeps from one execution to the next.

    Methods that are loaded with one state share the buffers with the same name, and run one after the other.
    """

    def __init__(self, native: _native.State):
        self._native = native
        self._buffers = {info["name"]: info for info in native.buffers}

    def state_dict(self) -> dict[str, torch.Tensor]:
        """A copy of the buffers' contents, by name."""
        return {name: self._read(name, info) for name, info in self._buffers.items()}

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        """Set buffers to torch tensors or NumPy arrays; buffers without a value keep their contents.

        Raises XirRuntimeError, before anything is changed, for an unknown name or a different type or shape.
        """
        if unknown := next((name for name in values if name not in self._buffers), None):
            known = ", ".join(repr(name)[1:-1] for name in self._buffers) or "none"
            raise _native.XirRuntimeError(f"there is no buffer {unknown!r}; there are: {known}")
        given = {name: buffer_content(value, self._buffers[name]) for name, value in values.items()}
        for name, array in given.items():
            self._native.write(name, array)

    def reset(self) -> None:
        """Reset all buffers to their initial values."""
        self._native.reset()

    def _read(self, name: str, info: dict[str, Any]) -> torch.Tensor:
        return torch_from_physical(self._native.read(name), info["dtype"], info["dim_order"])


class Method:
    """An instance of a method, with separate memory. Calls from several threads run one after the other; to run in
    several threads at once, load one instance for each thread. All instances share the packed weights.
    """

    def __init__(self, native: _native.Method, info: dict[str, Any]):
        self._native = native
        self._metadata = _metadata(info)
        self._inputs = [_input(each, index) for index, each in enumerate(info["inputs"])]
        self._outputs: list[dict[str, Any]] = info["outputs"]
        self._profile: Profile | None = None

    @property
    def state(self) -> State:
        """The contents of its mutable buffers. A failed or cancelled execution may have changed some of them."""
        return State(self._native.state)

    @property
    def metadata(self) -> MethodMetadata:
        """The method's inputs, outputs and buffers, its delegates and kernels."""
        return self._metadata

    def execute(self, inputs: Sequence[Any], *, profile: bool = False, max_seconds: float | None = None) -> list[Any]:
        """Run the method and return its outputs, each in new memory unless memory was bound to it. With `profile`, the
        times are in `profile()`.

        `inputs` are the model's inputs as a flat list, in the order of `torch.utils._pytree`: torch tensors, NumPy
        arrays, and the numbers, strings and None that the model was exported with. Arrays and tensors in the method's
        memory order are used in place. Outputs are NumPy arrays if all tensors among the inputs are NumPy arrays, and
        torch tensors otherwise. `max_seconds` limits this execution; 0 is no limit, the default is the program's limit.

        Raises XirRuntimeError for inputs that do not fit and when time is up, and XirCancelledError if `cancel` stopped
        it. Limits, `cancel` and Ctrl-C take effect between two instructions; a delegate is one instruction.
        """
        if len(inputs) != len(self._inputs):
            raise _native.XirRuntimeError(
                f"method {self._native.name!r} takes {len(self._inputs)} inputs, and {len(inputs)} were given"
            )
        given = [convert(value) for convert, value in zip(self._inputs, inputs, strict=True)]
        as_numpy = are_numpy(inputs)
        outputs, profiled = self._native.execute(given, profile=profile, max_seconds=max_seconds)
        if profiled is not None:
            self._profile = Profile([profiled])
        return [_output(value, as_numpy) for value in outputs]

    def bind_output(self, index: int, out: Any) -> bool:
        """Write output `index` to the memory of `out` in all later executions; None undoes it.

        `out` is a torch tensor or NumPy array with the output's dtype, shape (the largest if dynamic) and dimension
        order. `execute` then returns a view of it. Returns True if the operator that computes the output writes there,
        False if each execution copies. Raises XirRuntimeError for memory that does not fit.
        """
        if not 0 <= index < len(self._outputs):
            raise _native.XirRuntimeError(f"output {index} of {len(self._outputs)} does not exist")
        info = self._outputs[index]
        if info["kind"] != "tensor":
            raise _native.XirRuntimeError(f"output {index} is a {info['kind']}, not a tensor")
        return self._native.bind_output(index, None if out is None else bound_output(out, info, index))

    def cancel(self) -> None:
        """Stop the execution that runs in another thread, between two instructions, or the next one if none runs.

        A delegate is one instruction. The execution raises XirCancelledError; later ones run again.
        """
        self._native.cancel()

    def profile(self) -> Profile:
        """The times of the last execution with `profile=True`. Raises XirRuntimeError if there was none."""
        if self._profile is None:
            raise _native.XirRuntimeError("no execution was profiled: execute(inputs, profile=True) is")
        return self._profile


class Program:
    """A loaded and verified program."""

    def __init__(self, native: _native.Program, fallback: Fallback):
        self._native, self._fallback = native, fallback

    @property
    def method_names(self) -> list[str]:
        """The methods' names, in the file's order."""
        return self._native.method_names

    @property
    def threads(self) -> int:
        """The number of threads that this program's delegates use."""
        return self._native.threads

    @property
    def packed_weights(self) -> PackedWeights:
        """The state of packing."""
        return PackedWeights(self._native.packed_bytes, *self._native.packed_file)

    def metadata(self, name: str = "forward") -> MethodMetadata:
        """A method's inputs, outputs, delegates and kernels, read from the file without packing weights.

        Raises XirRuntimeError if there is no such method.
        """
        return _metadata(self._native.metadata(name))

    def new_state(self) -> State:
        """New mutable buffers for all methods, which instances can share.

        Raises XirRuntimeError if methods place them differently. xir's files place them alike, as do ExecuTorch's with
        `share_mutable_buffers`.
        """
        return State(self._native.new_state())

    def load_method(self, name: str = "forward", *, state: State | None = None) -> Method:
        """Create an instance of a method: allocate its memory, and pack its weights unless another instance has.

        `state` is from `new_state` or another instance of this method; without it, the instance has its own. Raises
        XirRuntimeError if the method cannot run here.
        """
        info = self._native.metadata(name)
        native = None if state is None else state._native  # pyright: ignore[reportPrivateUsage]
        try:
            return Method(self._native.load_method(name, native), info)
        except _native.XirRuntimeError as error:
            if not self._fallback.refused or "there is no kernel" not in str(error):
                raise
            raise UnknownKernelsError(name, list(self._fallback.refused)) from None


class UnknownKernelsError(_native.XirRuntimeError):
    """A method calls kernels that xir does not know, and that nobody has allowed."""

    def __init__(self, method: str, kernels: Sequence[str]):
        namespaces = sorted({each.partition("::")[0] for each in kernels})
        self.kernels = ", ".join(repr(each) for each in kernels)
        super().__init__(
            f"method {method!r} calls {self.kernels}, which xir does not know; "
            f"a file may call what load_program(..., allow_ops={namespaces}) names, if you trust it with that"
        )


class Runtime:
    """The entry point. It has no state: threads belong to programs."""

    @staticmethod
    @cache
    def get() -> Runtime:
        """The runtime of this process."""
        return Runtime()

    def load_program(
        self,
        source: str | os.PathLike[str] | bytes | bytearray | memoryview,
        *,
        threads: int | None = None,
        max_memory: int | None = None,
        libraries: Sequence[str | os.PathLike[str]] = (),
        kernels: Sequence[str | os.PathLike[str]] = (),
        data: Sequence[str | os.PathLike[str]] = (),
        packed_weights: str | os.PathLike[str] | None = None,
        packed_weights_limit: int | None = None,
        max_seconds: float | None = None,
        allow_ops: Sequence[str] = (),
    ) -> Program:
        """Load a program from a file, which is mapped and must not change meanwhile, or from bytes, which are copied.

        - `threads`: the number of threads, one for each core by default.
        - `max_memory`: the most bytes of a method's arenas and a delegate's activations; the machine's memory by
          default.
        - `libraries`: shared libraries of kernels and backends (`xir/kernel_library.h`), besides those that plugins
          register. They take precedence over the runtime's own, and stay loaded in this process. `kernels` is the same.
        - `data`: `.ptd` files with the program's weights, which are mapped.
        - `packed_weights`: a cache file for packed weights, which is mapped instead of packing again, or written
          (`Program.packed_weights`). It keeps `packed_weights_limit` bytes, shared by several programs and versions,
          and drops the least recently used weights; the default is 256 MiB, or twice the size that the loaded method
          needs if that is more.
        - `max_seconds`: the limit of each execution; no limit by default.
        - `allow_ops`: further operators that the file may call in torch: namespaces of `torch.library` ("mylib") or
          operators ("mylib::op", "mylib::op.overload"). Such an operator must cope with any arguments. Without it,
          operators without a kernel run in torch only if xir knows them (`docs/reference/operators.md`), or if the
          model calls them and this process compiled it.

        Raises XirRuntimeError for a damaged file, or one that needs something this runtime lacks, and
        XirMissingDataError for weights that are neither in the program nor in `data`.
        """
        if threads is not None and threads < 1:
            raise _native.XirRuntimeError(f"threads must be at least 1, not {threads}")
        if max_memory is not None and max_memory < 1:
            raise _native.XirRuntimeError(f"max_memory must be at least 1 byte, not {max_memory}")
        if packed_weights_limit is not None and packed_weights_limit < 1:
            raise _native.XirRuntimeError(f"packed_weights_limit must be at least 1 byte, not {packed_weights_limit}")
        if max_seconds is not None and not max_seconds >= 0:
            raise _native.XirRuntimeError(f"max_seconds must be at least 0, not {max_seconds}")
        if isinstance(allow_ops, str):
            raise _native.XirRuntimeError(f"allow_ops is a list of names: [{allow_ops!r}]")
        fallback = Fallback(allow_ops, source)
        options = _native.LoadOptions(
            threads=threads or 0,
            max_memory=max_memory or 0,
            max_seconds=max_seconds or 0.0,
            xnnpack_paths=xnnpack_paths(),
            libraries=[os.fsencode(path) for path in with_registered([*libraries, *kernels])],
            data=[os.fsencode(path) for path in data],
            packed_weights=b"" if packed_weights is None else os.fsencode(packed_weights),
            packed_weights_limit=packed_weights_limit or 0,
            fallback=fallback,
        )
        try:
            if isinstance(source, bytes | bytearray | memoryview):
                return Program(_native.from_bytes(source, options), fallback)
            return Program(_native.open(os.fsencode(source), options), fallback)
        except _native.XirMissingDataError as error:
            raise _native.XirMissingDataError(f"{error}; load_program takes .ptd files as data=[...]") from None


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the runtime's kernels (`aten::rand.out`, …) for all programs.

    `seed` is below 2^64. The numbers differ from torch's for the same seed. Without a seed, each process has its own.
    """
    _native.manual_seed(seed)


def portable_kernels() -> frozenset[str]:
    """The runtime's own C++ kernels, by the names under which programs call them (`aten::add.out`)."""
    return frozenset(_native.portable_kernels())


def _metadata(info: dict[str, Any]) -> MethodMetadata:
    return MethodMetadata(
        info["name"],
        tuple(_value_info(value) for value in info["inputs"]),
        tuple(_value_info(value) for value in info["outputs"]),
        info["num_delegates"],
        tuple(info["kernel_names"]),
        tuple(
            BufferInfo(each["name"], each["dtype_name"], each["shape"], each["dim_order"]) for each in info["buffers"]
        ),
    )


def _value_info(info: dict[str, Any]) -> ValueInfo:
    if info["kind"] != "tensor":
        return ValueInfo(info["kind"])
    return ValueInfo("tensor", info["dtype_name"], info["shape"], info["dynamic"], info["dim_order"])


def _input(info: dict[str, Any], index: int) -> Callable[[Any], Any]:
    """What makes of a call's input what the runtime takes. XirRuntimeError for what does not fit."""
    if info["kind"] == "tensor":
        return TensorInput(info, index)

    def checked(value: Any) -> Any:
        if isinstance(value, None | bool | int | float | str):
            return value
        raise _native.XirRuntimeError(f"input {index} is a {info['kind']}, and a {type(value).__name__} was given")

    return checked


def _output(value: Any, as_numpy: bool) -> Any:
    if not isinstance(value, tuple):
        return value
    array, number, dim_order = value
    if as_numpy:
        return array.transpose(inverse(dim_order))
    return torch_from_physical(array, number, dim_order)
