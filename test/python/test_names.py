"""Names: one class of a name, identifiers in American spelling, options of one form, one set of words for a flag."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from reference.commands import output_of
from test_layers import MODULES

ROOT = Path(__file__).parents[2]

BRITISH = re.compile(
    r"(?:quanti|optimi|normali|generali|initiali|parametri|speciali|canonicali|legali|seriali|recogni|organi|summari"
    r"|minimi|maximi|vectori)s(?:e|ing|ation|able)|neighbour|colour|behaviour|centre|licence",
    re.IGNORECASE,
)

CPP_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|(?P<name>[A-Za-z_]\w*)""",
    re.DOTALL,
)
"""A comment, a text, or a name of C++."""

EXECUTORCH = {"--model_name", "--output_dir", "--test_after_export"}
"""Options of ExecuTorch's compiler, under its names."""

EXECUTORCH_RUNNER = {
    "--model_path", "--data_path", "--output_file", "--etdump_path", "--method_name", "--cpu_threads",
    "--num_executions",
}  # fmt: skip
"""The same of its runner."""


def tracked(*patterns: str) -> list[Path]:
    listed = output_of("git", "ls-files", *patterns).splitlines()
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def test_one_class_of_a_name() -> None:
    """A dialect qualifies its ops, and a model of the zoo has the modules that its paper names."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, path in MODULES.items():
        if module.startswith("xir.models."):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not node.name.endswith("Op"):
                places[node.name].append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_identifiers_are_american() -> None:
    found: set[tuple[str, str]] = set()
    for path in tracked("*.py"):
        text = path.read_text(encoding="utf-8")
        if not BRITISH.search(text):
            continue
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        names = [token.string for token in tokens if token.type == tokenize.NAME]
        found |= {(path.name, name) for name in names if BRITISH.search(name)}
    assert found == set()


def cpp_names(text: str) -> set[str]:
    """The identifiers of a C++ source."""
    return {found["name"] for found in CPP_TOKEN.finditer(text) if found["name"]}


def test_cpp_identifiers_are_american() -> None:
    paths = tracked("*.cc", "*.h", "*.inc", "*.c")
    assert len(paths) > 200
    found = {(path.name, name) for path in paths for name in cpp_names(path.read_text("utf-8")) if BRITISH.search(name)}
    assert found == set()


def test_comments_and_texts_are_no_cpp_names() -> None:
    text = (
        """int Quantise(char c = '"');  // a colour\n/* centre */ R"(licence)" "behaviour \\" neighbour" 'q' Optimise"""
    )
    assert cpp_names(text) == {"int", "Quantise", "char", "c", "Optimise"}


def test_file_names_are_american() -> None:
    """Golden files keep the name that their version gave them."""
    found = [path.name for path in tracked() if BRITISH.search(path.name) and "golden" not in path.parts]
    assert found == []


def options() -> Iterator[tuple[str, ast.Call]]:
    """Each option of the tools, and the call that adds it."""
    for path in tracked("xir/tools/*.py", "xir/tools/aot/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
                for each in node.args:
                    if isinstance(each, ast.Constant) and str(each.value).startswith("--"):
                        yield str(each.value), node


def test_options_have_dashes() -> None:
    names = {name for name, _ in options()}
    assert len(names) > 50
    assert {name for name in names if not re.fullmatch(r"--[a-z0-9]+(-[a-z0-9]+)*", name)} == EXECUTORCH


def test_options_of_the_runner_have_dashes() -> None:
    """But for those that are ExecuTorch's; both spellings are taken for the same (`runner_test.cc`)."""
    source = (ROOT / "backend_cpp" / "runner" / "arguments.cc").read_text(encoding="utf-8")
    names = set(re.findall(r"--[a-z][a-z_-]*", source[: source.index(')";')]))
    assert len(names) > 20
    assert {name for name in names if not re.fullmatch(r"--[a-z]+(-[a-z]+)*", name)} == EXECUTORCH_RUNNER


def test_quantize_takes_the_same_words() -> None:
    calls = [call for name, call in options() if name == "--quantize"]
    choices = [ast.unparse(each.value) for call in calls for each in call.keywords if each.arg == "choices"]
    assert choices == ["QUANTIZE_WORDS"] * len(calls)
    assert len(calls) == 2


def test_british_names_are_found() -> None:
    assert all(map(BRITISH.search, ("quantise", "is_dequantised", "neighbours", "Colour")))
