"""A backend of a plugin's that answers what it may not: the plugin's function is named, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from xir.backend.registry import BACKENDS
from xir.dialects.registry import DIALECTS
from xir.tools.xir_opt import main as opt
from xir.tools.xir_translate import main as translate
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES

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


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """What a test registers is gone after it."""
    kept = [(registry, dict(registry)) for registry in (PASSES, PIPELINES, DIALECTS, BACKENDS)]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)  # pyright: ignore[reportArgumentType, reportCallIssue]


def write_plugin(folder: Path, right: str, wrong: str) -> tuple[Path, str]:
    """The plugin with one mistake in it, and the line `def ...` above the mistake as FILE:LINE."""
    assert PLUGIN.count(right) == 1
    path = folder / "toy.py"
    path.write_text(PLUGIN.replace(right, wrong), encoding="utf-8")
    before = PLUGIN[: PLUGIN.index(right)].splitlines()
    line = next((i for i in range(len(before), 0, -1) if before[i - 1].startswith("    def ")), 0)
    return path, f"{path}:{line}"


def compile_to_file(plugin: Path, folder: Path) -> int:
    """Compile the module and write its file."""
    (folder / "in.mlir").write_text(MODULE, encoding="utf-8")
    load = f"--load-plugin={plugin}"
    made = opt([load, "--delegate-toy", "--emit", str(folder / "in.mlir"), "-o", str(folder / "out.mlir")])
    if made != 0:
        assert not (folder / "out.mlir").exists()
        return made
    return translate([load, "--mlir-to-pte", str(folder / "out.mlir"), "-o", str(folder / "out.pte")])


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "return Taken()",
            "return True",
            "ToyTrial.take has to return a Taken, or to raise a RefusalError; it returned",
        ),
        ("return Taken()", "pass", "ToyTrial.take has to return a Taken, or to raise a RefusalError; it returned None"),
        ("return Taken()", "return Taken(nodes='2')", "a Taken with a number of nodes; it returned '2'"),
        ("return Taken()", "return Taken(built=[3])", "a Taken whose `built` are operations; it returned [3]"),
        ("return Taken()", "return Taken(values=[])", "a Taken with a value for each of 1 results; it returned []"),
        ("return False", "return None", "ToyTrial.looks_through has to return True or False; it returned None"),
        ("return []", "return 'slow'", "ToyTrial.notes has to return a list of texts; it returned 'slow'"),
        ("return ToyTrial()", "return ToyTrial", "ToyBackend.trial has to return a Trial; it returned <class "),
        ("return ToyGraphOp(operands", "ToyGraphOp(operands", "has to return a GraphOp; it returned None"),
        (
            "types = [value.type for value in outputs]",
            "types = [TensorType(value.type.element_type, [5]) for value in outputs]",
            "a graph with results of the outputs' types, (tensor<4xf32>); it returned one of (tensor<5xf32>)",
        ),
        (
            "operands=[ops[0].operands]",
            "operands=[()]",
            "whose block takes what it is given, (); it returned one of (tensor<4x",
        ),
        ("operands=[ops[0].operands]", "operands=[outputs]", "that reads no result of the ops that it replaces"),
        ("regions=[graph_of(types)]", "regions=[Region(Block())]", "a graph with one block that ends"),
        ("return {}", "return [3]", "ToyBackend.check has to return a RefusalError by operation; it returned [3]"),
        ("return {}", "return {graphs[0]: 'slow'}", "ToyBackend.check has to return a RefusalError by operation"),
        ('return Blob(b"toy!")', 'return b"toy!"', "ToyBackend.write has to return a Blob; it returned b'toy!'"),
        ('return Blob(b"toy!")', 'return Blob("toy!")', "a Blob whose content is bytes; it returned 'toy!'"),
        ('return Blob(b"toy!")', 'return Blob(b"", {"w": b"1"})', "a Blob whose named_data has a Data by each name"),
    ],
)
def test_its_function_is_named(
    right: str, wrong: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, where = write_plugin(tmp_path, right, wrong)
    assert compile_to_file(plugin, tmp_path) == 70
    first = capsys.readouterr().err.splitlines()[0]
    assert message in first
    if "has to return" in first:
        assert first.startswith(f"{where}: error: ")
    assert not (tmp_path / "out.pte").exists()


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("return ReadBlob(", "return dict, (", "has to return a ReadBlob, or to raise a FormatError; it returned"),
        (
            "[type])\n\n\nregister_b",
            "[])\n\n\nregister_b",
            "takes what it is given, (); it returned one of (tensor<4xf32>)",
        ),
        (
            "[type])\n\n\nregister_b",
            "[type], [1])\n\n\nregister_b",
            "an id for each of 2 values, or None; it returned ",
        ),
        ("ReadBlob(ToyGraphOp.create(", "ReadBlob(NegOp.create(", "a ReadBlob whose graph is a GraphOp; it returned"),
    ],
)
def test_its_reader_is_named(
    right: str, wrong: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, where = write_plugin(tmp_path, right, wrong)
    assert compile_to_file(plugin, tmp_path) == 0
    read = ["--pte-to-mlir", f"--load-plugin={plugin}", str(tmp_path / "out.pte"), "-o", str(tmp_path / "back.mlir")]
    assert translate(read) == 70
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith(f"{where}: error: ")
    assert message in first
    assert not (tmp_path / "back.mlir").exists()


def test_a_right_one_is_written_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin, _ = write_plugin(tmp_path, "only neg", "only neg")
    assert compile_to_file(plugin, tmp_path) == 0
    back = tmp_path / "back.mlir"
    assert translate(["--pte-to-mlir", f"--load-plugin={plugin}", str(tmp_path / "out.pte"), "-o", str(back)]) == 0
    assert "toy.neg" in back.read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "class ToyBackend(Backend):",
            "class ToyBackend:",
            "ToyBackend is no Backend: derive it from xir.plugin.",
        ),
        ("    def legalize(", "    def lower(", "ToyBackend lacks legalize of a Backend"),
        ('name = "toy"\n    ids', 'name = "toys"\n    ids', "is of a backend that is registered as 'toy'"),
        ('ids = {"xir": "Toy"}', "ids = {}", "is of a backend without `ids`"),
        (
            'register_backend("toy", ToyBackend)',
            'register_backend("toy", lambda: 3)',
            "has to return a Backend; it returned 3",
        ),
    ],
)
def test_what_is_no_backend(
    right: str, wrong: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, _ = write_plugin(tmp_path, right, wrong)
    assert compile_to_file(plugin, tmp_path) in (1, 70)
    first = capsys.readouterr().err.splitlines()[0]
    assert str(plugin) in first
    assert message in first
