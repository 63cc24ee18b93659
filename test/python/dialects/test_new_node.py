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

# Each source that a place of the C++ code is seen from.
CPP = (
    "src/xnnpack/define_movement.cc",
    "src/xnnpack/define_node.cc",
    "src/xnnpack/mirrors/operator_map.cc",
    "src/verify/verify_movement.cc",
    "src/verify/verify_node.cc",
    "tests/legality_test.cc",
    "fuzz/draw_movement.cc",
    "fuzz/graph_builder.cc",
)

# Of an editable installation the finder comes first, and would find the tree.
SITECUSTOMIZE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources, in a folder from which `xir` is imported by what `run` starts."""
    ignore = shutil.ignore_patterns("golden", "*.so")  # bytecode serves the copy, whose files are as old
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


def compiler(copy: Path) -> tuple[str, ...]:
    """A C++ compiler with the options that matter, and the headers of the copy's schemas.

    As in CMake flatc comes from where the headers of flatbuffers do, not from an active virtual environment.
    """
    outside = [path for path in os.environ["PATH"].split(os.pathsep) if not Path(path).is_relative_to(sys.prefix)]
    found, flatc = shutil.which("c++"), shutil.which("flatc", path=os.pathsep.join(outside))
    assert found, "a C++ compiler is needed"
    assert flatc, "flatc is needed"
    schemas = [str(copy / f"xir/schema/{name}.fbs") for name in ("program", "xnnpack", "debug", "data")]
    options = ("--cpp", "--scoped-enums", "--gen-object-api", "--reflect-names")
    subprocess.run([flatc, *options, "-o", str(copy / "generated"), *schemas], check=True)
    folders = ("backend_cpp/include", "backend_cpp/src", "backend_cpp/runner", "generated")
    return (found, "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", *(f"-I{copy / folder}" for folder in folders))


def compile_cpp(copy: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and messages of the compiler in `backend_cpp`."""
    done = subprocess.run(arguments, cwd=copy / "backend_cpp", capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_an_elementwise_node_is_a_row(copy: Path) -> None:
    """Without its row cosine is in no source; with it, `make generate` writes all that there is of it."""
    row = '    Kind("cosine", "XNNCos", 47, ("edge.cos",), "cos(x), x in radians"),\n'
    kinds = copy / "dialects/xnnpack/kinds.py"
    text, files = kinds.read_text(encoding="utf-8"), generated(copy)
    assert row in text
    kinds.write_text(text.replace(row, ""), encoding="utf-8")
    assert run(copy, *GENERATE)[0] == 0
    sources = [path for name in ("dialects", "transforms", "backend_cpp", "xir") for path in (copy / name).rglob("*.*")]
    texts = {path: path.read_bytes() for path in sources if path.is_file() and path.suffix not in (".so", ".pyc")}
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


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
def test_what_is_left_out_of_the_cpp_code_does_not_compile(copy: Path) -> None:
    """What CONTRIBUTING says of the places in C++: with none of them but `DefineFoo`, and with all of them."""
    define = "backend_cpp/src/xnnpack/define_movement.cc"
    apply(copy, "--exclude=backend_cpp/*")
    apply(copy, f"--include={define}")
    assert run(copy, *GENERATE)[0] == 0
    check = (*compiler(copy), "-fsyntax-only")
    for source, messages in {
        "src/xnnpack/define_movement.cc": ("xnn_define_fuse_dims",),
        "src/xnnpack/define_node.cc": ("DefineFuseDims",),
        "src/xnnpack/mirrors/operator_map.cc": ("kFuseDims",),
        "src/verify/verify_node.cc": ("VerifyFuseDims",),
        "tests/legality_test.cc": ("XNNFuseDims", "switch"),
        "fuzz/graph_builder.cc": ("XNNFuseDims", "switch"),
    }.items():
        status, printed = compile_cpp(copy, *check, source)
        assert status != 0, source
        assert all(message in printed for message in messages), printed

    apply(copy, f"--exclude={define}", "--include=backend_cpp/*")
    for source in CPP:
        status, printed = compile_cpp(copy, *check, source)
        assert status == 0, printed


@pytest.mark.exhaustive
def test_what_is_declared_alone_does_not_link(copy: Path) -> None:
    """`DefineFoo` and `VerifyFoo` that stand in the headers only."""
    definitions = ("backend_cpp/src/xnnpack/define_movement.cc", "backend_cpp/src/verify/verify_movement.cc")
    apply(copy, *(f"--exclude={path}" for path in definitions))
    assert run(copy, *GENERATE)[0] == 0
    sources = [name for name in CPP if Path(name).parent.name in ("xnnpack", "verify") and "operator_map" not in name]
    link = ("-fPIC", "-shared", "-Wl,-z,defs", "-o", str(copy / "nodes.so"))
    _, printed = compile_cpp(copy, *compiler(copy), *link, *sources)
    # Much of the runtime is missing, but nothing else of these files.
    for name in ("Define", "Verify"):
        assert f"undefined reference to `xir::{name}FuseDims" in printed, printed
        assert f"undefined reference to `xir::{name}StaticReshape" not in printed
