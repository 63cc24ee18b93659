"""What messages say to install is what pyproject.toml's extras bring."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from test_imports import imports
from test_layers import MODULES

from xir.tools.aot.factories import EXTRAS
from xir.tools.missing_packages import IMPORTER

ROOT = Path(__file__).parents[3]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCES = [*MODULES.values()]
COMES_WITH = {"sympy": "torch"}
"""Packages that another one always installs."""


def packages(requirements: list[str]) -> set[str]:
    """The names of requirements, as modules are written: `jinja2` for `Jinja2>=3.1`."""
    return {re.split(r"[^\w.-]", each, maxsplit=1)[0].lower().replace("-", "_") for each in requirements}


NEEDED = packages(PROJECT["dependencies"])
BROUGHT = {extra: packages(each) for extra, each in PROJECT["optional-dependencies"].items()}


def imported(path: Path) -> Iterator[str]:
    """The packages that a file imports, also where it does so in a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from imports(tree, top_level_only=False)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="required"), args=[ast.Constant(value=str(module))]):
                yield module.partition(".")[0]
            case _:
                pass


def test_each_import_is_in_a_dependency_or_an_extra() -> None:
    brought = set[str]().union(NEEDED, *BROUGHT.values(), COMES_WITH)
    used = {name: path for path in SOURCES for name in imported(path) if name not in sys.stdlib_module_names}
    assert {"torch", "tokenizers", "jinja2"} <= used.keys()
    assert not {name: path for name, path in used.items() if name.lower() not in brought | {"xir"}}


def test_each_extra_that_a_message_names_exists() -> None:
    named = dict[str, Path]()
    for path in SOURCES:
        for found in re.findall(r"xir\[([a-z,]+)\]", path.read_text(encoding="utf-8")):
            named.update(dict.fromkeys(found.split(","), path))
    assert {"importer", "llm", "lsp", "sweep", "solver"} <= named.keys()
    assert not named.keys() - BROUGHT.keys()


def test_an_extra_brings_the_package_that_is_missing() -> None:
    assert set(IMPORTER) <= BROUGHT["importer"]
    for package, extra in EXTRAS.items():
        assert package in BROUGHT[extra], f"xir[{extra}] does not bring {package}"


EXTRAS_OF = {
    "xir/lsp": ["lsp"],
    "xir/tools/sweep": ["importer", "sweep"],
    "xir/llm": ["importer", "llm"],
    "xir/importer": ["importer"],
    "xir/quantizer": ["importer"],
    "xir/models": ["importer"],
    "xir/explore": ["explore"],
    "transforms/pte/memory": ["solver"],
}


def test_the_extra_of_a_part_suffices_for_it() -> None:
    for folder, extras in EXTRAS_OF.items():
        brought = set[str]().union(NEEDED, COMES_WITH, *(BROUGHT[extra] for extra in extras))
        used = {name for path in SOURCES if path.is_relative_to(ROOT / folder) for name in imported(path)}
        assert not {name.lower() for name in used if name not in sys.stdlib_module_names} - brought - {"xir"}, folder
