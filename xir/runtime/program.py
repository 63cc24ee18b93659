"""Programs and methods, in the shape that users of ExecuTorch's Python runtime know."""

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
    """What one input or output of a method is.

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
    """What one mutable buffer is."""

    name: str
    dtype: str
    """As "float32"."""
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    """The dimensions from the outermost in memory to the innermost."""


@dataclass(frozen=True)
class MethodMetadata:
    """A method's inputs and outputs, and what runs it."""

    name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    num_delegates: int
    kernel_names: tuple[str, ...]
    buffers: tuple[BufferInfo, ...] = ()
    """What it keeps from one execution to the next."""

    def num_inputs(self) -> int:
        """How many inputs `execute` takes."""
        return len(self.inputs)

    def num_outputs(self) -> int:
        """How many outputs `execute` returns."""
        return len(self.outputs)


@dataclass(frozen=True)
class PackedWeights:
    """A program's packed weights, and what became of the file that they are kept in."""

    nbytes: int
    """Bytes that all methods and instances share; 0 until a method is loaded."""
    read: bool
    """Some came from the file."""
    written: bool
    """Weights that were packed are in the file now."""
    remark: str
    """Why the file was of no use, or could not be written; mostly empty."""


class State:
    """What mutable buffers hold: caches and counters, which a program keeps from one execution to the next.

    Methods that are loaded with one state share the buffers of one name, and run one after the other.
    """

    def __init__(self, native: _native.State):
        self._native = native
        self._buffers = {info["name"]: info for info in native.buffers}

    def state_dict(self) -> dict[str, torch.Tensor]:
        """A copy of what the buffers hold, by name."""
        return {name: self._read(name, info) for name, info in self._buffers.items()}

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        """Put torch tensors or NumPy arrays into buffers; those that are not named stay as they are.

        Raises XirRuntimeError, before anything is changed, for a name that there is not, or another type or shape.
        """
        if unknown := next((name for name in values if name not in self._buffers), None):
            known = ", ".join(self._buffers) or "none"
            raise _native.XirRuntimeError(f"there is no buffer '{unknown}'; there are: {known}")
        given = {name: buffer_content(value, self._buffers[name]) for name, value in values.items()}
        for name, array in given.items():
            self._native.write(name, array)

    def reset(self) -> None:
        """Make all buffers what they were at first."""
        self._native.reset()

    def _read(self, name: str, info: dict[str, Any]) -> torch.Tensor:
        return torch_from_physical(self._native.read(name), info["dtype"], info["dim_order"])


class Method:
    """An instance of a method, with memory of its own. Calls from several threads run one after the other; threads
    that are to run at once load an instance each. They share the packed weights.
    """

    def __init__(self, native: _native.Method, info: dict[str, Any]):
        self._native = native
        self._metadata = _metadata(info)
        self._inputs = [_input(each, index) for index, each in enumerate(info["inputs"])]
        self._outputs: list[dict[str, Any]] = info["outputs"]
        self._profile: Profile | None = None

    @property
    def state(self) -> State:
        """What its mutable buffers hold. An execution that failed or was cancelled may have changed some of them."""
        return State(self._native.state)

    @property
    def metadata(self) -> MethodMetadata:
        """What the method takes and returns, and what runs it."""
        return self._metadata

    def execute(self, inputs: Sequence[Any], *, profile: bool = False, max_seconds: float | None = None) -> list[Any]:
        """Run the method and return its outputs, each in memory of its own unless memory was bound to it. With
        `profile`, `profile()` has its times.

        Inputs are the leaves of what the model takes, in the order of `torch.utils._pytree`: torch tensors, NumPy
        arrays, and the numbers, strings and None that the model was exported with. Arrays and tensors are used in place
        where they lie in memory as the method wants them. Outputs are NumPy arrays where there are tensors among the
        inputs and all of them are NumPy's, and torch tensors otherwise. `max_seconds` limits this execution, 0 for no
        limit; by default it is the program's. Raises XirRuntimeError for inputs that do not fit and where time is up,
        and XirCancelledError where `cancel` stopped it. Limits, `cancel` and Ctrl-C take effect between two
        instructions, of which a delegate is one.
        """
        if len(inputs) != len(self._inputs):
            raise _native.XirRuntimeError(
                f"method '{self._native.name}' takes {len(self._inputs)} inputs, and {len(inputs)} were given"
            )
        given = [convert(value) for convert, value in zip(self._inputs, inputs, strict=True)]
        as_numpy = are_numpy(inputs)
        outputs, profiled = self._native.execute(given, profile=profile, max_seconds=max_seconds)
        if profiled is not None:
            self._profile = Profile([profiled])
        return [_output(value, as_numpy) for value in outputs]

    def bind_output(self, index: int, out: Any) -> bool:
        """Have this and all later executions leave output `index` in the memory of `out`; None undoes it.

        `out` is a torch tensor or a NumPy array of the output's dtype and shape (the largest one where it is dynamic)
        that lies in memory in the output's dimension order. `execute` then returns a view of it. Returns whether the
        operator that computes the output writes there; otherwise each execution copies. Raises XirRuntimeError for
        memory that does not fit.
        """
        if not 0 <= index < len(self._outputs):
            raise _native.XirRuntimeError(f"output {index} of {len(self._outputs)} does not exist")
        info = self._outputs[index]
        if info["kind"] != "tensor":
            raise _native.XirRuntimeError(f"output {index} is a {info['kind']}, not a tensor")
        return self._native.bind_output(index, None if out is None else bound_output(out, info, index))

    def cancel(self) -> None:
        """Stop the execution that is under way in another thread between two instructions, or, if there is none, the
        next one. A delegate is one instruction. That execution raises XirCancelledError, and the request is done with.
        """
        self._native.cancel()

    def profile(self) -> Profile:
        """Where the last execution with `profile=True` spent its time. Raises XirRuntimeError if there was none."""
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
        """How many threads the delegates of this program use."""
        return self._native.threads

    @property
    def packed_weights(self) -> PackedWeights:
        """What is packed by now."""
        return PackedWeights(self._native.packed_bytes, *self._native.packed_file)

    def metadata(self, name: str = "forward") -> MethodMetadata:
        """What a method takes and returns, and what runs it: read from the file alone, without packing weights.

        Raises XirRuntimeError where there is no such method.
        """
        return _metadata(self._native.metadata(name))

    def new_state(self) -> State:
        """The mutable buffers of all methods, for instances to share.

        Raises XirRuntimeError where methods do not agree on where they are. xir plans them so that they do, and
        ExecuTorch with `share_mutable_buffers`.
        """
        return State(self._native.new_state())

    def load_method(self, name: str = "forward", *, state: State | None = None) -> Method:
        """Make an instance of a method: plan its memory, and pack its weights unless another instance has.

        Without a `state`, of `new_state` or of another instance of this method, it has one of its own. Raises
        XirRuntimeError where it cannot run here.
        """
        info = self._native.metadata(name)
        native = None if state is None else state._native  # pyright: ignore[reportPrivateUsage]
        try:
            return Method(self._native.load_method(name, native), info)
        except _native.XirRuntimeError as error:
            if not self._fallback.refused or "there is no kernel" not in str(error):
                raise
            refused = list(self._fallback.refused)
            namespaces = sorted({each.partition("::")[0] for each in refused})
            raise _native.XirRuntimeError(
                f"method '{name}' calls {', '.join(repr(each) for each in refused)}, which xir does not know; "
                f"a file may call what load_program(..., allow_ops={namespaces}) names, if you trust it with that"
            ) from None


class Runtime:
    """The entry point. It holds nothing: threads belong to each program."""

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

        `threads` is the number of threads that XNNPACK uses, one for each core by default. `max_memory` bounds, in
        bytes, what a method's arenas and a delegate's activations may take; the machine's memory by default.
        `libraries` are shared libraries of kernels and backends (`xir/kernel_library.h`), which are asked before the
        runtime's own, beside those that plugins have registered; such a library stays loaded in this process. `kernels`
        is the same. `data` are `.ptd` files with weights that the program names and
        does not hold; they are mapped. `packed_weights` names a file to keep packed weights in: what is there is mapped
        instead of packing weights again, and what is not is written (`Program.packed_weights`). It keeps
        `packed_weights_limit` bytes, of several programs and versions of them, and lets go of what was not used for
        longest; by default 256 MiB, or twice what the method takes that is loaded if this is more.
        `max_seconds` bounds each execution; without it there is no limit.

        Operators that the runtime has no kernel for run in torch. Of a file those are the ones that xir knows
        (`docs/reference/operators.md`), and in a program that this process compiled also what the model itself calls.
        `allow_ops` names others that the file may call: namespaces of `torch.library` as "mylib", or single operators
        as "mylib::op" and "mylib::op.overload". Such an operator has to bear what a file may hand it.

        Raises XirRuntimeError where a file is damaged or asks for what this runtime does not have, XirMissingDataError
        where weights are apart from the program, and not in `data`.
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
        options: dict[str, Any] = {
            "threads": threads or 0,
            "max_memory": max_memory or 0,
            "max_seconds": max_seconds or 0.0,
            "xnnpack_paths": xnnpack_paths(),
            "libraries": [os.fsencode(path) for path in with_registered([*libraries, *kernels])],
            "data": [os.fsencode(path) for path in data],
            "packed_weights": b"" if packed_weights is None else os.fsencode(packed_weights),
            "packed_weights_limit": packed_weights_limit or 0,
            "fallback": (fallback := Fallback(allow_ops, source)),
        }
        try:
            if isinstance(source, bytes | bytearray | memoryview):
                return Program(_native.from_bytes(source, **options), fallback)
            return Program(_native.open(os.fsencode(source), **options), fallback)
        except _native.XirMissingDataError as error:
            raise _native.XirMissingDataError(f"{error}; load_program takes .ptd files as data=[...]") from None


def manual_seed(seed: int) -> None:
    """Begin the random numbers of the runtime's own kernels (`aten::rand.out`, …) anew, for all programs.

    They are other numbers than torch's for the same seed, below 2^64. Without a seed each process has its own.
    """
    _native.manual_seed(seed)


def portable_kernels() -> frozenset[str]:
    """The kernels that the runtime has itself, in C++, by the names that programs call them by (`aten::add.out`)."""
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
