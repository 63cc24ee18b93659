"""Layers: the table of docs/architecture.md says what each part may import, and this holds it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def table() -> dict[str, set[str]]:
    """Part -> the parts that it may import, as the table under "Layers" lists them."""
    text = TABLE.split("## Layers\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^|]+)` \|([^|]*)\|$", text, re.MULTILINE)
    return {name: set(re.findall(r"`([^`]+)`", allowed)) for name, allowed in rows}


LAYERS = table()


def part_of(module: str) -> str | None:
    """The part with the longest name that a module is in; None for what has no row."""
    found = [name for name in LAYERS if module == name or (name != "xir" and module.startswith(f"{name}."))]
    return max(found, key=len, default=None)


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the compiler, and its file."""
    for folder, prefix in ((ROOT / "xir", "xir"), (ROOT / "dialects", "xir.dialects"),
                           (ROOT / "transforms", "xir.transforms")):  # fmt: skip
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if folder.name == "xir" and parts[0] in ("dialects", "transforms"):  # links to the other two folders
                continue
            yield ".".join([prefix, *(part for part in parts if part != "__init__")]), path


MODULES = dict(modules())


def imported(module: str, path: Path) -> Iterator[str]:
    """The modules of xir that a module imports, anywhere in it but for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {id(inner) for node in ast.walk(tree) if is_type_checking(node) for inner in ast.walk(node)}
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "xir")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            if base.partition(".")[0] == "xir":
                yield from (f"{base}.{alias.name}" for alias in node.names)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def reached(name: str) -> set[str]:
    """The parts that a part imports, and those that they import, and so on."""
    seen, pending = set[str](), list(LAYERS[name])
    while pending:
        other = pending.pop()
        if other not in seen:
            seen.add(other)
            pending += LAYERS.get(other, ())
    return seen


def test_the_table_is_read() -> None:
    assert LAYERS["xir.ir"] == {"xir.files", "xir.dialects.registry"}
    assert "xir.ir" in LAYERS["xir.dialects.xnnpack"]


def test_no_import_leaves_its_layer() -> None:
    assert [module for module in MODULES if part_of(module) is None] == []
    found = set[tuple[str, str]]()
    for module, path in MODULES.items():
        own = part_of(module) or ""
        parts = {part_of(name) for name in imported(module, path)}
        found |= {(module, part) for part in parts if part and part != own and part not in LAYERS[own]}
    assert sorted(found) == []


BACKENDS_OWN = ("xir.dialects.xnnpack", "xir.transforms.xnnpack", "xir.emitter.xnnpack")


KNOWS_ALL = tuple(
    f"xir.{name}"
    for name in "evaluate quantizer faults plugin report cost_report lock api tuning llm tools aot_compiler".split()
)
"""What runs programs of any dialect, and what users call."""


def test_no_general_part_reaches_a_backends() -> None:
    general = [name for name in LAYERS if not name.startswith(BACKENDS_OWN + KNOWS_ALL)]
    assert general
    assert {name: found for name in general if (found := [*filter(is_backends, reached(name))])} == {}


def is_backends(name: str) -> bool:
    return name.startswith(BACKENDS_OWN)


def test_a_layer_imports_none_that_imports_it() -> None:
    assert [name for name in LAYERS if name in reached(name)] == []


def import_graph() -> dict[str, set[str]]:
    """Module -> the modules of xir that it imports, anywhere in it but for type checking."""
    return {module: set(targets(module, path)) - {module} for module, path in MODULES.items()}


def targets(module: str, path: Path) -> Iterator[str]:
    """The modules that a module's imports load: of a package it is the package, of a name in a module that module."""
    for name in imported(module, path):
        found = name if name in MODULES else name.rpartition(".")[0]
        if found in MODULES and not (found == "xir.runtime" and name.endswith("._native")):  # an extension
            yield found


XDSLS_WAY = ("xir.dialects.xnnpack.canonicalization", "xir.dialects.xnnpack.canonicalization_patterns")
"""xDSL has a trait of an op load the op's patterns when they are asked for."""


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = import_graph()
    graph[XDSLS_WAY[0]].discard(XDSLS_WAY[1])
    TopologicalSorter(graph).prepare()  # a CycleError names them


def test_a_private_module_is_imported_from_its_own_folder() -> None:
    found = [
        (module, name)
        for module, names in import_graph().items()
        for name in names
        if (folder := private_to(name)) is not None and not f"{module}.".startswith(f"{folder}.")
    ]
    assert sorted(found) == []


def private_to(module: str) -> str | None:
    """The package whose own a module `_x` is; None for a public one."""
    parts = module.split(".")
    first = next((index for index, part in enumerate(parts) if part.startswith("_")), None)
    return None if first is None else ".".join(parts[:first])


RUNTIME = ROOT / "backend_cpp"
DECODER = RUNTIME / "src" / "program"
MIRRORS = RUNTIME / "src" / "xnnpack" / "mirrors"


def cpp_sources() -> Iterator[Path]:
    """The sources of the runtime, its Python module and its runner; tests and fuzzers write programs."""
    for folder in ("include", "src", "python", "runner"):
        yield from (path for path in sorted((RUNTIME / folder).rglob("*")) if path.suffix in (".cc", ".h", ".inc"))


def test_only_the_decoder_reads_a_program() -> None:
    reads = re.compile(r"program_generated\.h|\bprogram::")
    readers = {path for path in cpp_sources() if reads.search(path.read_text(encoding="utf-8"))}
    assert DECODER / "decode.cc" in readers
    assert [str(path.relative_to(ROOT)) for path in sorted(readers) if path.parent != DECODER] == []


def test_the_description_needs_no_flatbuffer() -> None:
    for name in ("description.h", "description.cc", "decode.h"):
        assert "_generated.h" not in (DECODER / name).read_text(encoding="utf-8")


def test_each_mirror_names_what_it_answers() -> None:
    rows = dict(
        re.findall(r"^\| `(\w+)` \| (.+?) \|", (MIRRORS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert set(rows) == {path.stem for path in MIRRORS.glob("*.h")}
    for name, answered in rows.items():
        assert re.search(r"`(src|include)/[\w/.-]+", answered), name
        assert "92a7ad501b" in (MIRRORS / f"{name}.h").read_text(encoding="utf-8"), name
