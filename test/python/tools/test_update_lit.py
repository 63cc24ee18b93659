"""`scripts/update_lit.py`: what it writes passes, can fail, is renewed, and leaves people's lines alone."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent

FUNCTIONS = """func.func @one(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {xir.out_spec = "%x"} {
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %b = xnnpack.clamp %x {output_min = 0.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    xnnpack.yield %b : tensor<4xf32>
  }
  func.return %1 : tensor<4xf32>
}

// Constants have brackets that filecheck reads.
func.func @two() -> (tensor<2x2xf32>, tensor<64xi8>) {
  %0 = edge.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %long = edge.constant dense<[LONG]> : tensor<64xi8>
  func.return %0, %long : tensor<2x2xf32>, tensor<64xi8>
}
""".replace("LONG", ", ".join(map(str, range(64))))
TEST = f"// RUN: xir-opt %s | filecheck %s\n\n{FUNCTIONS}"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """`scripts/update_lit.py` as a module."""
    spec = importlib.util.spec_from_file_location("update_lit", ROOT / "scripts/update_lit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["update_lit"] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    return module


def passes(path: Path, printed: str, *flags: str) -> bool:
    """Whether filecheck finds the lines of a test in a text."""
    command = [BIN / "filecheck", path, *flags]
    return subprocess.run(command, input=printed, capture_output=True, text=True, check=False).returncode == 0


def printed_by(path: Path, *flags: str) -> str:
    command = [BIN / "xir-opt", path, *flags]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_is_written_passes_and_can_fail(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "test.mlir"
    path.write_text(TEST)
    assert script.main([str(path)]) == 0
    written = path.read_text()
    assert [
        line for line in written.splitlines() if not line.startswith(("// CHECK", "// Written"))
    ] == TEST.splitlines()
    head = written[written.index("// Written") : written.index("func.func @one(%x")].splitlines()
    assert head[1:7] == [
        "// CHECK-LABEL: func.func @one(",
        "// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>,",
        '// CHECK-SAME:    %[[Y:.*]]: tensor<4xf32>) -> tensor<4xf32> attributes {xir.out_spec = "%x"} {',
        "// CHECK-NEXT:    %[[V0:.*]] = edge.relu(%[[X]]) : (tensor<4xf32>) -> tensor<4xf32>",
        "// CHECK-NEXT:    %[[V1:.*]] = xnnpack.subgraph(%[[V0]]) : (tensor<4xf32>) -> tensor<4xf32> {",
        "// CHECK-NEXT:    ^bb0(%[[X_0:.*]]: tensor<4xf32>):",
    ]
    assert head[7].startswith("// CHECK-NEXT:      %[[B:.*]] = xnnpack.clamp %[[X_0]] {output_min = 0.0")
    assert r"dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3" in written
    assert "edge.constant dense<{{.*}}> : tensor<64xi8>" in written

    printed = printed_by(path)
    assert passes(path, printed)
    for old, new in (
        ("relu(%x)", "relu(%y)"),
        ("2.0000", "2.5000"),
        ("return %1", "return %0"),
        ("64xi8>\n", "63xi8>\n"),
    ):
        assert old in printed
        assert not passes(path, printed.replace(old, new, 1)), old

    assert script.main(["--check", str(path)]) == 0
    assert script.main([str(path)]) == 0
    assert path.read_text() == written


def test_lines_are_renewed_when_the_output_changes(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "test.mlir"
    path.write_text(TEST)
    script.main([str(path)])
    before = path.read_text()
    path.write_text(before.replace("edge.relu(%x)", "edge.relu(%y)"))
    assert not passes(path, printed_by(path))
    assert script.main(["--check", str(path)]) == 1
    assert "is not up to date" in capsys.readouterr().err
    assert script.main([str(path)]) == 0
    assert path.read_text() == before.replace("edge.relu(%x)", "edge.relu(%y)").replace("relu(%[[X]])", "relu(%[[Y]])")


def test_lines_by_hand_stay(script: ModuleType, tmp_path: Path) -> None:
    by_hand = "// CHECK-LABEL: @one\n//       CHECK: edge.anything\n"
    path = tmp_path / "test.mlir"
    path.write_text(TEST.replace("func.func @one", f"{by_hand}func.func @one"))
    assert script.main([str(path)]) == 0
    text = path.read_text()
    assert text.startswith(f"// RUN: xir-opt %s | filecheck %s\n\n{by_hand}func.func @one")
    assert text.count("// Written by") == 1
    assert "// CHECK-LABEL: func.func @two()" in text


def test_each_prefix_and_each_part_has_its_own(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "test.mlir"
    run = "// RUN: xir-opt %s --split-input-file"
    one = (
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  func.return %x : tensor<4xf32>\n}\n"
    )
    path.write_text(f"{run} | filecheck %s\n{run} \\\n// RUN: --canonicalize | filecheck %s --check-prefix CLEAN\n"
                    f"{one}// -----\n{one.replace('4xf32', '5xf32')}")  # fmt: skip
    assert script.main([str(path)]) == 0
    first, second = path.read_text().split("// -----\n")
    assert "// CHECK-NEXT:    %[[V0:.*]] = edge.relu(%[[X]]) : (tensor<4xf32>) -> tensor<4xf32>\n" in first
    assert "// CHECK-NEXT:    %[[V0:.*]] = edge.relu(%[[X]]) : (tensor<5xf32>) -> tensor<5xf32>\n" in second
    assert "// CLEAN-NEXT:    func.return %[[X]] : tensor<4xf32>\n" in first
    assert "CLEAN-NEXT:    %[[V0" not in first
    assert passes(path, printed_by(path, "--split-input-file", "--canonicalize"), "--check-prefix=CLEAN")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f()\n", "no RUN line ends in '| filecheck'"),
        ("// RUN: xir-opt %s | filecheck %s\nfunc.fun\n", "ends with exit code 1"),
        ("// RUN: xir-opt %s | filecheck %s --check-prefixes=A,B\nfunc.func private @f()\n", "has several prefixes"),
        ("// RUN: echo 1 | filecheck %s\n// RUN: echo 2 | filecheck %s\n", "print different things; give each its own"),
    ],
)
def test_what_cannot_be_written_is_told(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "test.mlir"
    path.write_text(text)
    assert script.main([str(path)]) == 1
    assert message in capsys.readouterr().err
    assert path.read_text() == text
