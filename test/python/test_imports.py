"""Where torch may be imported, and what starting a tool costs. Times vary between machines; module counts do not."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TORCH_PLACES = ("xir/importer/", "xir/models/", "xir/quantizer/")
LAZY_TORCH_PLACES = ("xir/runtime/", "xir/api.py", "xir/aot_compiler.py", "xir/tools/xir_translate.py")
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


@pytest.mark.parametrize("module", modules())
def test_torch_is_imported_only_at_the_edges(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    if module.startswith(TORCH_PLACES):
        return
    found = HEAVY & set(imports(tree, top_level_only=module.startswith(LAZY_TORCH_PLACES)))
    assert not found, f"{module} imports {sorted(found)}"
