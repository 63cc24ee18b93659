"""A backend of a plugin's that answers what it may not: the plugin's function is named, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from xir.tools.xir_opt import main as opt
from xir.tools.xir_translate import main as translate

pytestmark = pytest.mark.usefixtures("registries")

PLUGIN = """\
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Dialect, Region
from xdsl.irdl import IRDLOperation, base, irdl_op_definition, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure

from xir.plugin import Backend, Blob, GraphOp, ReadBlob, Refusal, Taken, Trial, XirPass, legalize_regions
from xir.plugin import Request, register_backend, register_dialect, register_pass, register_pipeline

Tensor = base(TensorType)
OTHER = Refusal("toy", "only neg")


@irdl_op_definition
class ToyGraphOp(GraphOp):
    BACKEND: ClassVar[str] = "toy"
    name = "toy.graph"
    inputs = var_operand_def(Tensor)
    outputs = var_result_def(Tensor)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), Pure())


@irdl_op_definition
class NegOp(IRDLOperation):
    name = "toy.neg"
    values = var_operand_def(Tensor)
    outputs = var_result_def(Tensor)


@irdl_op_definition
class YieldOp(IRDLOperation):
    name = "toy.yield"
    values = var_operand_def(Tensor)
    traits = traits_def(IsTerminator())


register_dialect("toy", lambda: Dialect("toy", [ToyGraphOp, NegOp, YieldOp]))


def graph_of(types):
    block = Block(arg_types=types)
    neg = NegOp(operands=[block.args], result_types=[types])
    block.add_ops([neg, YieldOp(operands=[neg.outputs])])
    return Region(block)


class ToyTrial(Trial):
    def take(self, op):
        if op.name != "edge.neg":
            raise OTHER()
        return Taken()

    def looks_through(self, op):
        return False

    def notes(self):
        return []


class ToyBackend(Backend):
    name = "toy"
    ids = {"xir": "Toy"}

    def trial(self, ctx, request):
        return ToyTrial()

    def legalize(self, ctx, ops, outputs, taken, request):
        types = [value.type for value in outputs]
        return ToyGraphOp(operands=[ops[0].operands], result_types=[types], regions=[graph_of(types)])

    def check(self, ctx, graphs, request):
        return {}

    def write(self, graph, ctx, value_ids, debug_info):
        return Blob(b"toy!")

    def read(self, data, id, named_data, ctx):
        type = TensorType(__import__("xdsl").dialects.builtin.f32, [4])
        return ReadBlob(ToyGraphOp.create(result_types=[type], regions=[graph_of([type])]), [type])


register_backend("toy", ToyBackend)


@register_pass
@dataclass(frozen=True)
class LegalizeToToyPass(XirPass):
    \"\"\"Legalise.\"\"\"

    name = "legalize-to-toy"

    def apply(self, ctx, op):
        legalize_regions(ctx, op, "toy", Request("xir"))


register_pipeline(
    "delegate-toy",
    "mark-delegates{backend=toy target=xir},form-delegates,legalize-to-toy,check-delegates{backend=toy target=xir}",
)
"""

MODULE = """\
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


def through(plugin: Path, folder: Path) -> tuple[int, list[str]]:
    """The exit code of the first command that fails, as the module is compiled, written and read, and which files there
    are then."""
    load = f"--load-plugin={plugin}"
    module, made, file, back = (str(folder / name) for name in ("in.mlir", "out.mlir", "out.pte", "back.mlir"))
    Path(module).write_text(MODULE, encoding="utf-8")
    commands = (
        (opt, [load, "--delegate-toy", "--emit", module, "-o", made]),
        (translate, [load, "--mlir-to-pte", made, "-o", file]),
        (translate, [load, "--pte-to-mlir", file, "-o", back]),
    )
    code = next((code for main, command in commands if (code := main(command)) != 0), 0)
    return code, [Path(each).name for each in (made, file, back) if Path(each).exists()]


TAKEN = "ToyTrial.take has to return a Taken, or to raise a RefusalError; it returned"
CHECKED = "ToyBackend.check has to return a RefusalError by operation"
READ = "ToyBackend.read has to return "

NONE, MADE, WRITTEN = [], ["out.mlir"], ["out.mlir", "out.pte"]
"""The files behind a mistake of the compiler's functions, of the writer, of the reader."""


@pytest.mark.parametrize(
    ("right", "wrong", "files", "message"),
    [
        ("return Taken()", "return True", NONE, TAKEN),
        ("return Taken()", "pass", NONE, f"{TAKEN} None"),
        ("return Taken()", "return Taken(nodes='2')", NONE, "a Taken with a number of nodes; it returned '2'"),
        ("return Taken()", "return Taken(built=[3])", NONE, "a Taken whose `built` are operations; it returned [3]"),
        ("return Taken()", "return Taken(values=[])", NONE,
         "a Taken with a value for each of 1 results; it returned []"),
        ("return False", "return None", NONE, "ToyTrial.looks_through has to return True or False; it returned None"),
        ("return []", "return 'slow'", NONE, "ToyTrial.notes has to return a list of texts; it returned 'slow'"),
        ("return ToyTrial()", "return ToyTrial", NONE, "ToyBackend.trial has to return a Trial; it returned <class "),
        ("return ToyGraphOp(operands", "ToyGraphOp(operands", NONE, "has to return a GraphOp; it returned None"),
        ("[value.type for value in outputs]", "[TensorType(value.type.element_type, [5]) for value in outputs]", NONE,
         "a graph with results of the outputs' types, (tensor<4xf32>); it returned one of (tensor<5xf32>)"),
        ("operands=[ops[0].operands]", "operands=[()]", NONE,
         "whose block takes what it is given, (); it returned one of (tensor<4x"),
        ("operands=[ops[0].operands]", "operands=[outputs]", NONE, "that reads no result of the ops that it replaces"),
        ("regions=[graph_of(types)]", "regions=[Region(Block())]", NONE, "a graph with one block that ends"),
        ("return {}", "return [3]", NONE, f"{CHECKED}; it returned [3]"),
        ("return {}", "return {graphs[0]: 'slow'}", NONE, CHECKED),
        ('return Blob(b"toy!")', 'return b"toy!"', MADE, "ToyBackend.write has to return a Blob; it returned b'toy!'"),
        ('return Blob(b"toy!")', 'return Blob("toy!")', MADE, "a Blob whose content is bytes; it returned 'toy!'"),
        ('return Blob(b"toy!")', 'return Blob(b"", {"w": b"1"})', MADE,
         "a Blob whose named_data has a Data by each name"),
        ("return ReadBlob(", "return dict, (", WRITTEN, f"{READ}a ReadBlob, or to raise a FormatError; it returned"),
        ("[graph_of([type])]), [type])", "[graph_of([type])]), [])", WRITTEN,
         "takes what it is given, (); it returned one of (tensor<4xf32>)"),
        ("[graph_of([type])]), [type])", "[graph_of([type])]), [type], [1])", WRITTEN,
         "an id for each of 2 values, or None; it returned "),
        ("ReadBlob(ToyGraphOp.create(", "ReadBlob(NegOp.create(", WRITTEN,
         f"{READ}a ReadBlob whose graph is a GraphOp; "),
    ],
)  # fmt: skip
def test_its_function_is_named(
    right: str, wrong: str, files: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the line of the `def` above the mistake; nothing is written but what came before."""
    plugin = write_plugin(tmp_path, right, wrong)
    assert through(plugin, tmp_path) == (70, files)
    first = capsys.readouterr().err.splitlines()[0]
    assert message in first
    if files == WRITTEN or "has to return" in first:
        before = PLUGIN[: PLUGIN.index(right)].splitlines()
        line = max(number for number, text in enumerate(before, 1) if text.startswith("    def "))
        assert first.startswith(f"{plugin}:{line}: error: ")


def test_a_right_one_is_written_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert through(write_plugin(tmp_path, "only neg", "only neg"), tmp_path) == (0, [*WRITTEN, "back.mlir"])
    assert "toy.neg" in (tmp_path / "back.mlir").read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("class ToyBackend(Backend):", "class ToyBackend:", "ToyBackend is no Backend: derive it from xir.plugin."),
        ("    def legalize(", "    def lower(", "ToyBackend lacks legalize of a Backend"),
        ('name = "toy"\n    ids', 'name = "toys"\n    ids', "is of a backend that is registered as 'toy'"),
        ('ids = {"xir": "Toy"}', "ids = {}", "is of a backend without `ids`"),
        ('("toy", ToyBackend)', '("toy", lambda: 3)', "has to return a Backend; it returned 3"),
    ],
)
def test_what_is_no_backend(
    right: str, wrong: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = write_plugin(tmp_path, right, wrong)
    code, files = through(plugin, tmp_path)
    assert (code in (1, 70), files) == (True, [])
    first = capsys.readouterr().err.splitlines()[0]
    assert str(plugin) in first
    assert message in first


def write_plugin(folder: Path, right: str, wrong: str) -> Path:
    """The plugin with one mistake in it."""
    assert PLUGIN.count(right) == 1
    path = folder / "toy.py"
    path.write_text(PLUGIN.replace(right, wrong), encoding="utf-8")
    return path
