"""`xir-aot`: what it prints, what it writes, and one line for what the user got wrong."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from reference.runtimes import load_stock
from reference.tools import Tool

from xir.aot_compiler import main as as_in_executorch
from xir.runtime import Runtime
from xir.runtime.agreement import Agreement
from xir.tools.xir_bisect import main as xir_bisect
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES

MODELS = """
import torch
from torch.export import Dim

class Double(torch.nn.Module):
    def forward(self, x):
        return x * 2 + torch.cumsum(x, 0)

class Inverse(torch.nn.Module):
    def forward(self, x):
        return torch.erfinv(x) + 1

class Branch(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0: return x
        return x + 1

class Rows(torch.nn.Module):
    def forward(self, x):
        return x.flatten(1).relu()

class Three(torch.nn.Module):
    def forward(self, x):
        return x.relu() if x.shape[0] == 3 else x

class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x, gain=1, *, mask=None, offset):
        y = self.linear(x) * gain + offset
        return y if mask is None else y * mask

made = torch.nn.ReLU()
def double(): return Double(), (torch.rand(4),)
def broken(): return Double()
def inverse(): return Inverse(), (torch.rand(4),)
def branch(): return Branch(), (torch.rand(2),)
# XNNPACK interpolates in images of less than 2^24 pixels in a row.
def refused(): return torch.nn.UpsamplingBilinear2d((1, 4)), (torch.empty(1, 1, 1, 1).expand(1, 1, 1, 2**24),)

def rows(): return Rows(), (torch.rand(1, 2, 2),)
def bounded(): return Rows(), (torch.rand(3, 2, 2),), ({0: Dim("rows", max=7)},)
def auto(): return Rows(), (torch.rand(3, 2, 2),), ({0: Dim.AUTO},)
def three(): return Three(), (torch.rand(3, 2),), ({0: Dim("rows", max=7)},)

def given(n=3): return (torch.rand(n, 8), 2), {"offset": torch.rand(n, 8)}
def named(): return Gated(), *given()
def opened(): return Gated(), *given(), {"x": {0: Dim("r", max=9)}, "gain": None, "offset": {0: Dim("r", max=9)}}
def unnamed(): return Gated(), given()[0], 3, None
def calls(): return [given(), given()]

def linear():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.ReLU()), (torch.rand(2, 64),)
def batches(): return [torch.rand(2, 64) for _ in range(3)]

def net():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(99, 64), torch.nn.LayerNorm(64), torch.nn.Linear(64, 64), torch.nn.Softmax(1)]
    return torch.nn.Sequential(*layers), (torch.randn(4, 99),)
"""


def at(text: str) -> str:
    """Where the one line with this text is."""
    (number,) = [number for number, line in enumerate(MODELS.split("\n"), 1) if text in line]
    return f"mine.py:{number}"


@pytest.fixture(autouse=True)
def models(folder: Path) -> None:
    (folder / "mine.py").write_text(MODELS, encoding="utf-8")


def test_model_of_the_zoo(folder: Path, aot: Tool) -> None:
    out = aot("--model_name linear --delegate --output_dir out/here --print")
    assert "xnnpack.fully_connected" in out
    assert re.fullmatch(r"out/here/linear_xnnpack_fp32.pte: .* kB, 1 delegate, nothing outside", out.splitlines()[-1])
    assert aot.err == ""
    assert (folder / "out/here/linear_xnnpack_fp32.pte").read_bytes()[4:8] == b"ET12"
    assert [p.name for p in (folder / "out/here").iterdir()] == ["linear_xnnpack_fp32.pte"]


def test_a_file_by_name(folder: Path, aot: Tool) -> None:
    out = aot("--model_name linear -o out/mine.pte")
    assert out.splitlines()[-1].startswith("out/mine.pte: ")
    assert (folder / "out/mine.pte").read_bytes()[4:8] == b"ET12"
    (folder / "folder.pte").mkdir()
    assert aot("--model_name linear -o folder.pte").startswith("folder.pte/linear_xnnpack_fp32.pte: ")


@pytest.mark.parametrize(("dtype", "element"), [("fp16", "f16"), ("bf16", "bf16")])
def test_element_type(folder: Path, aot: Tool, dtype: str, element: str) -> None:
    out = aot(f"--model_name linear --dtype {dtype} --delegate --print")
    assert f"x{element}>) -> tensor<" in out
    assert re.fullmatch(rf"linear_xnnpack_{dtype}.pte: .* kB, 1 delegate, nothing outside", out.splitlines()[-1])
    assert (folder / f"linear_xnnpack_{dtype}.pte").is_file()


@pytest.mark.parametrize(
    ("flags", "difference", "sqnr"),
    [("-d", (0.0, 1e-6), (120, 200)), ("-d -q", (1e-3, 0.1), (20, 60))],
    ids=["fp32", "quantised"],
)
def test_tested_after_export(
    folder: Path, aot: Tool, flags: str, difference: tuple[float, float], sqnr: tuple[float, float]
) -> None:
    last = aot(f"-m linear {flags} -t -o out").splitlines()[-1]
    (file,) = (folder / "out").iterdir()
    found = re.fullmatch(rf"out/{file.name}: outputs within (\S+) of PyTorch's largest magnitude, SQNR (\S+) dB", last)
    assert found
    assert difference[0] < float(found[1]) < difference[1]
    assert sqnr[0] < float(found[2]) < sqnr[1]


def test_far_from_pytorch(aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    aot("-m linear -d -q -t --test-sqnr 20")
    aot("-m linear -d -q -t --test-sqnr 90", code=1)
    assert re.fullmatch(
        r"xir-aot: error: linear_xnnpack_q8.pte: outputs \d+.\d dB from PyTorch's, where 90 dB pass \(--test-sqnr\): "
        r"quantisation itself is \d+.\d dB: --quantize-report names the layers, .*\n",
        aot.err,
    )
    # Where the quantised program is right in PyTorch and the file is not, quantisation is not to blame.
    monkeypatch.setattr("xir.runtime.agreement.agreement_in_torch", lambda *_: Agreement(0.0, 90.0))
    aot("-m linear -d -q -t --test-sqnr 90", code=1)
    assert "to find out why, run xir-bisect linear --quantize=static\n" in aot.err


def test_the_next_command_is_for_the_same_program(aot: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    aot("--model mine.py:net -d --cpu zen4 --dtype fp16 --max-batch 6 -t --test-sqnr 300", code=1)
    command = aot.err.partition("to find out why, run xir-bisect ")[2]
    assert re.fullmatch(r"mine.py:net \S*.*winograd-conv2d\{cpu=zen4.* --dtype=fp16 --max-batch=6\n", command)
    found = Tool(xir_bisect, capsys)(command)
    assert re.fullmatch(r"mine.py:net: \d+ passes, each computes what was before it\n", found)


def test_exported_program(folder: Path, aot: Tool) -> None:
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), folder / "relu.pt2")
    last = aot("--pt2 relu.pt2 --no-delegate -t").splitlines()[-1]
    assert last == "relu_portable_fp32.pte: outputs are PyTorch's exactly"
    aot("--pt2 relu.pt2 --delegate")
    assert (folder / "relu_xnnpack_fp32.pte").is_file()


def test_without_delegate(folder: Path, aot: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    """Which ExecuTorch's name of the tool does by default."""
    out = aot("--model_name add --no-delegate --print")
    assert "edge.add.Tensor" in out
    assert Tool(as_in_executorch, capsys)("--model_name add --print") == out
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
def test_passes_of_a_plugin(folder: Path, aot: Tool) -> None:
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    out = aot("-m add -d --load-plugin=plugin.py --passes=simplify,mine --print")
    assert "xnnpack.binary subtract" in out
    assert "xnnpack.binary add" not in out
    assert "none delegated" in aot("-m add --no-delegate --passes=simplify,mine")
    said = aot.refuse("-m add --passes=simplify,mien")
    assert said == "xir-aot: error: --passes: unknown pass 'mien', did you mean 'mine'?\n"


@pytest.mark.parametrize(("delegate", "form"), [("--delegate", "xnnpack"), ("--no-delegate", "portable")])
def test_kernels_that_others_lack(folder: Path, aot: Tool, delegate: str, form: str) -> None:
    """What is said of stock is so: it refuses the file."""
    assert aot(f"--model mine.py:inverse {delegate}").splitlines()[-1] == (
        f"inverse_{form}_fp32.pte: stock ExecuTorch 1.5.1 refuses it, for it has no kernel aten::erfinv.out; "
        "xir runs it in Python only, since its native runner lacks it"
    )
    assert aot.err == ""
    with pytest.raises(RuntimeError, match="0x14"):
        load_stock((folder / f"inverse_{form}_fp32.pte").read_bytes()).forward([torch.rand(4)])
    aot(f"--model mine.py:inverse {delegate} --verbose")
    kernel = "ExecuTorch 1.5.1 has no kernel aten::erfinv.out, and its runtime refuses"
    assert f"{at('torch.erfinv')}: remark: lower-to-pte: {kernel}" in aot.err


def test_a_file_that_stock_runs_is_asked_for(folder: Path, aot: Tool) -> None:
    aot("--model mine.py:inverse --only-stock-kernels", code=1)
    kernel = "ExecuTorch 1.5.1 has no kernel aten::erfinv.out, and its runtime refuses the file: no file"
    assert f"{at('torch.erfinv')}: error: {kernel}" in aot.err
    assert not list(folder.glob("*.pte"))
    aot("--model_name linear --only-stock-kernels")
    assert list(folder.glob("*.pte"))


def test_the_latency_that_a_profile_promises(folder: Path, aot: Tool) -> None:
    aot("--model mine.py:double --delegate")
    method = Runtime.get().load_program(folder / "double_xnnpack_fp32.pte").load_method()
    method.execute([torch.rand(4)], profile=True)
    method.profile().to_trace(folder / "double.json")
    last = aot("--model mine.py:double --delegate --profile double.json").splitlines()[-1]
    events = json.loads((folder / "double.json").read_text("utf-8"))["traceEvents"]
    (took,) = [event["dur"] for event in events if event.get("cat") == "execution"]
    assert last == f"double_xnnpack_fp32.pte: {took / 1000:.2f} ms to expect, the mean of 1 execution in double.json"
    aot("--model_name linear --profile double.json", code=1)
    assert "double.json: the profile is of another program" in aot.err
    aot("--model mine.py:double --delegate --profile none.json", code=1)
    assert "none.json" in aot.err


def test_remarks_of_passes(folder: Path, aot: Tool) -> None:
    aot("--model mine.py:double --delegate --remarks-filter=.* --remarks-output-file=remarks.json")
    remarks = json.loads((folder / "remarks.json").read_text("utf-8"))["remarks"]
    assert {"partition-xnnpack", "plan-memory"} <= {remark["pass"] for remark in remarks}
    (cumsum,) = [remark for remark in remarks if remark["name"] == "not-delegated"]
    assert (cumsum["kind"], cumsum["figures"]["Op"]) == ("missed", "edge.cumsum")
    assert f"mine.py:{cumsum['line']}" == at("torch.cumsum")
    assert aot.err == ""
    aot("--model mine.py:double --delegate --remarks-filter-analyse=plan-memory")
    (line,) = aot.err.splitlines()
    assert "remark: [Analysis] arena | Category:plan-memory | Function=forward | " in line
    aot("--model mine.py:double --delegate '--remarks-filter=('", code=1)
    assert aot.err.startswith("xir-aot: error: --remarks-filter: '(' is no regular expression")


def test_own_model_and_what_is_left_out(folder: Path, aot: Tool) -> None:
    first, last = aot("--model mine.py:double --delegate").splitlines()
    assert re.fullmatch(rf"1 × edge.cumsum, \S*{at('torch.cumsum')}: no rule lowers it to XNNPACK", first)
    assert "1 delegate, 1 op outside the delegate" in last
    assert aot.err == ""
    assert aot("--model mine.py:double --delegate --verbose").splitlines() == [last]
    assert f"{at('torch.cumsum')}: remark: partition-xnnpack: edge.cumsum not delegated" in aot.err
    assert (folder / "double_xnnpack_fp32.pte").is_file()
    last = aot("--model mine.py:double --delegate --per-op").splitlines()[-1]
    assert "2 delegates, 1 op outside the delegates" in last


def test_report(folder: Path, aot: Tool) -> None:
    out = aot("--model mine.py:double --delegate --report --report-json out/report.json")
    head, row, empty, arena, *_, last = out.splitlines()
    assert arena.startswith("forward: arena: ")
    assert head == "1 × no rule lowers it to XNNPACK"
    assert row.split()[:2] == ["1", "edge.cumsum"]
    assert row.endswith(at("torch.cumsum"))
    assert empty == ""
    assert "1 delegate, 1 op outside the delegate" in last
    assert aot.err == "", "the table has what the remarks say"
    report = json.loads((folder / "out/report.json").read_text(encoding="utf-8"))
    assert (report["outside"], f"mine.py:{report['ops'][0]['line']}") == (1, at("torch.cumsum"))


def test_report_for_a_pipe(aot: Tool) -> None:
    document = json.loads(aot("--model_name linear --delegate --report --report-json -"))
    assert [arena["bytes"] for arena in document.pop("arenas")] == [96]
    nothing = {"outside": 0, "ops": [], "float": 0, "float_ops": [], "composed": 0, "composed_ops": []}
    assert document == {"version": 1, **nothing}
    assert aot.err.startswith("Every op is delegated.\n")
    assert aot.err.endswith(" kB, 1 delegate, nothing outside\n")


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        (
            "--model mine.py:refused",
            ["xnnpack.static_resize_bilinear2d: XNNPACK refuses to run at these shapes: unsupported parameter"],
        ),
        ("--model mine.py:refused --no-check", []),
        (
            "--model mine.py:double --exclude mul,edge.add.Tensor",
            ["no rule lowers it to XNNPACK", *2 * ["the option exclude names it"]],
        ),
    ],
)
def test_report_of_what_xnnpack_and_options_refuse(aot: Tool, arguments: str, reasons: list[str]) -> None:
    report = json.loads(aot(f"{arguments} --delegate --report-json -"))
    assert [op["reason"] for op in report["ops"]] == reasons


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [("mine.py:bounded", 7), ("mine.py:rows --max-batch 5", 5), ("mine.py:auto --max-size 9", 9)],
)
def test_dynamic_shapes(arguments: str, bound: int, aot: Tool) -> None:
    out = aot(f"--model {arguments} --delegate --print")
    assert f"xir.max_shape = array<i64: {bound}, 2, 2>" in out
    assert re.search(r" kB, 1 delegate, nothing outside\n$", out)
    assert aot.err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--model mine.py:three", "'three' does not export with these dynamic shapes: Constraints violated"),
        ("--model mine.py:bounded --max-batch 5", "'bounded' says itself what is dynamic"),
        ("--model mine.py:auto --max-size 0", "--max-size takes a number from 1 on, got 0"),
        ("--model mine.py:rows --max-batch 1", "--max-batch takes a number from 2 on, got 1"),
        ("--pt2 rows.pt2 --max-batch 5", "--max-batch goes with a model"),
        ("--model mine.py:unnamed", "'unnamed' has to return its example inputs as a tuple, and keyword arguments"),
    ],
)
def test_wrong_dynamic_shapes_and_keywords(arguments: str, message: str, folder: Path, aot: Tool) -> None:
    aot(f"{arguments} --delegate", code=1)
    (line,) = [line for line in aot.err.splitlines() if line.startswith("xir-aot: error: ")]
    assert message in line
    assert not list(folder.glob("*.pte"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--model_name mv9", "there is no model 'mv9': choose from "),
        ("", "one of the arguments -m/--model_name --model --pt2 is required"),
        ("--model_name add --delegat", "unrecognized arguments: --delegat"),
        ("--pt2 none.pt2 --dtype fp16", "--dtype goes with a model; an exported program has"),
        ("--model_name add --dtype int8", "argument --dtype: invalid choice: 'int8'"),
        ("--pt2 none.pt2 --weights w.pt", "--weights goes with --model_name"),
        ("--model_name linear --weights none.pt", "none.pt: no such file\n"),
        ("--model_name add --no-delegate --report", "a report says what delegates"),
        ("--model_name add --no-delegate --cpu=x86", "--cpu says what delegates take, and"),
        ("--model_name add --no-delegate --per-op", "--per-op says what delegates take"),
        ("--model_name add --delegate --ops ad", "there is no op 'ad', did you mean 'edg"),
        ("--model_name add --delegate --min-ops two", "option 'min-ops' of --delegate"),
        ("--model mine.py", "--model takes FILE.py:FACTORY, got 'mine.py'"),
        ("--model none.py:double", "'none.py' is no Python file"),
        ("--model mine.py:triple", "'mine.py' has no function 'triple'"),
        ("--model mine.py:made", "'made' is a module: name a function that returns it and a tuple"),
        ("--model mine.py:broken", "'broken' has to return a module and a tuple of example"),
        ("--model_name add --output_dir mine.py", ""),
    ],
)
def test_errors_are_one_line(folder: Path, aot: Tool, arguments: str, message: str) -> None:
    aot(arguments, code=1)
    assert aot.err.startswith(f"xir-aot: error: {message}")
    assert aot.err.count("\n") == 1
    assert not list(folder.glob("*.pte"))


def test_a_file_that_is_not_there_is_a_place(aot: Tool) -> None:
    assert aot.refuse("--pt2 none.pt2").startswith("none.pt2:1: error: no such file")


def test_weights(folder: Path, aot: Tool) -> None:
    torch.save({"weight": torch.zeros(3, 3), "bias": torch.zeros(3)}, folder / "zeros.pt")
    aot("--model_name linear --weights zeros.pt")


def test_a_branch_on_numbers_is_told_with_its_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """torch prints the graph so far, twice; the line of the model is what is needed."""
    from xir.tools.xir_aot import main

    error = Tool(main, capfd).refuse("--model mine.py:branch")
    assert error.startswith("xir-aot: error: 'branch' does not export: Could not guard on data-dependent expression")
    place = f"{folder}/{at('if x.sum() > 0')}: if x.sum() > 0: return x"
    assert error.endswith(f"torch.where, or branch with torch.cond. (at {place})\n")


def test_files_that_import_other_packages(folder: Path) -> None:
    """In a process of its own: torchvision's compiled operators load beside few builds of torch."""
    imports = "import torch\nimport torchvision.models\nimport transformers\n\n"
    code = f"{imports}def net():\n    return torch.nn.ReLU().eval(), (torch.rand(2),)\n"
    (folder / "mine.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "xir.aot_compiler", "--model", "mine.py:net"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert (done.returncode, (folder / "net_portable_fp32.pte").is_file()) == (0, True), done.stderr


@pytest.mark.parametrize("factory", ["named", "opened", "named --max-batch 5"])
@pytest.mark.parametrize("quantize", ["", "--quantize --calibration mine.py:calls"], ids=["fp32", "int8"])
def test_keyword_arguments_and_numbers(aot: Tool, factory: str, quantize: str) -> None:
    *_, compiled, tested = aot(f"--model mine.py:{factory} {quantize} -d -t").splitlines()
    assert compiled.endswith("1 delegate, nothing outside")
    assert "SQNR" in tested


@pytest.mark.parametrize(
    ("mode", "name", "operator"),
    [
        ("--quantize", "q8", "quantize_per_tensor"),
        ("--quantize=dynamic", "qd8", "quantize_per_token"),
        ("--quantize=int4", "q4", "dequantize_per_channel_group"),
    ],
)
def test_quantized(folder: Path, aot: Tool, mode: str, name: str, operator: str) -> None:
    calibrated = f"--model mine.py:linear --no-delegate {mode} --calibration mine.py:batches"
    out = aot(f"{calibrated} --quantize-report --print --quantize-report-json quality.json")
    assert "error" not in aot.err
    assert operator in out
    assert "linear (0)" in out
    assert out.splitlines()[-1].startswith(f"linear_portable_{name}.pte: ")
    quality = json.loads((folder / "quality.json").read_text(encoding="utf-8"))
    assert quality["output"] > 15
    assert [layer["layer"] for layer in quality["layers"]] == ["linear"]
