"""`xir-explore` and `xir-aot --explore`: the page that they write, and what they refuse."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from explore import small_programs
from reference.tools import Tool

from xir.tools.xir_aot import main as aot
from xir.tools.xir_explore import main

TEXT = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1, %i = edge.sort(%0) {dim = 0 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  func.return %1 : tensor<4xf32>
}
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(TEXT)
    return path


def content(page: Path) -> dict[str, Any]:
    match = re.search(r'<script id="data"[^>]*>([^<]*)</script>', page.read_text("utf-8"))
    assert match is not None
    return json.loads(gzip.decompress(base64.b64decode(match[1])))


def test_passes_as_flags_and_as_a_pipeline(text: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.html", tmp_path / "other.html"
    assert main([str(text), "--delegate", "--emit", "-o", str(one)]) == 0
    assert main([str(text), "--pass-pipeline=builtin.module(delegate,emit)", "-o", str(other)]) == 0
    assert one.read_bytes() == other.read_bytes()
    made = content(one)
    assert made["title"] == "in.mlir"
    assert [stage["name"] for stage in made["stages"]][-2:] == ["lower-to-pte", "plan-memory"]
    assert {remark["severity"] for remark in made["remarks"]} == {"remark"}
    said = [remark["message"].partition(":")[0] for remark in made["remarks"]]
    assert said == ["partition-xnnpack", "plan-memory"]


def test_a_page_asks_for_nothing_and_runs_nothing_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "a&b<i>.mlir"
    path.write_text('"test.op"() {text = "</script><script>alert(1)</script>"} : () -> ()\n')
    page = tmp_path / "page.html"
    assert main([str(path), "--allow-unregistered-dialect", "-o", str(page)]) == 0
    html = page.read_text("utf-8")
    assert "<title>a&amp;b&lt;i&gt;.mlir</title>" in html
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=", html)
    assert html.count("<script") == 2


def test_a_failed_pass_leaves_a_page_that_tells_it(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text.write_text("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n"
                    "func.func @f2(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = func.call @f(%x) : "
                    "(tensor<2xf32>) -> tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}\n")  # fmt: skip
    page = tmp_path / "page.html"
    assert main([str(text), "--delegate", "--lower-to-pte", "-o", str(page)]) == 1
    error = capsys.readouterr().err
    assert error.count("error:") == 1
    assert [r["severity"] for r in content(page)["remarks"]].count("error") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("missing.mlir", "cannot open 'missing.mlir': No such file or directory"),
        ("in.mlir --profile missing.json", "cannot open 'missing.json': No such file or directory"),
        ("in.mlir --profile in.mlir", "'in.mlir' is no JSON"),
        ("in.mlir --profile list.json", "'list.json' is no trace of an execution"),
        ("in.mlir --profile other.json", "the profile is of a method 'main', the program has 'forward'"),
        ("in.mlir --delegat", "did you mean '--delegate'?"),
        ("in.mlir --cse --pass-pipeline=cse", "--pass-pipeline and pass flags exclude each other"),
        ("in.mlir --pass-pipeline=css", "unknown pass 'css'"),
        ("broken.mlir", "broken.mlir:1:"),
        ("broken.pte", "broken.pte: error:"),
        ("model.pt2", "xir-aot --pt2 model.pt2 --explore page.html"),
        ("noise.bin", "'noise.bin' is neither a .pte file nor UTF-8 text"),
        ("in.mlir -o missing/page.html", "cannot write 'missing/page.html'"),
    ],
)
@pytest.mark.usefixtures("text")
def test_what_is_wrong_is_one_line_and_leaves_no_file(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.mlir").write_text("func.func @f(")
    Path("broken.pte").write_bytes(b"\x10\0\0\0ET12" + bytes(40))
    Path("model.pt2").write_bytes(b"PK\3\4")
    Path("noise.bin").write_bytes(b"\xff\xfe\xfd\xfc" * 4)
    Path("list.json").write_text("[]")
    execution = {"ph": "X", "cat": "execution", "name": "main", "dur": 1.0, "args": {"execution": 0}}
    Path("other.json").write_text(json.dumps({"traceEvents": [execution]}))
    before = sorted(tmp_path.iterdir())
    explore = Tool(main, capsys)
    explore(arguments if "-o" in arguments else f"{arguments} -o page.html", code=1)
    assert message in explore.err
    assert explore.err.count("error:") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_xir_aot_writes_the_page_of_its_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    factory = small_programs.write_factory(tmp_path, "torch.nn.Linear(4, 4), torch.nn.ReLU()", "ones(2, 4)")
    command = ["--model", factory, "-d", "--explore", "page.html"]
    assert aot(command) == 0
    first = content(Path("page.html"))
    assert first["stages"][0]["name"] == "input"
    assert first["stages"][-1]["name"] == "plan-memory"
    trace = small_programs.trace_of(Path("net_xnnpack_fp32.pte"), [small_programs.torch.ones(2, 4)])
    assert aot([*command, "--profile", str(trace)]) == 0
    second = content(Path("page.html"))
    assert second["stages"] == first["stages"]
    assert second["profile"]["executions"] == 2
    assert aot(["--model", factory, "-d", "--profile", str(trace)]) == 0


def test_layers_of_a_quantized_program_have_their_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    factory = small_programs.write_factory(tmp_path, "torch.nn.Linear(4, 4), torch.nn.Tanh()", "rand(2, 4)")
    command = ["--model", factory, "-d", "-q", "--explore", "page.html"]
    assert aot([*command, "--quantize-report-json", "quality.json"]) == 0
    page, report = content(Path("page.html")), json.loads(Path("quality.json").read_text("utf-8"))
    measured = {layer["layer"]: layer for layer in report["layers"]}
    assert page["errors"].keys() == measured.keys() != set()
    for name, errors in page["errors"].items():
        assert errors == [measured[name][key] for key in ("own", "sqnr", "outputs")]
    named = {page["places"][place][4] for op in page["stages"][-1]["ops"] for place in op["places"]}
    assert page["errors"].keys() <= named, "nodes say which layers they come from"
    charts = page["charts"]
    assert [layer["name"] for layer in charts["layers"]] == list(measured)
    for layer in charts["layers"]:
        assert sum(layer["histogram"]) == pytest.approx(1, abs=0.01)
        assert layer["chosen"][0] <= 0 <= layer["chosen"][1]
        assert layer["reach"] >= max(map(abs, layer["range"]))
    assert [len(point["kept"]) for point in charts["curve"]][:: len(charts["curve"]) - 1] == [0, len(measured)]

    def written(errors: str) -> dict[str, Any]:
        """A file tells the layers too, if it was compiled with its debug information."""
        assert main(["net_xnnpack_q8.pte", "--errors", errors, "-o", "file.html"]) == 0
        return content(Path("file.html"))

    assert {key: written("quality.json")[key] for key in ("errors", "charts")} == {
        "errors": page["errors"], "charts": charts,
    }  # fmt: skip
    for name, changes in (("old.json", {"version": 2}), ("odd.json", {"version": 3, "curve": [{"kept": 5}]})):
        Path(name).write_text(json.dumps(report | changes), encoding="utf-8")
    assert written("old.json")["charts"] is None
    for name in ("odd.json", "factory.py"):
        capsys.readouterr()
        assert main(["net_xnnpack_q8.pte", "--errors", name, "-o", "none.html"]) == 1
    assert "xir-explore: error: 'factory.py' is no report of a quantised program" in capsys.readouterr().err
    assert not Path("none.html").exists()
