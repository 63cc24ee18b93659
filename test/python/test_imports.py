"""Where torch may be imported, and what starting a tool costs. Times vary between machines; module counts do not."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TORCH_PLACES = (
    "xir/evaluate/",
    "xir/importer/",
    "xir/llm/huggingface/",
    "xir/llm/tiny.py",
    "xir/models/",
    "xir/quantizer/",
    "xir/torch_threads.py",
)
LAZY_TORCH_PLACES = (
    "xir/runtime/",
    "xir/api.py",
    "xir/tools/aot/",
    "xir/tools/sweep/",
    "xir/tools/xir_aot.py",
    "xir/llm/export.py",
    "xir/tools/xir_translate.py",
    "xir/tools/program.py",
)
HEAVY = {"torch", "torchvision", "torchao", "executorch"}


def modules() -> list[str]:
    folders = ("xir", "dialects", "transforms")
    return sorted(
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if not (folder == "xir" and {"dialects", "transforms"} & set(path.relative_to(ROOT / "xir").parts[:1]))
    )


def imports(tree: ast.AST, top_level_only: bool) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0]
        deferred = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_type_checking(node)
        if not (deferred and top_level_only):
            yield from imports(node, top_level_only)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def heavy_imports(module: str) -> set[str]:
    """What a module imports too early, or at all where it may not."""
    if module.startswith(TORCH_PLACES):
        return set()
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    return HEAVY & set(imports(tree, top_level_only=module.startswith(LAZY_TORCH_PLACES)))


def test_torch_is_imported_only_at_the_edges() -> None:
    assert {module: found for module in modules() if (found := heavy_imports(module))} == {}


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running `code`."""
    program = f"import sys\n{code}\nprint('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_loads_only_the_standard_library() -> None:
    loaded = modules_after("from xir.tools.xir_opt import main; main(['--help'])") - modules_after("pass")
    assert {name.split(".")[0] for name in loaded} - sys.stdlib_module_names == {"xir"}


def test_xir_opt_loads_only_the_dialects_it_meets(tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text("func.func @forward() {\n  func.return\n}\n", encoding="utf-8")
    loaded = modules_after(f"from xir.tools.xir_opt import main; assert main([{str(source)!r}]) == 0")
    assert not HEAVY & {name.split(".")[0] for name in loaded}
    assert not {"xir.dialects.edge", "xir.dialects.xnnpack", "xir.dialects.pte"} & loaded
    # Together a tenth of a start: for plugins where some are installed, for bugs, and for a pass.
    assert not {"importlib.metadata", "traceback", "fractions"} & loaded


def test_torch_waits_for_the_importer() -> None:
    assert "torch" not in modules_after("import xir, xir.tools.xir_translate, xir.aot_compiler, xir.runtime")


@pytest.mark.parametrize(
    "call",
    [
        "from xir.tools.xir_aot import main; code = main(['--model_name', 'add'])",
        "from xir.tools.xir_translate import main; code = main(['--pt2-to-mlir', 'any.pt2'])",
    ],
)
def test_a_missing_torch_is_one_line(call: str, tmp_path: Path) -> None:
    (tmp_path / "any.pt2").write_bytes(b"")
    program = f"import sys; sys.modules['torch'] = None\n{call}\nsys.exit(code)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert re.fullmatch(r"xir-\w+: error: 'torch' is not installed: .*\n", done.stderr)


@pytest.mark.parametrize(
    ("call", "needed"),
    [
        ("from xir.tools.xir_aot import main; code = main(['--model_name', 'add'])", "xir[importer]"),
        ("from xir.tools.xir_llm import main; code = main(['export', '.', '--max-seq-len', '8'])", "xir[importer,llm]"),
    ],
)
def test_what_is_missing_is_told_at_once(call: str, needed: str, tmp_path: Path) -> None:
    """Also XNNPACK, which an installation from sources lacks."""
    program = (
        "import sys\nfor name in ('torch', 'transformers'): sys.modules[name] = None\n"
        "from xir.runtime import library\nlibrary.xnnpack_paths = lambda: []\n"
        f"{call}\nsys.exit(code)"
    )
    (tmp_path / "config.json").write_text("{}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} | {"XIR_XNNPACK_LIBRARY": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert needed in done.stderr


def packages_of(extras: set[str]) -> set[str]:
    """What extras of pyproject.toml bring, by the names that are imported."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {re.split("[=<>~ ]", each)[0] for extra in extras for each in listed[extra]}
    return {name.lower().replace("-", "_").replace("ruamel.yaml", "ruamel") for name in names}


AOT = "from xir.tools.xir_aot import main; aot = lambda line: main(line.split())"
SMALLEST = "from xir.transforms.pte.memory.exact import Lifetime, solve"


@pytest.mark.parametrize(
    ("extras", "call"),
    [
        ({"importer"}, f"{AOT}; code = aot('--model_name linear --quantize --explore p.html')"),
        ({"lsp"}, "import xir.lsp.server; code = 0"),
        ({"solver"}, f"{SMALLEST}; code = solve([Lifetime(16, 0, 0)], [16], 16, 1.0).lower_bound - 16"),
        ({"llm"}, "from xir.llm.errors import required; required('tokenizers'), required('jinja2'); code = 0"),
    ],
)
def test_an_extra_suffices(extras: set[str], call: str, tmp_path: Path) -> None:
    every = packages_of({"importer", "llm", "lsp", "solver", "executorch", "trained"})
    torchs_own = {"jinja2", "pillow"}
    others = every - packages_of(extras) - torchs_own | {"scipy", "pytest", "lit"}
    others |= set() if "solver" in extras else {"pandas"}  # which ortools brings
    program = f"import sys\nfor name in {sorted(others)}: sys.modules[name] = None\n{call}\nsys.exit(code)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
