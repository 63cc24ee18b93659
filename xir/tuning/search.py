"""Which form of a convolution is the fastest in a program, where a cost profile cannot tell.

A profile's predictions are some percent off, and know neither what else is in the caches nor how nodes of a form suit
their neighbours. Forms that are predicted to take nearly the same are tried in the program itself: it is compiled with
each, and both files run in turn. What was found is a file (`xir.cost.choices`), by which the same program is compiled
again to the same bytes, without measuring anything.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean
from tempfile import TemporaryDirectory
from typing import Any

from xir.api import EdgeProgram, XnnpackPartitioner
from xir.cost.choices import Choices, ConvolutionLayer, MeasuredChoice, load_choices
from xir.cost.native import installed_xnnpack
from xir.cost.processors import processors
from xir.cost.profile import threads_text
from xir.device.execution import load_with
from xir.device.session import Loaded, Session
from xir.device.transports import Transport
from xir.dialects import xnnpack
from xir.files import atomic_file
from xir.ir.walking import ops_in
from xir.progress import counted
from xir.runtime import Method, Runtime
from xir.transforms.xnnpack.analysis.node_costs import weight_bytes
from xir.transforms.xnnpack.composed_convolutions.choosing import fastest, least_gains, worthwhile
from xir.transforms.xnnpack.composed_convolutions.forms import Form
from xir.transforms.xnnpack.schedule.winograd_conv2d import convolution_of, layer_of, predictions
from xir.tuning.machine import measurable, processor_name

CLOSE = 0.3
"""Forms that are predicted to take at most so much more than the best one are tried: its choices were 0 to 10 % off."""

LEAST_GAIN = 0.01
"""The share of the program's time that another form than the predicted one has to save."""

FEWEST_RUNS, SECONDS = 5, 1.0
"""Of a pair of files: as many runs of both as fit into the seconds, and at least so many."""

RatioOf = Callable[[Mapping[ConvolutionLayer, MeasuredChoice], Mapping[ConvolutionLayer, MeasuredChoice]], float]
"""What a program takes with some choices, of what it takes with others, which come first."""


@dataclass(frozen=True)
class Undecided:
    """A convolution with several forms that are predicted to take nearly the same."""

    layer: ConvolutionLayer
    predicted: Form
    """The one that is chosen without measuring."""
    rivals: tuple[Form, ...]
    microseconds: float
    """What all such convolutions of the program are predicted to take: where there is most to gain."""


@dataclass(frozen=True)
class Tuned:
    """What tuning came to."""

    partitioner: XnnpackPartitioner
    """The one that was given, with the choices."""
    measured: int
    """Convolutions that were measured now."""
    changed: int
    """Those of them that another form than the predicted one is faster for."""
    left: int
    """Those that there was no time for."""

    def __str__(self) -> str:
        said = f"{self.measured} convolutions measured, {self.changed} in another form than predicted"
        return f"{said}, {self.left} left for lack of time" if self.left else said


def tune(
    program: EdgeProgram,
    partitioner: XnnpackPartitioner,
    inputs: Sequence[Any],
    path: Path,
    seconds: float = 60.0,
    device: Transport | None = None,
) -> Tuned:
    """Measure the forms of a program's convolutions that a partitioner's profile cannot tell apart, on this machine or
    on a device, and add what is the fastest to the file `path`, which may not exist yet. Programs run on as many
    threads as the partitioner's forms are chosen for: on one, and on two where these count as much.

    Convolutions that the file knows are not measured again; with 0 seconds none is. One that was begun is finished.
    `inputs` are those of the method `forward`. ValueError for a partitioner without a profile, and for a file that is
    none or of another machine; OSError for one that cannot be read or written; XirRuntimeError if the program does not
    run on the inputs; DeviceError for a device that is lost.
    """
    cpus = processors(partitioner.cpu, partitioner.threads)
    if not cpus.profiles:
        raise ValueError(f"tuning measures what a cost profile leaves open, and cpu '{partitioner.cpu}' names none")
    threads = cpus.counted_threads
    if device is None:
        return _tune(program, partitioner, path, seconds, [Here(inputs, each) for each in threads])
    with device.open() as session:
        return _tune(program, partitioner, path, seconds, [There(session, inputs, each) for each in threads])


def _tune(
    program: EdgeProgram, partitioner: XnnpackPartitioner, path: Path, seconds: float, timers: Sequence[ProgramTimer]
) -> Tuned:
    timer = timers[0]
    here = replace(timer.machine(), threads=tuple(each.threads for each in timers))
    known = load_choices(path) if path.exists() else here
    if (known.processor, known.xnnpack) != (here.processor, here.xnnpack) and seconds > 0:
        raise ValueError(
            f"{path} was measured on {known.processor} with {known.xnnpack}, and {timer.name} is {here.processor} with "
            f"{here.xnnpack}: write another file, or measure nothing by 0 seconds"
        )
    if known.threads != here.threads and seconds > 0:
        raise ValueError(
            f"{path} was measured on {_listed(known.threads)}, and forms are chosen for {_listed(here.threads)}: write "
            "another file, or measure nothing by 0 seconds"
        )
    open_ones = [each for each in undecided(program, partitioner) if each.layer not in known.layers]
    with TemporaryDirectory() as folder:
        trials = Trials(program, partitioner, timers, Path(folder) / "choices.toml", here)
        found = search(open_ones, known.layers, trials.ratio, seconds)
    chosen = replace(known, layers={**known.layers, **found})
    with atomic_file(path) as file:
        file.write(chosen.text().encode("utf-8"))
    forms = {each.layer: each.predicted for each in open_ones}
    changed = sum(Form(*choice.form, choice.by_gemm) != forms[layer] for layer, choice in found.items())
    return Tuned(replace(partitioner, choices=str(path)), len(found), changed, len(open_ones) - len(found))


def undecided(program: EdgeProgram, partitioner: XnnpackPartitioner) -> list[Undecided]:
    """The convolutions of a program with several promising forms, those first that take the most."""
    direct = program.to_backend(replace(partitioner, max_error=0.0, choices=""))
    cpus = processors(partitioner.cpu, partitioner.threads)
    profiles = cpus.of_program(weight_bytes(direct.module))
    found: dict[ConvolutionLayer, Undecided] = {}
    for node in ops_in(direct.module, xnnpack.Conv2dOp):
        convolution = convolution_of(node)
        if convolution is None or not (forms := convolution.forms(partitioner.max_error)):
            continue
        found_times = predictions(node, convolution, forms, profiles, cpus.also_on_two)
        times = {form: each.weighed for form, each in found_times.items()}
        predicted = fastest(worthwhile(found_times, least_gains(cpus.profiles, cpus.is_generic)))
        close = [
            form for form in sorted(times, key=times.__getitem__) if times[form] <= (1 + CLOSE) * min(times.values())
        ]
        rivals = tuple(form for form in close if form != predicted)
        if rivals:
            layer = layer_of(node)
            before = found[layer].microseconds if layer in found else 0.0
            found[layer] = Undecided(layer, predicted, rivals, before + times[predicted])
    return sorted(found.values(), key=lambda each: -each.microseconds)


def search(
    open_ones: Sequence[Undecided],
    known: Mapping[ConvolutionLayer, MeasuredChoice],
    ratio_of: RatioOf,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[ConvolutionLayer, MeasuredChoice]:
    """The fastest form of each convolution, tried one after the other in the program with what was found so far."""
    end = clock() + seconds
    found: dict[ConvolutionLayer, MeasuredChoice] = {}
    for each in counted("Measuring forms of convolutions", open_ones):
        if clock() >= end:
            break
        best = choice_of(each.predicted)
        before = {**known, **found, each.layer: best}
        for form in each.rivals:
            rival = choice_of(form)
            ratio = ratio_of(before, {**before, each.layer: rival})
            if ratio < min(best.ratio, 1 - LEAST_GAIN):
                best = replace(rival, ratio=ratio)
        found[each.layer] = best
    return found


def choice_of(form: Form) -> MeasuredChoice:
    """A form as the file has it, not yet compared with another."""
    return MeasuredChoice((form.height, form.width), form.by_gemm, 1.0)


def _listed(threads: Sequence[int]) -> str:
    return " and ".join(map(threads_text, threads))


class ProgramTimer(ABC):
    """Where programs are measured, on so many threads."""

    name: str
    """As messages call it."""
    threads: int

    @abstractmethod
    def machine(self) -> Choices:
        """What it is, with no choices yet."""

    @abstractmethod
    def load(self, file: bytes) -> Any:
        """A program that has run twice on the inputs."""

    def unload(self, program: Any) -> None:
        """Free a program that does not go with its last reference."""
        return

    @abstractmethod
    def shortest(self, program: Any) -> float:
        """The time of a run, the shortest of a few: processor time on one thread; infinite if the clock stood still."""


class Here(ProgramTimer):
    """This machine."""

    name = "this"

    def __init__(self, inputs: Sequence[Any], threads: int = 1):
        self.inputs = inputs
        self.threads = threads

    def machine(self) -> Choices:
        return Choices(processor_name(), installed_xnnpack())

    def load(self, file: bytes) -> Method:
        method = Runtime.get().load_program(file, threads=self.threads).load_method("forward")
        for _ in range(2):
            method.execute(self.inputs)
        return method

    def shortest(self, program: Method) -> float:
        clock = time.process_time_ns if self.threads == 1 else time.perf_counter_ns
        begin = clock()
        program.execute(self.inputs)
        taken = clock() - begin
        return taken or float("inf")  # on virtual machines the clock stands still now and then


class There(ProgramTimer):
    """A device."""

    def __init__(self, session: Session, inputs: Sequence[Any], threads: int = 1):
        self.session = session
        self.inputs = inputs
        self.threads = threads
        self.name = session.device

    def machine(self) -> Choices:
        found = measurable(self.session.hello, self.session.core(), is_here=False)
        return Choices(found.processor, found.xnnpack)

    def load(self, file: bytes) -> Loaded:
        program = load_with(self.session, file, self.inputs, threads=self.threads)
        self.session.run(program, runs=2)
        return program

    def unload(self, program: Loaded) -> None:
        self.session.unload(program)

    def shortest(self, program: Loaded) -> float:
        return self.session.run(program, clock="processor" if self.threads == 1 else "wall").shortest


@dataclass
class Trials:
    """Compiles a program by choices, and runs it."""

    program: EdgeProgram
    partitioner: XnnpackPartitioner
    timers: Sequence[ProgramTimer]
    path: Path
    """Where the choices of a trial are written."""
    here: Choices
    _last: tuple[Mapping[ConvolutionLayer, MeasuredChoice], Sequence[Any]] | None = None
    """The choices that others are compared with, and the program that they make, for each timer."""

    def ratio(
        self, before: Mapping[ConvolutionLayer, MeasuredChoice], after: Mapping[ConvolutionLayer, MeasuredChoice]
    ) -> float:
        """The shortest time with `after`, of that with `before`, in turns: the geometric mean of the timers'."""
        if self._last is None or self._last[0] != before:
            if self._last is not None:
                self.unload(self._last[1])
            self._last = before, self.loaded(before)
        others = self.loaded(after)
        found = [paired(*each) for each in zip(self._last[1], others, self.timers, strict=True)]
        self.unload(others)
        return geometric_mean(found)

    def loaded(self, layers: Mapping[ConvolutionLayer, MeasuredChoice]) -> list[Any]:
        """The program by some choices, for each timer."""
        file = self.compiled(layers)
        return [timer.load(file) for timer in self.timers]

    def unload(self, programs: Sequence[Any]) -> None:
        """Free them."""
        for timer, program in zip(self.timers, programs, strict=True):
            timer.unload(program)

    def compiled(self, layers: Mapping[ConvolutionLayer, MeasuredChoice]) -> bytes:
        """The program's file by some choices."""
        self.path.write_text(replace(self.here, layers=layers).text(), encoding="utf-8")
        lowered = self.program.to_backend(replace(self.partitioner, choices=str(self.path)))
        return lowered.to_executorch(debug_info=False).buffer


def paired(before: Any, after: Any, timer: ProgramTimer) -> float:
    """The time of the shortest run of one program, of that of another, in turns."""
    shortest = [float("inf")] * 2
    end, runs = time.monotonic() + SECONDS, 0
    while runs < FEWEST_RUNS or time.monotonic() < end:
        for index, program in enumerate((before, after)):
            shortest[index] = min(shortest[index], timer.shortest(program))
        runs += 1
    return shortest[1] / shortest[0]
