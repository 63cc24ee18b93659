"""Programs whose kernels are Python's or torch's, and what these and the caller may do.

What is drawn follows from a case's number. A case fails where memory changes that nobody lent, where anything but an
error of the runtime is raised, where an execution or a load takes time or memory out of proportion, where a file calls
what it may not, and where the method does not go on afterwards, on another thread.
"""

from __future__ import annotations

import random
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from reference.cases import Failure
from reference.method_text import file_of

from xir.runtime import Runtime, XirRuntimeError, _native
from xir.runtime.fallback import is_known
from xir.runtime.library import xnnpack_paths

GUARD = 256
"""Bytes before and behind what is lent, which nobody may write to."""

MOST_MEMORY = 400 << 20
"""Bytes by which the process may grow in a case. The programs have some kilobytes."""

MOST_SECONDS = 8.0
"""For an execution that is to end after hundredths of a second, on a machine with other things to do."""

DTYPES = ("f32", "f64", "i64", "i32", "i8", "i1")
NUMPY = {"f32": "f4", "f64": "f8", "i64": "i8", "i32": "i4", "i8": "i1", "i1": "?"}


class Unspeakable(Exception):
    """An exception without text."""

    def __str__(self) -> str:
        raise ValueError("no text")


class Cruel(Exception):
    """An exception whose text is no text."""

    def __str__(self) -> str:
        return 7  # pyright: ignore[reportReturnType]


RAISED: tuple[Callable[[], BaseException], ...] = (
    lambda: ValueError("two\nlines"),
    Unspeakable,
    Cruel,
    lambda: RuntimeError("\udcff"),
    MemoryError,
    KeyboardInterrupt,
    lambda: SystemExit(3),
    StopIteration,
    lambda: XirRuntimeError("again"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
)


@dataclass
class Lent:
    """An array in the midst of memory that nobody lent."""

    array: np.ndarray[Any, Any]
    block: np.ndarray[Any, Any]
    """The bytes, with GUARD on either side."""

    @staticmethod
    def of(shape: Sequence[int], dtype: str) -> Lent:
        """Elements that are 0 or 1."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        block = np.full(size + 2 * GUARD, 0xA5, np.uint8)
        array = block[GUARD : GUARD + size].view(dtype).reshape(shape)
        array[...] = 1
        return Lent(array, block)

    def check(self) -> None:
        """Failure where somebody wrote beside the array."""
        if (self.block[:GUARD] != 0xA5).any() or (self.block[-GUARD:] != 0xA5).any():
            raise Failure("memory beside a lent array was written to")


@dataclass
class Value:
    """A value of a program's text."""

    name: str
    text: str
    shape: tuple[int, ...] = ()
    """The largest."""
    dtype: str = ""
    dynamic: bool = False
    is_tensor: bool = False


@dataclass
class Program:
    """The text of a method that calls kernels of names that the runtime does not have."""

    values: list[Value] = field(default_factory=list[Value])
    calls: list[str] = field(default_factory=list[str])
    inputs: list[Value] = field(default_factory=list[Value])
    outputs: list[Value] = field(default_factory=list[Value])
    arena: int = 0

    def add(self, text: str, **more: Any) -> Value:
        """Another value."""
        value = Value(f"%v{len(self.values)}", text, **more)
        self.values.append(value)
        return value

    def tensor(self, draw: random.Random, place: str) -> Value:
        """A tensor that is an input, planned, or a constant."""
        shape = tuple(draw.choice((0, 1, 2, 3, 4)) for _ in range(draw.randrange(4)))
        if draw.random() < 0.1:
            shape = (draw.choice((64, 1024, 65536)), *shape)
        dtype = draw.choice(DTYPES)
        sizes = "x".join([*map(str, shape), dtype])
        dynamic = place != "constant" and draw.random() < 0.5
        count = int(np.prod(shape, dtype=np.int64))
        text = f"pte.tensor tensor<{sizes}>"
        if place == "planned":
            text += f" planned <1, {self.arena}>"
            self.arena += (count * np.dtype(NUMPY[dtype]).itemsize + 127) // 64 * 64
        elif place == "constant":
            number = {"f": "1.0", "i": "1"}[dtype[0]] if dtype != "i1" else "true"
            text += f" data dense<{number}> : tensor<{sizes}>" if count else f" planned <1, {self.arena}>"
        text += " {shape_dynamism = 1 : i32}" if dynamic else ""
        value = self.add(text, shape=shape, dtype=dtype, dynamic=dynamic, is_tensor=True)
        if place == "input":
            self.inputs.append(value)
        return value

    def file(self) -> bytes:
        """The bytes."""
        body = "\n".join(f"{value.name} = {value.text}" for value in self.values)
        body += "\npte.chain {\n" + "\n".join(self.calls) + "\n}"
        return file_of(
            body,
            inputs=", ".join(value.name for value in self.inputs),
            outputs=", ".join(value.name for value in self.outputs),
            arena=self.arena + 64,
        )


def draw_program(draw: random.Random) -> Program:
    """A method of one to three calls, of anything."""
    program = Program()
    for place in ("input", "planned", *draw.choices(("input", "planned", "constant"), k=draw.randrange(4))):
        program.tensor(draw, place)
    tensors = list(program.values)
    program.add("pte.int 3")
    program.add("pte.bool true")
    program.add("pte.double 0.5 : f64")
    program.add("pte.null")
    program.add('pte.string "text"')
    program.add(f"pte.tensor_list [{', '.join(value.name for value in draw.choices(tensors, k=draw.randrange(4)))}]")
    for index in range(draw.randrange(1, 4)):
        arguments = draw.choices(program.values, k=draw.randrange(1, 6))
        program.calls.append(f'pte.kernel_call "fuzz::kernel_{index}" ({", ".join(each.name for each in arguments)})')
    program.outputs = [
        value for value in tensors if " data dense" not in value.text and draw.random() < 0.7
    ] or tensors[:1]
    return program


# --- Kernels in Python -----------------------------------------------------------------------------------------------


class Kernels:
    """The kernels of one case: as long as they are wild, they answer, raise, and call the method as drawn."""

    def __init__(self, draw: random.Random):
        self.draw = draw
        self.wild = True
        self.method: Any = None
        self.entered = False
        self.inputs: list[Any] = []

    def __call__(self, name: str) -> Any:
        if self.draw.random() < 0.03:
            raise self.draw.choice(RAISED)()
        return self.kernel

    def kernel(self, arguments: list[Any]) -> Any:
        """What a kernel does."""
        if not self.wild:
            return []
        how = self.draw.random()
        if how < 0.15:
            raise self.draw.choice(RAISED)()
        if how < 0.3:
            self.enter()
        if how > 0.95:
            return self.draw.choice((None, 7, "text", [7], [(0,)], [("a", 1)], {0: 1}, [(0, None)], [(None, None)]))
        return [self.answer(arguments) for _ in range(self.draw.randrange(4))]

    def answer(self, arguments: list[Any]) -> tuple[Any, Any]:
        """(index of an argument, its new content), which fits now and then."""
        index = self.draw.choice((*range(len(arguments)), *range(len(arguments)), -1, len(arguments), 1 << 40))
        given = arguments[index] if 0 <= index < len(arguments) else 0
        return index, self.content(given)

    def content(self, given: Any) -> Any:
        """Of an argument."""
        draw = self.draw
        if draw.random() < 0.05:
            return draw.choice((None, "text", 1 << 70, -1, 0.5, [], (), (1, 2), ((1,), None), ((-1,), np.zeros(1))))
        if isinstance(given, list):
            return [self.content(each) for each in given][: draw.choice((None, None, 1))]
        if not isinstance(given, tuple):
            return draw.choice((given, 1, True, 0.25))
        array: np.ndarray[Any, Any] = given[0]
        shape = list(array.shape)
        if shape and draw.random() < 0.6:
            # What was lent may be smaller than its bound; a result may be as large as that, or larger.
            shape[draw.randrange(len(shape))] = draw.choice((0, 1, 4, 5, 1024, 65536))
        if draw.random() < 0.1:
            shape.append(draw.choice((0, 1, 2)))
        sized = tuple(shape)
        if int(np.prod(sized, dtype=np.int64)) > 1 << 21:
            sized = (1,)
        result = np.ones(sized, array.dtype if draw.random() < 0.9 else np.float64)
        if draw.random() < 0.1:
            result = result.T
        if draw.random() < 0.1 and result.size:
            result = np.broadcast_to(result.flat[0], sized)
        if draw.random() < 0.2 and given[3] and array.size:
            result = array  # the result in its own memory
        logical = tuple(np.array(sized)[list(np.argsort(given[2]))]) if len(sized) == len(given[2]) else sized
        return tuple(int(size) for size in logical), result

    def enter(self) -> None:
        """Uses the method that runs it."""
        calls: tuple[Callable[[], Any], ...] = (
            lambda: self.method.execute([], profile=False, max_seconds=None),
            lambda: self.method.execute(self.inputs, profile=True, max_seconds=None),
            lambda: self.method.bind_output(0, None),
            lambda: self.method.bind_output(0, np.zeros(4, np.float32)),
        )
        try:
            self.draw.choice(calls)()
        except XirRuntimeError:
            return
        self.entered = True


def options_of(kernels: Kernels) -> _native.LoadOptions:
    """What the extension module wants."""
    return _native.LoadOptions(
        threads=1,
        max_memory=1 << 24,
        max_seconds=0.0,
        xnnpack_paths=xnnpack_paths(),
        libraries=[],
        data=[],
        packed_weights=b"",
        packed_weights_limit=0,
        fallback=kernels,
    )


def lend(draw: random.Random, program: Program) -> tuple[list[Any], list[Lent]]:
    """Inputs as the module takes them, of dynamic tensors often smaller ones."""
    inputs: list[Any] = []
    lent: list[Lent] = []
    for value in program.inputs:
        shape = tuple(
            draw.randrange(size + 1) if value.dynamic and draw.random() < 0.5 else size for size in value.shape
        )
        lent.append(Lent.of(shape, NUMPY[value.dtype]))
        inputs.append((lent[-1].array, shape))
    return inputs, lent


def guarded(call: Callable[[], Any], passing: tuple[type[BaseException], ...] = ()) -> bool:
    """Whether a call succeeds. Failure where it raises anything but an error of the runtime, where that has several
    lines, and where it says what C++ says of an exception that it had to catch: all kernels here are Python's.
    """
    try:
        call()
    except passing:
        return False
    except XirRuntimeError as error:
        if "\n" in str(error):
            raise Failure(f"an error has several lines: {str(error)!r}") from error
        if "an exception was thrown" in str(error):
            raise Failure(f"an exception went through C++: {error}") from error
        return False
    except Exception as error:
        raise Failure(f"a {type(error).__name__} is raised") from error
    return True


def wrong_kernels(draw: random.Random) -> None:
    """Kernels that answer anything, raise anything, and use the method that runs them."""
    program = draw_program(draw)
    kernels = Kernels(draw)
    methods: list[Any] = []
    interruptions = (KeyboardInterrupt, SystemExit)

    def load() -> None:
        loaded = _native.from_bytes(program.file(), options_of(kernels))
        loaded.metadata("forward")
        methods.append(loaded.load_method("forward", None))

    guarded(load, interruptions)
    if not methods:
        return
    kernels.method = methods[0]
    for _ in range(draw.randrange(1, 4)):
        inputs, lent = lend(draw, program)
        kernels.inputs = inputs
        profile = draw.random() < 0.2
        guarded(lambda: methods[0].execute(inputs, profile=profile, max_seconds=None), interruptions)  # noqa: B023
        for each in lent:
            each.check()
        if kernels.entered:
            raise Failure("a kernel used the method that it was run by")
    kernels.wild = False
    inputs, lent = lend(draw, program)
    goes_on(lambda: methods[0].execute(inputs, profile=False, max_seconds=None))


def goes_on(call: Callable[[], Any]) -> None:
    """That a call returns on another thread."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            guarded(call)
        except Failure as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    if thread.is_alive():
        raise Failure("another thread waits for ever")
    if failures:
        raise failures[0]


# --- Operators of torch ----------------------------------------------------------------------------------------------


@torch.library.custom_op("fuzzed::spoil", mutates_args=())
def spoil(x: torch.Tensor) -> torch.Tensor:
    """A copy, of an operand that it then writes to although its schema says that it does not."""
    copy = x.clone()
    x.fill_(7)
    return copy


OPERATORS = {
    "fuzzed::spoil": ("%c", "%o", "%o"),
    "aten::special_i0e.out": ("%x", "%o", "%o"),
    "aten::erfinv.out": ("%c", "%d", "%d"),
    "aten::eye.out": ("%n", "%o", "%o"),
    "aten::eye.m_out": ("%n", "%n", "%o", "%o"),
    "aten::tril_indices.out": ("%n", "%n", "%k", "%o", "%o"),
    "aten::linspace.out": ("%k", "%n", "%n", "%o", "%o"),
    "aten::vander.out": ("%x", "%n", "%f", "%o", "%o"),
    "aten::repeat.out": ("%x", "%l", "%o", "%o"),
    "aten::max_unpool2d.out": ("%x", "%x", "%l", "%o", "%o"),
    "aten::native_batch_norm.out": ("%x", "%e", "%e", "%c", "%c", "%t", "%h", "%h", "%o", "%o", "%o"),
    "aten::from_file": ("%s", "%e", "%n", "%o"),
    "inductor::_reinterpret_tensor": ("%x", "%l", "%l", "%k", "%o"),
    "aten::set_.source_Tensor_storage_offset": ("%x", "%x", "%n", "%l", "%l"),
    "aten::resize_": ("%x", "%l", "%e"),
    "aten::as_strided_": ("%x", "%l", "%l", "%k"),
    "aten::masked_select.out": ("%x", "%b", "%o", "%o"),
    "aten::index_put_": ("%x", "%m", "%x", "%f"),
    "aten::logspace.out": ("%k", "%k", "%n", "%h", "%o", "%o"),
    "prims::iota": ("%n", "%k", "%k", "%i", "%e", "%f", "%o"),
    "fuzz::kernel": ("%x", "%o"),
}
"""Operators that write where they should not, read what is not theirs, make what is too large; and plain ones."""

UNCHECKED = {"inductor::_reinterpret_tensor"}
"""Operators that look at none of their arguments: whoever allows them answers for what they do to the process."""

SIZES = (0, 1, 3, 4, 1 << 14, 20_000, 1 << 20)


def torch_operators(draw: random.Random) -> None:
    """A file that calls one operator of torch, which the caller may have allowed."""
    name = draw.choice(sorted(OPERATORS))
    count = draw.choice((1, 2, 4, 16))
    values = {
        "%x": f"pte.tensor tensor<{count}xf32> {{shape_dynamism = 1 : i32}}",
        "%d": "pte.tensor tensor<262144xf32> {shape_dynamism = 1 : i32}",
        "%b": "pte.tensor tensor<4xi1> planned <1, 4096>",
        "%c": f"pte.tensor tensor<{count}xf32> data dense<0.5> : tensor<{count}xf32>",
        "%o": f"pte.tensor tensor<{draw.choice((1, 4, 64))}xf32> planned <1, 0> {{shape_dynamism = 1 : i32}}",
        "%i": "pte.int 1",
        "%k": f"pte.int {draw.choice((0, 1, 2))}",
        "%n": f"pte.int {draw.choice(SIZES)}",
        "%h": "pte.double 0.5 : f64",
        "%f": "pte.bool false",
        "%t": "pte.bool true",
        "%e": "pte.null",
        "%s": 'pte.string "/etc/hostname"',
        "%l": f"pte.int_list [{', '.join(draw.choices(('%n', '%k', '%i'), k=draw.randrange(1, 4)))}]",
        "%m": "pte.optional_tensor_list (%b) present array<i1: true>",
    }
    body = "\n".join(f"{value} = {text}" for value, text in values.items())
    body += f'\npte.chain {{ pte.kernel_call "{name}" ({", ".join(OPERATORS[name])}) }}'
    file = file_of(body, inputs="%x, %d", outputs="%o", arena=8192)
    allowed = draw.choice(([], [name.partition("::")[0]], [name]))
    may = is_known(name) or bool(allowed)
    methods: list[Any] = []
    with tempfile.NamedTemporaryFile(suffix=".pte") as path:  # constants of a file are mapped, and nobody's to change
        path.write(file)
        path.flush()
        program = Runtime.get().load_program(path.name, threads=1, allow_ops=allowed, max_memory=1 << 22)
        guarded(lambda: methods.append(program.load_method()))
        if methods and not may:
            raise Failure(f"a file called '{name}', which nobody allowed")
        # What torch does to inputs that an operator is allowed to resize is the operator's to answer for.
        for _ in range(2 if methods and name not in UNCHECKED else 0):
            lent = [Lent.of((draw.randrange(count + 1),), "f4"), Lent.of((2,), "f4")]
            guarded(lambda: methods[0].execute([each.array for each in lent]))  # noqa: B023
            for each in lent:
                each.check()


# --- Names and time --------------------------------------------------------------------------------------------------

LOOP = """
  %x = pte.tensor tensor<16384xf32> planned <1, 0>
  %o = pte.tensor tensor<16384xf32> planned <1, 65536>
  %f = pte.bool false
  pte.chain {
    pte.kernel_call "aten::abs.out" (%x, %o, %o)
    pte.jump_false %f to 0 : !pte.bool
  }
"""

NAMED = """
  %x = pte.tensor tensor<4xf32> planned <1, 0>
  %s = pte.string "some text"
  %o = pte.tensor tensor<4xf32> planned <1, 64> {extra_tensor_info = #pte.extra_tensor_info<"counter", 0, 0, 0, 0>}
  pte.chain { pte.kernel_call "aten::abs.out" (%x, %o, %o) {frames = [#pte.frame<"model.py", 3, "f", "x">]} }
"""


def odd_names(draw: random.Random) -> None:
    """Bytes in names, which need not be text."""
    file = file_of(NAMED, outputs="%o, %s")
    for name in draw.sample((b"forward", b"aten::abs", b"counter", b"some text", b"model.py"), k=draw.randrange(1, 3)):
        at = file.find(name)
        if at < 0:
            continue
        broken = bytearray(name)
        for _ in range(draw.randrange(1, 3)):
            broken[draw.randrange(len(name))] = draw.choice((0xFF, 0xC0, 0xED, 0x80, 0x0A, 0x00, draw.randrange(256)))
        file = file[:at] + bytes(broken) + file[at + len(name) :]

    def use() -> None:
        program = Runtime.get().load_program(file, threads=1)
        for name in program.method_names:
            program.metadata(name)
            method = program.load_method(name)
            method.execute([], profile=True)
            method.profile().table()

    guarded(use)
    guarded(lambda: Runtime.get().load_program(file, threads=1).load_method("\udcff other"))


def endless(draw: random.Random) -> None:
    """A loop, which a limit or Ctrl-C ends."""
    method = Runtime.get().load_program(file_of(LOOP, outputs="%o", arena=262144), threads=1).load_method()
    begin = time.monotonic()
    if draw.random() < 0.5:
        guarded(lambda: method.execute([], max_seconds=0.02))
    else:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        if guarded(lambda: method.execute([]), (KeyboardInterrupt,)):
            raise Failure("an endless loop has ended")
    if (taken := time.monotonic() - begin) > MOST_SECONDS:
        raise Failure(f"an execution that was to end took {taken:.0f} seconds")


KINDS: dict[Callable[[random.Random], None], int] = {wrong_kernels: 40, torch_operators: 30, odd_names: 10, endless: 1}
"""What a case may be -> how often it is."""


def check(number: int) -> None:
    """Run a case; Failure where it shows something wrong."""
    draw = random.Random(number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    draw.choices(list(KINDS), weights=list(KINDS.values()))[0](draw)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if grown > MOST_MEMORY:
        raise Failure(f"it took {grown >> 20} MiB")
