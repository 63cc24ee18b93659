"""Finding and importing plugins: what `--load-plugin` names, and the packages that declare themselves.

A plugin is a Python module that registers what it adds through the names of `xir.plugin`, when it is imported. An
installed package declares its module as an entry point of the group `xir.plugins`. Universes of xDSL
(`xdsl.universe`) take part as well: their dialects and passes can be used like xir's.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from xir.ir.plugin_bugs import remember_plugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "xir.plugins"
UNIVERSES = "xdsl.universe"
KNOWN_UNIVERSES = {"xdsl", "xir"}
"""Those of xDSL itself, whose dialects and passes are not meant for programs of tensors, and of xir."""


PLUGIN_HELP = (
    "import FILE.py or a module, which adds passes, dialects, ops or rules (docs/extending.md); repeat for more"
)


class PluginError(Exception):
    """A plugin cannot be loaded; the message is for the user."""


def load_plugin(reference: str) -> ModuleType:
    """Import the plugin that a path, `DIR/NAME.py`, or a module's dotted name stands for; at most once.

    PluginError, with what went wrong inside, if it does not import or registers what is there already.
    """
    try:
        module = _file(Path(reference).resolve()) if reference.endswith(".py") else import_module(reference)
    except (Exception, SystemExit) as error:
        raise PluginError(f"cannot load the plugin '{reference}': {_what_and_where(error)}") from error
    remember_plugin(module)
    return module


def _what_and_where(error: BaseException) -> str:
    """An error in a plugin, and the innermost of the plugin's own lines that were running."""
    from traceback import walk_tb

    what = f"{type(error).__name__}: {error}"
    own = Path(__file__).parent
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__)]
    # What is left out besides xir is the import system, whose code has no file.
    outside = [(path, line) for path, line in frames if path.is_file() and not path.is_relative_to(own)]
    if not outside:
        return what
    folder = outside[0][0].parent
    path, line = next((path, line) for path, line in reversed(outside) if path.is_relative_to(folder))
    return f"{what} ({path}:{line})"


@cache
def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    # The path is the name, since a file may be called as any module is, and as a file in another folder.
    name = str(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


named: list[str] = []
"""What `--load-plugin` named in the command line that was read last."""


def load_named_plugins(arguments: Sequence[str]) -> list[str]:
    """Load the plugins that `--load-plugin` names, before other arguments are read: the rest of the command line.

    PluginError also where the option has no value.
    """
    named.clear()
    rest: list[str] = []
    given = iter(arguments)
    for argument in given:
        name, equals, value = argument.partition("=")
        if name not in ("--load-plugin", "-load-plugin"):
            rest.append(argument)
            continue
        reference = value if equals else next(given, "")
        if not reference:
            raise PluginError("--load-plugin takes FILE.py or a module's name")
        load_plugin(reference)
        named.append(reference)
    return rest


@cache
def load_installed_plugins() -> None:
    """Import the plugins of installed packages, once. PluginError names the one that fails."""
    if not any(map(may_declare_plugins, dict.fromkeys(sys.path))):
        return
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        _load(entry)
    for entry in sorted(entry_points(group=UNIVERSES), key=lambda entry: entry.name):
        if entry.name not in KNOWN_UNIVERSES:
            _register_universe(entry)


def may_declare_plugins(folder: str) -> bool:
    """Whether a package in an entry of `sys.path` may declare a plugin; True also for an archive, which is not opened.

    `importlib.metadata` has the answer, but importing it takes ten times as long as this, at each start of a tool.
    """
    try:
        with os.scandir(folder or os.curdir) as entries:
            declared = [
                os.path.join(entry.path, "entry_points.txt")
                for entry in entries
                if entry.name.endswith((".dist-info", ".egg-info"))
                and entry.name.partition("-")[0] not in KNOWN_UNIVERSES
            ]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(map(_names_plugins, declared))


def _names_plugins(path: str) -> bool:
    """Whether the entry points in a file, if there is one, are of a group of plugins."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return GROUP in text or UNIVERSES in text


def _load(entry: EntryPoint) -> object:
    try:
        loaded = entry.load()
    except (Exception, SystemExit) as error:
        raise PluginError(f"cannot load the plugin '{entry.name}' ({entry.value}): {_what_and_where(error)}") from error
    remember_plugin(sys.modules[entry.module])
    return loaded


def _register_universe(entry: EntryPoint) -> None:
    from xdsl.universe import Universe

    from xir.dialects.registry import DIALECTS, register_dialect
    from xir.ir.foreign_passes import adapted
    from xir.transforms.pipelines import PIPELINES
    from xir.transforms.registry import PASSES, register_factory

    universe = _load(entry)
    if not isinstance(universe, Universe):
        raise PluginError(f"'{entry.value}', an entry point of {UNIVERSES}, is no xdsl.universe.Universe")
    for name, factory in universe.all_dialects.items():
        if name not in DIALECTS:
            register_dialect(name, factory)
    for name, make in universe.all_passes.items():
        if name not in PASSES and name not in PIPELINES:
            register_factory(name, adapted(make))
