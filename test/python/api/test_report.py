"""The report of what stays outside: its order, its counts, its two forms."""

from __future__ import annotations

import json

from xdsl.dialects.builtin import UNKNOWN_LOC

from xir.api import EdgeProgram, XnnpackPartitioner
from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, Severity
from xir.ir.location import file_location, name_location
from xir.ir.parser import parse_module
from xir.ir.remarks import RemarkKind
from xir.report import Report, report_of
from xir.transforms.delegate.forming.marks import NotDelegated
from xir.transforms.xnnpack.analysis.stays_float import StaysFloat


def left_out(
    op: str, reason: str, line: int | None = None, hint: str | None = None, backend: str = "xnnpack"
) -> NotDelegated:
    location = name_location("n") if line is None else name_location("n", file_location("a.py", line))
    message = f"{op}: {reason}"
    return NotDelegated(
        Severity.REMARK, location, message, kind=RemarkKind.MISSED, category="partition-xnnpack", name="not-delegated",
        text=message, op=op, backend=backend, reason=reason, hint=hint,
    )  # fmt: skip


STAYS = StaysFloat(
    Severity.REMARK, name_location("softmax", file_location("a.py", 7)), "softmax: no kernel", kind=RemarkKind.MISSED,
    category="fold-qdq", name="stays-float", text="softmax", op="softmax", reason="no kernel",
)  # fmt: skip
REMARKS: list[Diagnostic] = [
    left_out("edge.linear", "its weight is not a constant", 10, "make it a parameter"),
    left_out("edge.cumsum", "no rule", 100),
    left_out("edge.sort", "no rule"),
    left_out("edge.cumsum", "no rule", 9),
    left_out("edge.cumsum", "no rule", 100),
    Diagnostic(Severity.REMARK, UNKNOWN_LOC, "something else"),
    STAYS,
    STAYS,
]


def test_text() -> None:
    """Lines are ordered as numbers. docs/report.md has more of it."""
    assert report_of(REMARKS).text() == (
        "4 × no rule\n"
        "        1  edge.sort    value 'n'\n"
        "        1  edge.cumsum  a.py:9\n"
        "        2  edge.cumsum  a.py:100\n"
        "1 × its weight is not a constant\n"
        "    to fix it: make it a parameter\n"
        "        1  edge.linear  a.py:10\n"
        "\n"
        "In floating point inside the delegate:\n"
        "2 × no kernel\n"
        "        2  softmax  a.py:7\n"
    )
    assert report_of(()) == Report(())


def test_json() -> None:
    document = json.loads(report_of(REMARKS).json())
    assert (document["version"], document["outside"], document["float"]) == (1, 5, 2)
    keys = ("op", "backend", "count", "reason", "hint", "file", "line")
    assert [tuple(row[key] for key in keys) for row in document["ops"]] == [
        ("edge.linear", "xnnpack", 1, "its weight is not a constant", "make it a parameter", "a.py", 10),
        ("edge.sort", "xnnpack", 1, "no rule", None, None, None),
        ("edge.cumsum", "xnnpack", 1, "no rule", None, "a.py", 9),
        ("edge.cumsum", "xnnpack", 2, "no rule", None, "a.py", 100),
    ]
    assert all(set(row) == set(keys) for row in document["ops"])
    (row,) = document["float_ops"]
    assert row == {"op": "softmax", "count": 2, "reason": "no kernel", "hint": None, "file": "a.py", "line": 7}


def test_an_op_that_several_backends_refuse_is_one_op() -> None:
    both = [
        left_out("edge.cumsum", "no rule", 7),
        left_out("edge.cumsum", "it is no mask", 7, backend="masks"),
        left_out("edge.sort", "it is no mask", 9, backend="masks"),
    ]
    report = report_of(both)
    assert report.count == 2
    assert report.text() == (
        "2 × masks: it is no mask\n"
        "        1  edge.cumsum  a.py:7\n"
        "        1  edge.sort    a.py:9\n"
        "1 × xnnpack: no rule\n"
        "        1  edge.cumsum  a.py:7\n"
    )
    assert [row["backend"] for row in json.loads(report.json())["ops"]] == ["masks", "masks", "xnnpack"]


OPAQUE = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.opaque "my::op.out_of(Tensor self) -> Tensor" (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.opaque "my::other(Tensor self) -> Tensor" (%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.abs(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


def test_operators_without_a_row_have_their_own_names() -> None:
    ctx = XirContext()
    program = EdgeProgram(parse_module(ctx, OPAQUE), ctx)
    report = report_of(program.to_backend(XnnpackPartitioner(exclude=("my::op", "aten::abs"))).remarks)
    assert [(entry.op, entry.reason) for entry, _ in report.entries] == [
        ("my::other", "no rule lowers it to XNNPACK"),
        ("my::op.out_of", "the option exclude names it"),
        ("edge.abs", "the option exclude names it"),
    ]


def test_what_a_later_backend_takes_is_not_reported() -> None:
    ctx = XirContext()
    module = parse_module(ctx, OPAQUE)
    first = EdgeProgram(module, ctx).to_backend(XnnpackPartitioner(exclude=("abs",)))
    assert "edge.abs" in [entry.op for entry, _ in report_of(first.remarks).entries]
    second = first.to_backend(XnnpackPartitioner())
    assert {entry.op for entry, _ in report_of(second.remarks).entries} == {"my::op.out_of", "my::other"}
    assert report_of(second.remarks).count == 2
