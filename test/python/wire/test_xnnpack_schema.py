"""The XNNPACK graph's schema: as the op definitions say, and as ExecuTorch's own schema says."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import pytest
from xdsl.irdl import OpDef

from xir.dialects import xnnpack
from xir.dialects.xnnpack.wire import (
    FIRST_XIR_TAG,
    RESERVED,
    CountSlot,
    DerivedSlot,
    FlagsSlot,
    FloatSlot,
    Member,
    UIntSlot,
    UIntsSlot,
    ValueSlot,
    Wire,
)
from xir.emitter.fbs import FileSchema, Table, load_schema, parse_schema

ROOT = Path(__file__).parents[3]
STOCK = "executorch/backends/xnnpack/serialization/runtime_schema.fbs"

Fields = list[tuple[str, str, bool, int]]


@pytest.fixture(scope="module")
def stock() -> FileSchema:
    """ExecuTorch's schema, from the installed wheel."""
    return parse_schema(Path(str(distribution("executorch").locate_file(STOCK))).read_text(encoding="utf-8"))


def fields(table: Table) -> Fields:
    """(name, type, whether a vector, slot); ExecuTorch starts the names of shared tables with an underscore."""
    return [(field.name, field.type.lstrip("_"), field.vector, field.slot) for field in table.fields]


def members(schema: FileSchema) -> Mapping[str, tuple[int, str]]:
    union = schema.unions["XNodeUnion"].members
    return {name: (tag, table) for name, (tag, table) in union.items() if tag < FIRST_XIR_TAG}


def test_every_node_of_stock_has_its_tag(stock: FileSchema) -> None:
    ours = {name: tag for name, (tag, _) in members(load_schema("xnnpack")).items()}
    assert ours == {name: tag for name, (tag, _) in members(stock).items()}


def test_every_node_of_stock_has_its_slots(stock: FileSchema) -> None:
    ours, theirs = load_schema("xnnpack"), members(stock)
    for name, (_, table) in members(ours).items():
        if name not in RESERVED.values():
            assert fields(ours.tables[table]) == fields(stock.tables[theirs[name][1]]), name


def test_the_rest_of_the_graph_is_stocks(stock: FileSchema) -> None:
    ours = load_schema("xnnpack")
    assert ours.root == stock.root
    for name in ("XNNGraph", "XNode", "XValue", "XNNTensorValue", "XNNQuantizedTensorValue", "OutputMinMax"):
        assert fields(ours.tables[name]) == fields(stock.tables[name]), name
    assert list(ours.enums["XNNDatatype"].members.values()) == list(stock.enums["XNNDatatype"].members.values())


def test_every_slot_is_something_that_the_op_has_and_the_reverse() -> None:
    for op in xnnpack.NODE_OPS:
        definition: OpDef = op.get_irdl_definition()
        values = {name for name, _ in (*definition.operands, *definition.results)}
        written, elsewhere = set[str](), {"debug_handle", "output_min", "output_max", "kind"}
        for slot in op.WIRE.slots:
            match slot:
                case ValueSlot(field=field):
                    assert field in values, op.name
                    written.add(field)
                case UIntSlot(field=field) | UIntsSlot(field=field) | FloatSlot(field=field):
                    assert field in definition.properties, op.name
                    written.add(field)
                case CountSlot(field=field):
                    assert field in definition.properties, op.name
                case DerivedSlot(field=field):
                    assert isinstance(getattr(op, field), property), op.name
                case FlagsSlot(bits=bits):
                    assert bits.keys() <= definition.properties.keys(), op.name
                    written |= set(bits)
                case _:
                    pass
        assert (values | definition.properties.keys()) - elsewhere == written, op.name
        assert (op.WIRE.bounds != "none") == issubclass(op, xnnpack.BoundedOp), op.name


def test_the_generated_files_are_up_to_date(generator: ModuleType) -> None:
    for path, text in generator.outputs().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make generate`"


def test_a_stale_file_is_named(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "current").write_text("new")
    (tmp_path / "stale").write_text("old")
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "outputs", lambda: {tmp_path / "current": "new", tmp_path / "stale": "new"})
    monkeypatch.setattr(sys, "argv", ["generate_wire.py", "--check"])
    assert generator.main() == 1
    assert capsys.readouterr().err == "stale is not up to date: run `make generate`\n"
    assert (tmp_path / "stale").read_text() == "old"

    monkeypatch.setattr(sys, "argv", ["generate_wire.py"])
    assert generator.main() == 0
    assert (tmp_path / "stale").read_text() == "new"


class TwinOp(xnnpack.CopyOp):
    """A node like copy, with its tag."""


class OtherSlotsOp(xnnpack.CopyOp):
    """A node that writes other slots to copy's table."""

    WIRE = Wire("XNNNode1x1", {None: Member("XNNOther", 200)}, (ValueSlot("input_id", "input"),))


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (TwinOp, "a union tag is used twice: [46]"),
        (OtherSlotsOp, "its slots are not those of the other users of table"),
    ],
)
def test_ops_that_clash_on_the_wire_are_refused(
    generator: ModuleType, monkeypatch: pytest.MonkeyPatch, op: type[xnnpack.NodeOp], message: str
) -> None:
    monkeypatch.setattr(generator, "NODE_OPS", (*xnnpack.NODE_OPS, op))
    with pytest.raises(SystemExit, match=re.escape(message)):
        generator.schema()
