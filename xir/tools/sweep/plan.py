"""The plan of a sweep: a TOML file of models, forms and processors, and the programs that these make."""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xir.cost.processors import processors
from xir.device.transports import transport
from xir.models.zoo import MODELS
from xir.tools.aot.arguments import DTYPES, parse_arguments
from xir.tools.command_line import QUANTIZE_WORDS, UsageError

FORMS = (*DTYPES, *(word for word in QUANTIZE_WORDS if word != "none"))
"""An element type, or a way to quantise."""

AXES = ("forms", "cpus", "devices")
KEYS = ("models", *AXES, "options", "seconds", "model", "device")
MODEL_KEYS = ("source", "name", *AXES, "options")
DEVICE_KEYS = ("on", "program", "xnnpack")
DEFAULTS: Mapping[str, list[str]] = {"forms": ["fp32"], "cpus": ["generic"], "devices": ["local"], "options": []}


@dataclass(frozen=True)
class Device:
    """Where files are measured."""

    name: str
    """What the table calls it."""
    on: str = "local"
    """As `--on` of `xir-tune` takes it."""
    program: Path | None = None
    """The runner for it; None for this machine's."""
    library: Path | None = None
    """The XNNPACK that it takes; None for this machine's."""


LOCAL = Device("local")


@dataclass(frozen=True)
class Task:
    """What one process does: a model in a form, compiled for each processor. Their files are measured in turn."""

    model: str
    form: str
    cpus: tuple[str, ...]
    devices: tuple[Device, ...]
    arguments: tuple[str, ...]
    """What `xir-aot` would be called with in the plan's folder to compile it, but for the processor."""

    def arguments_for(self, cpu: str) -> list[str]:
        """What `xir-aot` would be called with."""
        return [*self.arguments, f"--cpu={cpu}"]

    def file_key(self, cpu: str) -> str:
        """What the file for a processor is called: no two of a plan have one name."""
        digest = hashlib.sha256("\0".join(self.arguments_for(cpu)).encode()).hexdigest()[:6]
        return f"{safe_name(f'{self.model}_{self.form}_{Path(cpu).stem}')}-{digest}"

    def key(self, cpu: str, device: Device) -> str:
        """What the results for a processor on a device are found by."""
        return f"{self.file_key(cpu)}@{device.name}"

    @property
    def keys(self) -> list[str]:
        """Those of its results."""
        return [self.key(cpu, device) for cpu in self.cpus for device in self.devices]


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep does."""

    tasks: tuple[Task, ...]
    folder: Path
    """What its paths are relative to."""
    seconds: float
    """So long each file is measured."""

    @property
    def keys(self) -> list[str]:
        """Those of all its results."""
        return [key for task in self.tasks for key in task.keys]


def safe_name(text: str) -> str:
    """A text as a file may be called."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", text)


def read_plan(path: Path) -> SweepPlan:
    """The plan of a file, whose paths are relative to its folder.

    UsageError if it is none, OSError if it cannot be read.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        return _plan(tree, path.parent)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _plan(tree: Mapping[str, Any], folder: Path) -> SweepPlan:
    _known(tree, KEYS, "the plan")
    seconds = tree.get("seconds", 2.0)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= 3600:
        raise UsageError("seconds is a number above 0 and up to 3600: how long each file is measured")
    common = {name: _texts(tree, name) for name in DEFAULTS if name in tree}
    models: list[Mapping[str, Any]] = [{"source": source} for source in _texts(tree, "models")]
    if not isinstance(own := tree.get("model", []), list):
        raise UsageError("models with options of their own are tables [[model]]")
    for model in cast(list[Mapping[str, Any]], own):
        _known(model, MODEL_KEYS, "a model")
        models.append(model)
    if not models:
        raise UsageError("there is no model: models = ['mv2', 'net.py:net'], or a table [[model]] with a source")
    devices = {"local": LOCAL, **_devices(tree.get("device", {}), folder)}
    tasks = [task for model in models for task in _tasks({**DEFAULTS, **common, **model}, devices, folder)]
    counted = Counter(key for task in tasks for key in task.keys)
    if twice := [key for key, count in counted.items() if count > 1]:
        raise UsageError(f"{twice[0]} is there twice")
    return SweepPlan(tuple(tasks), folder, float(seconds))


def _devices(tables: Any, folder: Path) -> Mapping[str, Device]:
    """The devices that have tables [device.NAME]."""
    if not isinstance(tables, Mapping):
        raise UsageError("devices with a runner of their own are tables [device.NAME]")
    found: dict[str, Device] = {}
    for name, table in cast(Mapping[str, Any], tables).items():
        _known(table, DEVICE_KEYS, f"device.{name}")
        if not all(isinstance(each, str) for each in table.values()) or "on" not in table:
            raise UsageError(f"device.{name} has texts, on = 'ssh:host' among them")
        program, library = (folder / table[key] if key in table else None for key in ("program", "xnnpack"))
        found[name] = Device(name, table["on"], program, library)
    return found


def _tasks(model: Mapping[str, Any], devices: Mapping[str, Device], folder: Path) -> Iterable[Task]:
    """What one model makes."""
    if not isinstance(source := model.get("source"), str):
        raise UsageError("a [[model]] needs source: a model of the zoo, FILE.py:FACTORY, or FILE.pt2")
    given, name = _source(source, folder)
    if not isinstance(name := model.get("name", name), str):
        raise UsageError("a model's name is a text")
    if not (cpus := tuple(_texts(model, "cpus"))):
        raise UsageError("cpus is empty")
    where = tuple(devices.get(each) or Device(each, each) for each in _texts(model, "devices"))
    if not where:
        raise UsageError("devices is empty")
    for device in where:
        try:
            transport(device.on, device.program, device.library)
        except ValueError as error:
            raise UsageError(f"devices: {error}") from error
    for cpu in cpus:
        try:
            processors(str(folder / cpu) if cpu.endswith(".toml") else cpu)
        except ValueError as error:
            raise UsageError(f"cpus: {error}") from error
    for form in _texts(model, "forms"):
        task = Task(name, form, cpus, where, (*given, *_form(form), *_texts(model, "options")))
        try:
            parse_arguments(task.arguments_for(cpus[0]))
        except UsageError as error:
            raise UsageError(f"{name}, {form}: {error}") from error
        yield task


def _source(source: str, folder: Path) -> tuple[tuple[str, str], str]:
    """The arguments that name a model, and what tables call it."""
    if source in MODELS:
        return ("--model_name", source), source
    if source.endswith(".pt2"):
        if not (folder / source).is_file():
            raise UsageError(f"there is no file '{folder / source}'")
        return ("--pt2", source), Path(source).stem
    file, colon, function = source.rpartition(":")
    if not colon:
        raise UsageError(f"'{source}' is no model of the zoo{_near(source, MODELS)}; others are FILE.py:FACTORY")
    if not (folder / file).is_file():
        raise UsageError(f"there is no file '{folder / file}'")
    return ("--model", source), function


def _form(form: str) -> list[str]:
    """The arguments of a form; none for fp32, which models are."""
    if form not in FORMS:
        raise UsageError(f"'{form}' is none of the forms {', '.join(FORMS)}{_near(form, FORMS)}")
    if form in DTYPES:
        return [] if form == "fp32" else [f"--dtype={form}"]
    return [f"--quantize={form}"]


def _texts(table: Mapping[str, Any], name: str) -> Sequence[str]:
    """A list of texts, or an empty one."""
    found = table.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in cast(list[object], found)):
        raise UsageError(f"{name} is a list of texts, as {name} = ['a', 'b']")
    return cast(list[str], found)


def _known(table: object, keys: Sequence[str], what: str) -> None:
    """UsageError for a key that is unknown."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{what} is a table")
    for key in cast(Mapping[str, object], table):
        if key not in keys:
            raise UsageError(f"{what} has no '{key}'; it has {', '.join(keys)}{_near(key, keys)}")


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
