"""The text of a lock: what it looks like, and one located diagnostic for what is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from reference.tools import Tool
from torch import nn

import xir
from xir.ir.diagnostics import DiagnosticError
from xir.lock.kinds import KINDS
from xir.lock.lock_file import read_lock, text_of

GOOD = """\
xir-lock 1
bytes = 4096
layer forward features.9 aten::conv2d = f32, conv2d, 12 multiply-adds
layer forward features.10 aten::conv2d = q8 x q8 per channel, as F(4x4)
layer forward features.10 aten::conv2d 2 = q8 table, unary sigmoid
method forward = 1 input, 1 output
microseconds forward "AMD EPYC, Zen 4" = 12.5
outside forward aten::cumsum.out - = 2, net.py:7, net.py:9
quantised forward = 2 of 3
"""
BUILD = "--model net.py:net -d -o out"


@pytest.fixture(autouse=True)
def net(folder: Path) -> None:
    text = "import torch\n\n\ndef net():\n    return torch.nn.Softmax(-1), (torch.randn(2, 4),)\n"
    (folder / "net.py").write_text(text)


def test_text() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval()
    edge = xir.to_edge(torch.export.export(model, (torch.randn(1, 3, 8, 8),)))
    texts: list[str] = []
    for name in "ab":
        contract = xir.Contract(f"{name}.lock", cpu="zen4", accuracy={"top 1": 0.5})
        kept = edge.to_backend(xir.XnnpackPartitioner()).to_executorch().save(f"{name}.pte", contract=contract)
        assert kept is not None
        texts.append(Path(f"{name}.lock").read_text())
        assert text_of(kept.facts) == texts[-1]
        assert dict(read_lock(f"{name}.lock").values) == dict(kept.facts.values)
    assert texts[0] == texts[1]
    lines = texts[0].splitlines()
    assert lines[0] == "xir-lock 1"
    assert [line for line in lines if not re.fullmatch(r"[^=]+ = .+", line)] == ["xir-lock 1"]
    assert {line.split()[0] for line in lines[1:]} < KINDS.keys()
    assert 'accuracy "top 1" = 0.5' in lines
    assert "input forward 0 = f32[1x3x8x8]" in lines
    assert "layer forward 0 aten::conv2d = f32, conv2d, 7776 multiply-adds" in lines
    assert "/" not in re.sub("torch/nn/modules", "", texts[0])


def test_what_is_read() -> None:
    Path("a.lock").write_text(GOOD)
    lock = read_lock("a.lock")
    assert lock.values["microseconds", "forward", "AMD EPYC, Zen 4"] == "12.5"
    assert lock.lines["method", "forward"] == 6
    assert lock.line_for(("delegates", "forward", "XnnpackBackend")) == 3
    assert lock.line_for(("state", "total")) == 10


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("xir-lock 1\n", "{}\n", "1: error: this is no lock, whose first line is 'xir-lock 1'"),
        (GOOD, "", "1: error: this is no lock, whose first line is 'xir-lock 1'"),
        ("xir-lock 1\n", "xir-lock 2\n", "1: error: this lock has version 2, and this xir reads 1"),
        ("bytes = 4096\n", "<<<<<<< HEAD\n", "2: error: '<<<<<<< HEAD' is no fact"),
        ("bytes = 4096\n", "\n", "2: error: '' is no fact"),
        ("bytes = 4096\n", "bytes=4096\n", "2: error: 'bytes=4096' is no fact"),
        ("bytes = 4096\n", "bytes = many\n", "2: error: 'bytes' has no value 'many': it takes a number"),
        ("bytes = 4096\n", "bytes = -1\n", "2: error: 'bytes' has no value '-1': it takes a number"),
        ("bytes = 4096\n", f"bytes = {'9' * 5000}\n", "2: error: 'bytes' has no value '999"),
        ("bytes = 4096\n", "bytes = \n", "2: error: 'bytes' has no value '': it is empty"),
        ("bytes = 4096\n", "bytes forward = 1\n", "2: error: 'bytes' is followed by nothing, not by 'forward'"),
        ("bytes = 4096\n", "sizes = 4096\n", "2: error: there are no facts of the kind 'sizes', but of"),
        ("2 of 3", "4 of 3", "9: error: 'quantised forward' has no value '4 of 3': it takes 'NUMBER of"),
        ("2 of 3", "0 of 0", "9: error: 'quantised forward' has no value '0 of 0'"),
        ("f32, conv2d, 12 multiply-adds", "f32", "3: error: 'layer forward features.9 aten::conv2d' has no"),
        ('"AMD EPYC, Zen 4"', '"AMD \\q"', "7: error: 'microseconds forward"),
        ("method forward =", "method =", "6: error: 'method' is followed by METHOD, not by ''"),
        ("method forward = 1 input, 1 output", "bytes = 1", "6: error: line 2 has 'bytes' already"),
    ],
)
def test_what_is_no_lock(old: str, new: str, message: str) -> None:
    text = GOOD.replace(old, new)
    assert text != GOOD
    Path("a.lock").write_text(text)
    with pytest.raises(DiagnosticError) as caught:
        read_lock("a.lock")
    assert str(caught.value).startswith(f"a.lock:{message}")


def test_what_is_no_lock_is_one_line_and_written_anew(aot: Tool) -> None:
    for content, message in (
        (b"{}\n", "whose first line is 'xir-lock 1'"),
        (b"xir-lock 1\nbytes = \xff\n", "is not text"),
    ):
        Path("a.lock").write_bytes(content)
        said = aot.refuse(f"{BUILD} --lock a.lock")
        assert said.startswith("a.lock:1: error: this is no lock")
        assert message in said
        assert not Path("out").exists()
    aot(f"{BUILD} --lock a.lock --update-lock")
    aot(f"{BUILD} --lock a.lock")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--update-lock", "--update-lock writes the file of --lock: give that as well"),
        ("--lock no/such.lock", "--lock takes a file in a folder that exists, got 'no/such.lock'"),
        ("--lock .", "[Errno 21] Is a directory: '.'"),
        ("--require ' '", "--require takes bounds, such as 'outside=0, bytes<=4MB'"),
        ("--require outsid=0", "--require: column 1: there is no 'outsid' to bound; did you mean 'outside'?"),
        ("--require bytes<=1MB,zebra=0", "--require: column 12: there is no 'zebra' to bound, but delegates, outside"),
        ("--require outside", "--require: column 1: 'outside' is no bound, such as 'outside=0' or 'bytes<=4MB'"),
        ("--require outside=-1", "--require: column 1: 'outside' takes a number from 0 on, not '-1'"),
        ("--require outside=1.5", "--require: column 1: 'outside' takes whole numbers, not '1.5'"),
        ("--require outside=3MB", "--require: column 1: 'outside' takes a number without a unit, not '3MB'"),
        ("--require bytes<=4parsecs", "--require: column 1: 'bytes' takes a number with one of b, kb, mb, gb"),
        ("--require bytes<=nan", "--require: column 1: 'bytes' takes a number from 0 on, not 'nan'"),
        (f"--require bytes<={'9' * 400}", "--require: column 1: 'bytes' takes a number from 0 on, not '999"),
        ("--require quantised>=120%", "--require: column 1: 'quantised' takes at most 100 %, not '120%'"),
        ("--require quantised>=95", "--require: column 1: 'quantised' takes a number and with one of %, not '95'"),
        ("--require outside=0,", "--require: column 11: '' is no bound"),
        ("--require bytes.forward<=1", "--require: column 1: 'bytes' has no parts, so it has no '.forward'"),
    ],
)
def test_what_is_wrong_on_the_command_line(aot: Tool, flags: str, message: str) -> None:
    assert aot.refuse(f"{BUILD} {flags}").startswith(f"xir-aot: error: {message}")
    assert not Path("out").exists()


def test_the_page_has_each_kind() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lock.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)([A-Z ]*)` \|", page.partition("## Bounds")[0], re.MULTILINE)
    assert [name for name, _ in rows] == list(KINDS)
    for name, names in rows:
        assert names.lower().split() == list(KINDS[name].names)
