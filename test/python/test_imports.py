"""Where torch may be imported, and what starting a tool costs. Times vary between machines; module counts do not."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from reference.commands import output_of
from test_layers import MODULES, is_type_checking

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


def imports(tree: ast.AST, top_level_only: bool) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0]
        deferred = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_type_checking(node)
        if not (deferred and top_level_only):
            yield from imports(node, top_level_only)


def heavy_imports(module: str) -> set[str]:
    """What a module imports too early, or at all where it may not."""
    if module.startswith(TORCH_PLACES):
        return set()
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    return HEAVY & set(imports(tree, top_level_only=module.startswith(LAZY_TORCH_PLACES)))


def test_torch_is_imported_only_at_the_edges() -> None:
    modules = [path.relative_to(ROOT).as_posix() for path in MODULES.values()]
    assert {module: found for module in modules if (found := heavy_imports(module))} == {}


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running `code`."""
    program = f"import sys\n{code}\nprint('\\n' + ' '.join(sys.modules))"
    return set(output_of(sys.executable, "-c", program).splitlines()[-1].split())


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


def without(missing: Iterable[str], call: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A process that has none of these packages, and ends with the exit code `code` of the call."""
    program = f"import sys\nfor name in {sorted(missing)}: sys.modules[name] = None\n{call}\nsys.exit(code)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


NO_LIBRARY = """\
import os; os.environ["XIR_XNNPACK_LIBRARY"] = ""
from xir.runtime import library; library.xnnpack_paths = lambda: []
"""
AOT = "from xir.tools.xir_aot import main; aot = lambda line: main(line.split())"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (f"{NO_LIBRARY}{AOT}; code = aot('--model_name add')", "'torch' is not installed: .*xir[importer]"),
        ("from xir.tools.xir_translate import main; code = main(['--pt2-to-mlir', 'any.pt2'])",
         "'torch' is not installed: "),
        (f"{NO_LIBRARY}from xir.tools.xir_llm import main; code = main(['export', '.', '--max-seq-len', '8'])",
         ".*xir[importer,llm]"),
    ],
)  # fmt: skip
def test_a_missing_package_is_one_line(call: str, told: str, tmp_path: Path) -> None:
    """Told at once, also without XNNPACK, which an installation from sources lacks."""
    for name in ("any.pt2", "config.json"):
        (tmp_path / name).write_text("{}")
    done = without(("torch", "transformers"), call, tmp_path)
    assert done.returncode == 1
    expected = re.escape(told).replace(re.escape(".*"), ".*")
    assert re.fullmatch(rf"xir-\w+: error: {expected}.*\n", done.stderr), done.stderr


def packages_of(*extras: str) -> set[str]:
    """What extras of pyproject.toml bring, by the names that are imported."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {re.split("[=<>~ ]", each)[0] for extra in extras for each in listed[extra]}
    return {name.lower().replace("-", "_").replace("ruamel.yaml", "ruamel") for name in names}


SMALLEST = "from xir.transforms.pte.memory.exact import Lifetime, solve"


@pytest.mark.parametrize(
    ("extra", "call"),
    [
        ("importer", f"{AOT}; code = aot('--model_name linear --quantize --explore p.html')"),
        ("lsp", "import xir.lsp.server; code = 0"),
        ("solver", f"{SMALLEST}; code = solve([Lifetime(16, 0, 0)], [16], 16, 1.0).lower_bound - 16"),
        ("llm", "from xir.llm.errors import required; required('tokenizers'), required('jinja2'); code = 0"),
    ],
)
def test_an_extra_suffices(extra: str, call: str, tmp_path: Path) -> None:
    """Also for what the packages that it brings import themselves."""
    others = packages_of("importer", "llm", "lsp", "solver", "executorch", "trained") - packages_of(extra)
    others = others - {"jinja2", "pillow"} | {"scipy", "pytest", "lit"}  # the first two are torch's own
    others |= set() if extra == "solver" else {"pandas"}  # which ortools brings
    done = without(others, call, tmp_path)
    assert done.returncode == 0, done.stderr
