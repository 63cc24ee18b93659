"""`xir-aot`: what it prints, what it writes, and one line for what the user got wrong."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from reference.runtimes import load_stock

from xir.aot_compiler import main as as_in_executorch
from xir.runtime import Runtime
from xir.runtime.agreement import Agreement
from xir.tools.xir_aot import main
from xir.tools.xir_bisect import main as xir_bisect
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES

FACTORY = """
import torch

class Double(torch.nn.Module):
    def forward(self, x):
        return x * 2 + torch.cumsum(x, 0)

def double():
    return Double(), (torch.rand(4),)

def broken():
    return Double()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_model_of_the_zoo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model_name", "linear", "--delegate", "--output_dir", "out/here", "--print"]) == 0
    out, err = capsys.readouterr()
    assert "xnnpack.fully_connected" in out
    assert out.splitlines()[-1].startswith("out/here/linear_xnnpack_fp32.pte: ")
    assert out.splitlines()[-1].endswith(" kB, 1 delegate, nothing outside")
    assert err == ""
    assert (folder / "out/here/linear_xnnpack_fp32.pte").read_bytes()[4:8] == b"ET12"
    assert [p.name for p in (folder / "out/here").iterdir()] == ["linear_xnnpack_fp32.pte"]


@pytest.mark.parametrize(("dtype", "element"), [("fp16", "f16"), ("bf16", "bf16")])
def test_element_type(folder: Path, capsys: pytest.CaptureFixture[str], dtype: str, element: str) -> None:
    assert main(["--model_name", "linear", "--dtype", dtype, "--delegate", "--print"]) == 0
    out = capsys.readouterr().out
    assert f"x{element}>) -> tensor<" in out
    assert out.splitlines()[-1].startswith(f"linear_xnnpack_{dtype}.pte: ")
    assert out.splitlines()[-1].endswith(" kB, 1 delegate, nothing outside")
    assert (folder / f"linear_xnnpack_{dtype}.pte").is_file()


@pytest.mark.parametrize(
    ("flags", "difference", "sqnr"),
    [(["-d"], (0.0, 1e-6), (120, 200)), (["-d", "-q"], (1e-3, 0.1), (20, 60))],
    ids=["fp32", "quantised"],
)
def test_tested_after_export(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    difference: tuple[float, float],
    sqnr: tuple[float, float],
) -> None:
    assert main(["-m", "linear", *flags, "-t", "-o", "out"]) == 0
    (file,) = (folder / "out").iterdir()
    found = re.fullmatch(
        rf"out/{file.name}: outputs within (\S+) of PyTorch's largest magnitude, SQNR (\S+) dB",
        capsys.readouterr().out.splitlines()[-1],
    )
    assert found
    assert difference[0] < float(found[1]) < difference[1]
    assert sqnr[0] < float(found[2]) < sqnr[1]


def test_far_from_pytorch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["-m", "linear", "-d", "-q", "-t", "--test-sqnr"]
    assert main([*arguments, "20"]) == 0
    capsys.readouterr()
    assert main([*arguments, "90"]) == 1
    error = capsys.readouterr().err
    assert re.fullmatch(
        r"xir-aot: error: linear_xnnpack_q8.pte: outputs \d+.\d dB from PyTorch's, where 90 dB pass \(--test-sqnr\): "
        r"quantisation itself is \d+.\d dB: --quantize-report names the layers, .*\n",
        error,
    )


def test_a_quantized_file_that_is_wrong_by_itself(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the quantised program is right in PyTorch and the file is not, quantisation is not to blame."""
    monkeypatch.setattr("xir.runtime.agreement.agreement_in_torch", lambda *_: Agreement(0.0, 90.0))
    assert main(["-m", "linear", "-d", "-q", "-t", "--test-sqnr", "90"]) == 1
    assert "to find out why, run xir-bisect linear --quantize=static\n" in capsys.readouterr().err


def test_the_next_command_is_for_the_same_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.py").write_text(
        "import torch\n\n\ndef net():\n    torch.manual_seed(0)\n"
        "    layers = [torch.nn.Linear(99, 64), torch.nn.LayerNorm(64), torch.nn.Linear(64, 64), torch.nn.Softmax(1)]\n"
        "    return torch.nn.Sequential(*layers), (torch.randn(4, 99),)\n"
    )
    arguments = ["--model", "net.py:net", "-d", "--cpu", "zen4", "--dtype", "fp16", "--max-batch", "6", "-t"]
    assert main([*arguments, "--test-sqnr", "300"]) == 1
    command = shlex.split(capsys.readouterr().err.partition("to find out why, run ")[2])
    assert command[:2] == ["xir-bisect", "net.py:net"]
    assert "winograd-conv2d{cpu=zen4" in command[2]
    assert command[3:] == ["--dtype=fp16", "--max-batch=6"]
    assert xir_bisect(command[1:]) == 0
    assert re.fullmatch(r"net.py:net: \d+ passes, each computes what was before it\n", capsys.readouterr().out)


def test_an_exported_program_tested(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), "relu.pt2")
    assert main(["--pt2", "relu.pt2", "--no-delegate", "-t"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "relu_portable_fp32.pte: outputs are PyTorch's exactly"


def test_without_delegate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which ExecuTorch's name of the tool does by default."""
    assert main(["--model_name", "add", "--no-delegate", "--print"]) == 0
    out = capsys.readouterr().out
    assert "edge.add.Tensor" in out
    assert as_in_executorch(["--model_name", "add", "--print"]) == 0
    assert capsys.readouterr().out == out
    assert out.splitlines()[-1].endswith(" kB, 3 ops, none delegated")
    assert (folder / "add_portable_fp32.pte").is_file()


PLUGIN = """
from xir.dialects import edge
from xir.plugin import XirPass, XirContext, op_rewrite_pattern, register_pass, register_pipeline, rewrite_patterns
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

class Halve(RewritePattern):
    @op_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddTensorOp, rewriter: PatternRewriter):
        rewriter.replace(op, edge.SubTensorOp(self=op.self, other=op.other, alpha=op.alpha))

@register_pass
class SubtractPass(XirPass):
    '"Subtract where a program adds."'
    def apply(self, ctx, op):
        rewrite_patterns(op, [Halve()])

register_pipeline("mine", "canonicalize,subtract")
"""


@pytest.fixture
def registries() -> Iterator[None]:
    """What a plugin registers is forgotten behind the test."""
    passes, pipelines = set(PASSES), set(PIPELINES)
    yield
    for added in PASSES.keys() - passes:
        del PASSES[added]
    for added in PIPELINES.keys() - pipelines:
        del PIPELINES[added]


@pytest.mark.usefixtures("registries")
def test_passes_of_a_plugin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(PLUGIN, encoding="utf-8")
    assert main(["-m", "add", "-d", "--load-plugin=mine.py", "--passes=simplify,mine", "--print"]) == 0
    out = capsys.readouterr().out
    assert "xnnpack.binary subtract" in out
    assert "xnnpack.binary add" not in out
    assert main(["-m", "add", "--no-delegate", "--passes=simplify,mine"]) == 0
    assert "none delegated" in capsys.readouterr().out
    assert main(["-m", "add", "--passes=simplify,mien"]) == 1
    assert capsys.readouterr().err == "xir-aot: error: --passes: unknown pass 'mien', did you mean 'mine'?\n"


INVERSE = """
import torch

class Inverse(torch.nn.Module):
    def forward(self, x):
        return torch.erfinv(x) + 1

def inverse():
    return Inverse(), (torch.rand(4),)
"""


@pytest.mark.parametrize(("delegate", "form"), [("--delegate", "xnnpack"), ("--no-delegate", "portable")])
def test_kernels_that_others_lack(folder: Path, capsys: pytest.CaptureFixture[str], delegate: str, form: str) -> None:
    (folder / "mine.py").write_text(INVERSE, encoding="utf-8")
    assert main(["--model", "mine.py:inverse", delegate]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == (
        f"inverse_{form}_fp32.pte: stock ExecuTorch 1.5.1 refuses it, for it has no kernel aten::erfinv.out; "
        "xir runs it in Python only, since its native runner lacks it"
    )
    assert err == ""
    assert main(["--model", "mine.py:inverse", delegate, "--verbose"]) == 0
    said = "mine.py:6: remark: lower-to-pte: ExecuTorch 1.5.1 has no kernel aten::erfinv.out, and its runtime refuses"
    assert said in capsys.readouterr().err


def test_a_file_that_stock_runs_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(INVERSE, encoding="utf-8")
    assert main(["--model", "mine.py:inverse", "--only-stock-kernels"]) == 1
    error = (
        "mine.py:6: error: ExecuTorch 1.5.1 has no kernel aten::erfinv.out, and its runtime refuses the file: no file"
    )
    assert error in capsys.readouterr().err
    assert not list(folder.glob("*.pte"))
    assert main(["--model_name", "linear", "--only-stock-kernels"]) == 0
    assert list(folder.glob("*.pte"))


def test_what_stock_is_said_to_refuse_it_refuses(folder: Path) -> None:
    (folder / "mine.py").write_text(INVERSE, encoding="utf-8")
    assert main(["--model", "mine.py:inverse", "--no-delegate"]) == 0
    stock = load_stock((folder / "inverse_portable_fp32.pte").read_bytes())
    with pytest.raises(RuntimeError, match="0x14"):
        stock.forward([torch.rand(4)])


def test_the_latency_that_a_profile_promises(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(FACTORY, encoding="utf-8")
    compile = ["--model", "mine.py:double", "--delegate"]
    assert main(compile) == 0
    method = Runtime.get().load_program(folder / "double_xnnpack_fp32.pte").load_method()
    method.execute([torch.rand(4)], profile=True)
    method.profile().to_trace(folder / "double.json")
    capsys.readouterr()
    assert main([*compile, "--profile", "double.json"]) == 0
    events = json.loads((folder / "double.json").read_text("utf-8"))["traceEvents"]
    (took,) = [event["dur"] for event in events if event.get("cat") == "execution"]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"double_xnnpack_fp32.pte: {took / 1000:.2f} ms to expect, the mean of 1 execution in double.json"
    assert main(["--model_name", "linear", "--profile", "double.json"]) == 1
    assert "double.json: the profile is of another program" in capsys.readouterr().err
    assert main([*compile, "--profile", "none.json"]) == 1
    assert "none.json" in capsys.readouterr().err


def test_remarks_of_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(FACTORY, encoding="utf-8")
    compile = ["--model", "mine.py:double", "--delegate"]
    assert main([*compile, "--remarks-filter=.*", "--remarks-output-file=remarks.json"]) == 0
    remarks = json.loads((folder / "remarks.json").read_text("utf-8"))["remarks"]
    assert {"partition-xnnpack", "plan-memory"} <= {remark["pass"] for remark in remarks}
    (cumsum,) = [remark for remark in remarks if remark["name"] == "not-delegated"]
    assert (cumsum["kind"], cumsum["line"], cumsum["figures"]["Op"]) == ("missed", 6, "edge.cumsum")
    assert capsys.readouterr().err == ""
    assert main([*compile, "--remarks-filter-analyse=plan-memory"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "remark: [Analysis] arena | Category:plan-memory | Function=forward | " in line
    assert main([*compile, "--remarks-filter=("]) == 1
    assert capsys.readouterr().err.startswith("xir-aot: error: --remarks-filter: '(' is no regular expression")


def test_weights(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"weight": torch.zeros(3, 3), "bias": torch.zeros(3)}, folder / "zeros.pt")
    assert main(["--model_name", "linear", "--weights", "zeros.pt"]) == 0
    capsys.readouterr()
    assert main(["--model_name", "linear", "--weights", "none.pt"]) == 1
    assert capsys.readouterr().err == "xir-aot: error: none.pt: no such file\n"


def test_own_model_and_what_is_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(FACTORY, encoding="utf-8")
    assert main(["--model", "mine.py:double", "--delegate"]) == 0
    out, err = capsys.readouterr()
    first, last = out.splitlines()
    assert re.fullmatch(r"1 × edge.cumsum, \S*mine.py:6: no rule lowers it to XNNPACK", first)
    assert "1 delegate, 1 op outside the delegate" in last
    assert err == ""
    assert main(["--model", "mine.py:double", "--delegate", "--verbose"]) == 0
    out, err = capsys.readouterr()
    assert "mine.py:6: remark: partition-xnnpack: edge.cumsum not delegated" in err
    assert out.splitlines() == [last]
    assert (folder / "double_xnnpack_fp32.pte").is_file()


def test_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(FACTORY, encoding="utf-8")
    assert main(["--model", "mine.py:double", "--delegate", "--report", "--report-json", "out/report.json"]) == 0
    out, err = capsys.readouterr()
    head, row, empty, arena, *_, last = out.splitlines()
    assert arena.startswith("forward: arena: ")
    assert head == "1 × no rule lowers it to XNNPACK"
    assert row.split()[:2] == ["1", "edge.cumsum"]
    assert row.endswith("mine.py:6")
    assert empty == ""
    assert "1 delegate, 1 op outside the delegate" in last
    assert err == "", "the table has what the remarks say"
    report = json.loads((folder / "out/report.json").read_text(encoding="utf-8"))
    assert report["outside"] == 1
    assert report["ops"][0]["line"] == 6


DYNAMIC = """
import torch

class Rows(torch.nn.Module):
    def forward(self, x):
        return x.flatten(1).relu()

class Three(torch.nn.Module):
    def forward(self, x):
        return x.relu() if x.shape[0] == 3 else x

def rows():
    return Rows(), (torch.rand(1, 2, 2),)

def bounded():
    return Rows(), (torch.rand(3, 2, 2),), ({0: torch.export.Dim("rows", max=7)},)

def auto():
    return Rows(), (torch.rand(3, 2, 2),), ({0: torch.export.Dim.AUTO},)

def three():
    return Three(), (torch.rand(3, 2),), ({0: torch.export.Dim("rows", max=7)},)
"""


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [(["mine.py:bounded"], 7), (["mine.py:rows", "--max-batch", "5"], 5), (["mine.py:auto", "--max-size", "9"], 9)],
    ids=lambda a: str(a),
)
def test_dynamic_shapes(arguments: list[str], bound: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(DYNAMIC, encoding="utf-8")
    assert main(["--model", *arguments, "--delegate", "--print"]) == 0
    out, err = capsys.readouterr()
    assert f"xir.max_shape = array<i64: {bound}, 2, 2>" in out
    assert out.splitlines()[-1].endswith("1 delegate, nothing outside")
    assert " kB, " in out.splitlines()[-1]
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "mine.py:three"], "'three' does not export with these dynamic shapes: Constraints violated"),
        (["--model", "mine.py:bounded", "--max-batch", "5"], "'bounded' says itself what is dynamic"),
        (["--model", "mine.py:auto", "--max-size", "0"], "--max-size takes a number from 1 on, got 0"),
        (["--model", "mine.py:rows", "--max-batch", "1"], "--max-batch takes a number from 2 on, got 1"),
        (["--pt2", "rows.pt2", "--max-batch", "5"], "--max-batch goes with a model"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_dynamic_shapes(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.py").write_text(DYNAMIC, encoding="utf-8")
    assert main([*arguments, "--delegate"]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("xir-aot: error: ")]
    assert message in line
    assert not list(folder.glob("*.pte"))


def test_report_for_a_pipe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model_name", "linear", "--delegate", "--report", "--report-json", "-"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert [arena["bytes"] for arena in document.pop("arenas")] == [96]
    assert document == {
        "version": 1,
        "outside": 0,
        "ops": [],
        "float": 0,
        "float_ops": [],
        "composed": 0,
        "composed_ops": [],
    }
    assert err.startswith("Every op is delegated.\n")
    assert err.endswith(" kB, 1 delegate, nothing outside\n")


REFUSED = """
import torch

def refused():
    # XNNPACK interpolates in images of less than 2^24 pixels in a row.
    return torch.nn.UpsamplingBilinear2d((1, 4)), (torch.empty(1, 1, 1, 1).expand(1, 1, 1, 2**24),)
"""


def test_report_of_what_xnnpack_and_options_refuse(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(FACTORY + REFUSED, encoding="utf-8")
    flags = ["--delegate", "--report-json", "-"]

    def reasons(*arguments: str) -> list[str]:
        assert main([*arguments, *flags]) == 0
        return [op["reason"] for op in json.loads(capsys.readouterr().out)["ops"]]

    by_xnnpack = "xnnpack.static_resize_bilinear2d: XNNPACK refuses to run at these shapes: unsupported parameter"
    assert reasons("--model", "mine.py:refused") == [by_xnnpack]
    assert reasons("--model", "mine.py:refused", "--no-check") == []
    excluded = reasons("--model", "mine.py:double", "--exclude", "mul,edge.add.Tensor")
    assert excluded == ["no rule lowers it to XNNPACK", *2 * ["the option exclude names it"]]


def test_per_op(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(FACTORY, encoding="utf-8")
    assert main(["--model", "mine.py:double", "--delegate", "--per-op"]) == 0
    assert "2 delegates, 1 op outside the delegates" in capsys.readouterr().out.splitlines()[-1]


def test_exported_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.rand(2),)), folder / "relu.pt2")
    assert main(["--pt2", "relu.pt2", "--delegate"]) == 0
    assert (folder / "relu_xnnpack_fp32.pte").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model_name", "mv9"], "xir-aot: error: there is no model 'mv9': choose from "),
        ([], "xir-aot: error: one of the arguments -m/--model_name --model --pt2 is required"),
        (["--model_name", "add", "--delegat"], "xir-aot: error: unrecognized arguments: --delegat"),
        (["--pt2", "none.pt2"], "none.pt2:1: error: no such file"),
        (
            ["--pt2", "none.pt2", "--dtype", "fp16"],
            "xir-aot: error: --dtype goes with a model; an exported program has",
        ),
        (["--model_name", "add", "--dtype", "int8"], "xir-aot: error: argument --dtype: invalid choice: 'int8'"),
        (["--pt2", "none.pt2", "--weights", "w.pt"], "xir-aot: error: --weights goes with --model_name"),
        (
            ["--model_name", "add", "--no-delegate", "--report"],
            "xir-aot: error: a report says what delegates",
        ),
        (["--model_name", "add", "--no-delegate", "--cpu=x86"], "xir-aot: error: --cpu says what delegates take, and"),
        (
            ["--model_name", "add", "--no-delegate", "--per-op"],
            "xir-aot: error: --per-op says what delegates take",
        ),
        (
            ["--model_name", "add", "--delegate", "--ops", "ad"],
            "xir-aot: error: there is no op 'ad', did you mean 'edg",
        ),
        (["--model_name", "add", "--delegate", "--min-ops", "two"], "xir-aot: error: option 'min-ops' of --delegate"),
        (["--model", "mine.py"], "xir-aot: error: --model takes FILE.py:FACTORY, got 'mine.py'"),
        (["--model", "none.py:double"], "xir-aot: error: 'none.py' is no Python file"),
        (["--model", "mine.py:triple"], "xir-aot: error: 'mine.py' has no function 'triple'"),
        (
            ["--model", "mine.py:made"],
            "xir-aot: error: 'made' is a module: name a function that returns it and a tuple",
        ),
        (["--model", "mine.py:broken"], "xir-aot: error: 'broken' has to return a module and a tuple of example"),
        (["--model_name", "add", "--output_dir", "mine.py"], "xir-aot: error: "),
    ],
)
def test_errors_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (folder / "mine.py").write_text(f"{FACTORY}\nmade = torch.nn.ReLU()\n", encoding="utf-8")
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") == 1
    assert not list(folder.glob("*.pte"))


BRANCH = """
import torch

class Branch(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0: return x
        return x + 1

def branch(): return Branch(), (torch.rand(2),)
"""


def test_a_branch_on_numbers_is_told_with_its_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """torch prints the graph so far, twice; the line of the model is what is needed."""
    (folder / "mine.py").write_text(BRANCH, encoding="utf-8")
    assert main(["--model", "mine.py:branch"]) == 1
    error = capfd.readouterr().err
    assert error.startswith("xir-aot: error: 'branch' does not export: Could not guard on data-dependent expression")
    assert f"torch.where, or branch with torch.cond. (at {folder}/mine.py:6: if x.sum() > 0: return x)\n" in error
    assert error.count("\n") == 1


def test_files_that_import_other_packages(folder: Path) -> None:
    """In a process of its own: torchvision's compiled operators load beside few builds of torch."""
    imports = "import torch\nimport torchvision.models\nimport transformers\n\n"
    code = f"{imports}def net():\n    return torch.nn.ReLU().eval(), (torch.rand(2),)\n"
    (folder / "mine.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "xir.aot_compiler", "--model", "mine.py:net"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert (done.returncode, (folder / "net_portable_fp32.pte").is_file()) == (0, True), done.stderr


GATED = """
import torch

class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x, gain=1, *, mask=None, offset):
        y = self.linear(x) * gain + offset
        return y if mask is None else y * mask

def rows(): return {0: torch.export.Dim("rows", max=9)}
def given(n=3): return (torch.rand(n, 8), 2), {"offset": torch.rand(n, 8)}
def named(): return Gated(), *given()
def opened(): return Gated(), *given(), {"x": rows(), "gain": None, "offset": rows()}
def unnamed(): return Gated(), given()[0], 3, None
def batches(): return [given(), given()]
"""


def test_keyword_arguments_are_a_dict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(GATED, encoding="utf-8")
    assert main(["--model", "mine.py:unnamed"]) == 1
    assert "'unnamed' has to return its example inputs as a tuple, and keyword arguments" in capsys.readouterr().err


@pytest.mark.parametrize("factory", [["named"], ["opened"], ["named", "--max-batch", "5"]], ids=" ".join)
@pytest.mark.parametrize("quantize", [[], ["--quantize", "--calibration", "mine.py:batches"]], ids=["fp32", "int8"])
def test_keyword_arguments_and_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str], factory: list[str], quantize: list[str]
) -> None:
    (folder / "mine.py").write_text(GATED, encoding="utf-8")
    name, *options = factory
    assert main(["--model", f"mine.py:{name}", *options, *quantize, "-d", "-t"]) == 0
    *_, compiled, tested = capsys.readouterr().out.splitlines()
    assert compiled.endswith("1 delegate, nothing outside")
    assert "SQNR" in tested


LINEAR = """
import torch

def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.ReLU()), (torch.rand(2, 64),)

def batches():
    return [torch.rand(2, 64) for _ in range(3)]
"""


@pytest.mark.parametrize(
    ("mode", "name", "operator"),
    [
        ("--quantize", "q8", "quantize_per_tensor"),
        ("--quantize=dynamic", "qd8", "quantize_per_token"),
        ("--quantize=int4", "q4", "dequantize_per_channel_group"),
    ],
)
def test_quantized(folder: Path, capsys: pytest.CaptureFixture[str], mode: str, name: str, operator: str) -> None:
    (folder / "mine.py").write_text(LINEAR, encoding="utf-8")
    arguments = [
        "--model",
        "mine.py:model",
        "--no-delegate",
        mode,
        "--calibration",
        "mine.py:batches",
        "--quantize-report",
    ]
    assert main([*arguments, "--print", "--quantize-report-json", "quality.json"]) == 0
    out, err = capsys.readouterr()
    assert "error" not in err
    assert operator in out
    assert "linear (0)" in out
    assert out.splitlines()[-1].startswith(f"model_portable_{name}.pte: ")
    quality = json.loads((folder / "quality.json").read_text(encoding="utf-8"))
    assert quality["output"] > 15
    assert [layer["layer"] for layer in quality["layers"]] == ["linear"]
