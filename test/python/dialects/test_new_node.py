"""What CONTRIBUTING says of new nodes, done to a copy of the sources: a row for an elementwise one, and each place of
one with two attributes, `samples/fuse_dims.diff`; what says so when places are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from xir.runtime import _native

ROOT = Path(__file__).parents[3]
SAMPLE = Path(__file__).parent / "samples/fuse_dims.diff"
SOURCES = ("dialects", "transforms", "xir", "scripts", "test", "backend_cpp", "pyproject.toml")
GENERATED = ("xir/schema/xnnpack.fbs", "backend_cpp/src/xnnpack/*.inc", "backend_cpp/src/verify/*.inc")

GENERATE = ("scripts/generate_wire.py",)

FILES = ("dialects/test_nodes.py", "dialects/test_interfaces.py", "wire/test_signatures.py")
CHOSEN = ("-k", "fuse_dims or public or moves or forgotten")
TESTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"test/python/{path}" for path in FILES), *CHOSEN)

LIT = (
    "-c",
    "from lit.main import main; main()",
    "-q",
    "-j1",
    "test/lit/dialects/xnnpack",
    "test/lit/legalizations/target.mlir",
)

# Of an editable installation the finder comes first, and would find the tree.
SITECUSTOMIZE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources, in a folder from which `xir` is imported by what `run` starts."""
    ignore = shutil.ignore_patterns("__pycache__", "golden", "*.so")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    native = Path(_native.__file__)
    (tmp_path / "xir/runtime" / native.name).symlink_to(native)
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE)
    return tmp_path


def run(copy: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of Python in the copy."""
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def generated(folder: Path) -> dict[str, str]:
    paths = (path for pattern in GENERATED for path in folder.glob(pattern))
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def apply(copy: Path, *options: str) -> None:
    """Apply the sample; the options say to which files."""
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(copy.parent)}
    subprocess.run(["git", "apply", "-C1", *options, str(SAMPLE)], cwd=copy, env=environment, check=True)


def test_an_elementwise_node_is_a_row(copy: Path) -> None:
    """Without its row cosine is in no source; with it, `make generate` writes all that there is of it."""
    row = '    Kind("cosine", "XNNCos", 47, ("edge.cos",), "cos(x), x in radians"),\n'
    kinds = copy / "dialects/xnnpack/kinds.py"
    text, files = kinds.read_text(encoding="utf-8"), generated(copy)
    assert row in text
    kinds.write_text(text.replace(row, ""), encoding="utf-8")
    assert run(copy, *GENERATE)[0] == 0
    sources = [path for name in ("dialects", "transforms", "backend_cpp", "xir") for path in (copy / name).rglob("*.*")]
    texts = {path: path.read_bytes() for path in sources if path.is_file() and path.suffix != ".so"}
    assert [path for path, content in texts.items() if b"XNNCos" in content.replace(b"XNNCosine", b"")] == []

    kinds.write_text(text, encoding="utf-8")
    assert run(copy, *GENERATE)[0] == 0
    assert generated(copy) == files


def test_a_node_with_two_attributes(copy: Path) -> None:
    """The sample is whole: every check passes."""
    apply(copy)
    assert "wrote xir/schema/xnnpack.fbs" in run(copy, *GENERATE)[1]
    for check in (TESTS, LIT):
        status, printed = run(copy, *check)
        assert status == 0, printed


def test_what_is_left_out_is_named(copy: Path) -> None:
    """What CONTRIBUTING says of each place, as far as it takes no C++ compiler."""
    init = "dialects/xnnpack/__init__.py"
    tests = ("dialects/test_interfaces.py", "wire/test_signatures.py")
    left_out = (init, "xir/evaluate/*", "test/lit/*", "transforms/*", *(f"test/python/{path}" for path in tests))
    apply(copy, *(f"--exclude={path}" for path in left_out))
    assert run(copy, *GENERATE) == (1, f"{init}: NODE_OPS lacks FuseDimsOp\n")

    apply(copy, f"--include={init}")
    assert "node_dispatch.inc is not up to date: run `make generate`" in run(copy, *GENERATE, "--check")[1]
    assert run(copy, *GENERATE)[0] == 0
    status, printed = run(copy, *TESTS)
    assert status == 1
    for message in (
        "test/lit/dialects/xnnpack/*ops.mlir lacks xnnpack.fuse_dims",
        "test/lit/dialects/xnnpack/*invalid.mlir lacks xnnpack.fuse_dims",
        "no rule or pass builds xnnpack.FuseDimsOp",
        "xir/evaluate/nodes.py does not compute xnnpack.fuse_dims",
        "PROPERTIES of test_signatures.py gives xnnpack.fuse_dims no axes_count, axis",
        "FAILED test/python/dialects/test_interfaces.py::test_what_moves_elements",
    ):
        assert message in printed, message
