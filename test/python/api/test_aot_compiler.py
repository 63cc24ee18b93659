"""`xir-aot`: what it prints, what it writes, and one line for what the user got wrong."""

import json
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from reference.runtimes import load_stock
from reference.tools import Tool

import xir
from xir.aot_compiler import main as as_in_executorch
from xir.models import load_model
from xir.runtime import Runtime
from xir.runtime.agreement import Agreement
from xir.tools.xir_aot import main
from xir.tools.xir_bisect import main as xir_bisect
from xir.tools.xir_reduce import main as xir_reduce
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

class Misspelt(torch.nn.Module):
    def forward(self, x):
        return x.foo()

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
def alone(): return made
def nothing(): pass
def sized(n): return Double(), (torch.rand(n),)
def a_class(): return Double, (torch.rand(4),)
def typo(): return Misspelt(), (torch.rand(1, 3),)
def bare(): return made, torch.rand(1, 3)
def fails():
    return torch.nn.Linear(3), None
def unbounded(): return made, (torch.rand(2, 3),), ({0: Dim("n")},)
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


FILES = {
    "mine.py": MODELS,
    "nosuffix": MODELS,
    "script.py": "import torch\nmodel = torch.nn.Linear(3, 3)\nprint(model.nope)\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "misspelt.py": "import trnasformers\n",
    "syntax.py": "def f(:\n",
}


def at(text: str) -> str:
    """Where the one line with this text is."""
    (number,) = [number for number, line in enumerate(MODELS.split("\n"), 1) if text in line]
    return f"mine.py:{number}"


@pytest.fixture(autouse=True)
def models(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "folder.pte").mkdir()


@pytest.mark.parametrize(
    ("flags", "file", "text"),
    [
        ("--output_dir out/here", "out/here/linear_xnnpack_fp32.pte", "xnnpack.fully_connected"),
        ("-o out/mine.pte", "out/mine.pte", "f32>) -> tensor<"),
        ("-o folder.pte", "folder.pte/linear_xnnpack_fp32.pte", "f32>) -> tensor<"),
        ("--dtype fp16", "linear_xnnpack_fp16.pte", "f16>) -> tensor<"),
        ("--dtype bf16", "linear_xnnpack_bf16.pte", "bf16>) -> tensor<"),
    ],
)
def test_a_model_of_the_zoo(flags: str, file: str, text: str, folder: Path, aot: Tool) -> None:
    out = aot(f"--model_name linear --delegate --print {flags}")
    assert text in out
    assert re.fullmatch(f"{file}: .* kB, 1 delegate, nothing outside", out.splitlines()[-1])
    assert aot.err == ""
    assert (folder / file).read_bytes()[4:8] == b"ET12"
    assert [path.name for path in (folder / file).parent.glob("*.pte") if path.is_file()] == [Path(file).name]


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
from xir.plugin import XirPass, register_pass, register_pipeline

@register_pass
class TellPass(XirPass):
    '"Tell."'
    def apply(self, ctx, op):
        print("it has run")

register_pipeline("mine", "canonicalize,tell")
"""


def test_passes_of_a_plugin(folder: Path, aot: Tool) -> None:
    """What one does to a program is shown in docs/extending.md."""
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    with patch.dict(PASSES), patch.dict(PIPELINES):
        for delegate in ("-d --load-plugin=plugin.py", "--no-delegate"):
            assert "it has run" in aot(f"-m add {delegate} --passes=simplify,mine")
        said = aot.refuse("-m add --passes=simplify,mien")
        assert said == "xir-aot: error: --passes: unknown pass 'mien', did you mean 'mine'?\n"


def test_kernels_that_others_lack(folder: Path, aot: Tool) -> None:
    """What is said of stock, as docs/report.md shows it, is so: it refuses the file."""
    aot("--model mine.py:inverse --no-delegate --verbose")
    kernel = "ExecuTorch 1.5.1 has no kernel aten::erfinv.out, and its runtime refuses"
    assert f"{at('torch.erfinv')}: remark: lower-to-pte: {kernel}" in aot.err
    file = folder / "inverse_portable_fp32.pte"
    with pytest.raises(RuntimeError, match="0x14"):
        load_stock(file.read_bytes()).forward([torch.rand(4)])
    file.unlink()
    aot("--model mine.py:inverse --only-stock-kernels", code=1)
    assert f"{at('torch.erfinv')}: error: {kernel} the file: no file" in aot.err
    assert not file.exists()
    aot("--model_name linear --only-stock-kernels -o linear.pte")


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
    assert [path for path in folder.glob("*.pte") if path.is_file()] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--model_name mv9", "there is no model 'mv9': choose from "),
        ("", "one of the arguments -m/--model_name --model --pt2 is required"),
        ("--model_name add --delegat", "unrecognized arguments: --delegat"),
        ("--pt2 none.pt2 --dtype fp16", "--dtype goes with a model; an exported program has"),
        ("--model_name add --dtype int8", "argument --dtype: invalid choice: 'int8'"),
        ("--pt2 none.pt2 --weights w.pt", "--weights goes with --model_name"),
        ("--model_name linear --weights none.pt", "none.pt: no such file$"),
        ("--model_name add --no-delegate --report", "a report says what delegates"),
        ("--model_name add --no-delegate --cpu=x86", "--cpu says what delegates take, and"),
        ("--model_name add --no-delegate --per-op", "--per-op says what delegates take"),
        ("--model_name add --delegate --ops ad", "there is no op 'ad', did you mean 'edg"),
        ("--model_name add --delegate --min-ops two", "option 'min-ops' of --delegate"),
        ("--model mine.py", "--model takes FILE.py:FACTORY, got 'mine.py'"),
        ("--model_name add --output_dir mine.py", ""),
        ("--model mine.py:alone", ".* tuple of example inputs, .*; it returns ReLU$"),
        ("--model mine.py:nothing", ".* tuple of example inputs, .*; it returns NoneType$"),
        ("--model mine.py:sized", "'sized' is called without arguments: missing .* 'n'; give it a default$"),
        ("--model mine.py:a_class -q", "'a_class' returns the class 'Double': return an instance of it$"),
        ("--model mine.py:typo", r"'typo' does not export: .* no attribute 'foo' \(at .*mine\.py:\d+: return x\.foo"),
        ("--model mine.py:typo -q", r"'typo' does not export: .* no attribute 'foo' \(at .*mine\.py:\d+: return x\.f"),
        ("--model mine.py:bare -q", "'bare' has to return its example inputs as a tuple"),
        ("--model mine.py:fails", r"'fails' failed: TypeError: .* \(.*mine\.py:\d+\)$"),
        ("--model mine.py:made", "'made' is a module: name a function that returns it"),
        ("--model mine.py:absent", "'mine.py' has no function 'absent'$"),
        ("--model absent.py:f", "'absent.py' is no Python file: there is no file of this name$"),
        ("--model nosuffix:alone", "'nosuffix' is no Python file: its name has to end in .py$"),
        ("--model script.py:f", r"'script\.py' failed: AttributeError: .* \(script\.py:3\)$"),
        ("--model exits.py:f", r"'exits\.py' ended Python \(3\): put .* below `if __name__ == .* \(exits\.py:2\)$"),
        ("--model misspelt.py:f", r"'misspelt\.py' imports 'trnasformers', which is not installed$"),
        ("--model syntax.py:f", r"'syntax\.py' failed: SyntaxError: invalid syntax \(syntax.py, line 1\)$"),
        ("-m mine.py:alone", "-m takes the name of a model of the zoo; .* it is --model mine.py:alone$"),
        ("mine.py:alone", "'mine.py:alone' needs a flag before it: --model mine.py:alone$"),
        ("mine.py", r"'mine\.py' needs a flag before it: --model mine\.py:FACTORY$"),
        ("net.pt2", r"'net\.pt2' needs a flag before it: --pt2 net\.pt2$"),
    ],
)
def test_errors_are_one_line(folder: Path, aot: Tool, arguments: str, message: str) -> None:
    error = aot.refuse(arguments)
    assert re.match(f"xir-aot: error: {message}", error.strip()), error
    assert [path for path in folder.glob("*.pte") if path.is_file()] == []


def test_what_has_a_place_begins_with_it(aot: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    """What is at no line begins with the model."""
    assert aot.refuse("--pt2 none.pt2").startswith("none.pt2:1: error: no such file")
    error = aot.refuse("--model mine.py:unbounded")
    assert error.startswith("mine.py:unbounded: input 'input': error: dimension 0 of input 'input' has no upper bound")
    assert Tool(xir_bisect, capsys).refuse("mine.py:unbounded") == error
    assert Tool(xir_reduce, capsys).refuse("mine.py:unbounded --wrong") == error


def test_weights(folder: Path, aot: Tool) -> None:
    torch.save({"weight": torch.zeros(3, 3), "bias": torch.zeros(3)}, folder / "zeros.pt")
    aot("--model_name linear --weights zeros.pt")


def test_a_branch_on_numbers_is_told_with_its_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """torch prints the graph so far, twice; the line of the model is what is needed."""
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


@pytest.mark.parametrize("flags", ["named", "opened --quantize", "named --max-batch 5 --quantize"])
def test_keyword_arguments_and_numbers(aot: Tool, flags: str) -> None:
    calibration = "--calibration mine.py:calls" if "quantize" in flags else ""
    *_, compiled, tested = aot(f"--model mine.py:{flags} {calibration} -d -t").splitlines()
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


@pytest.mark.parametrize("mode", ["dynamic", "int4"])
def test_weights_are_not_rounded_for_random_inputs(folder: Path, aot: Tool, mode: str) -> None:
    """Those that static ranges of a model of the zoo come from, where nobody gives others."""
    aot(f"-m linear -d --quantize={mode}")
    made = next(folder.glob("linear_xnnpack_q*.pte")).read_bytes()
    net, sample = load_model("linear")
    nearest = xir.quantize(net, sample, None, xir.QuantConfig(mode))  # pyright: ignore[reportArgumentType]
    assert xir.to_edge(nearest).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer == made
