"""`make tables` keeps its numbers as JSON, and draws the page from them alone."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from bench.draw import draw_page
from bench.runtimes import PEERS, STOCK, XIR
from bench.tables import Results, Row, rows_of, size_of, slug


def row(runtime: str, median: float, *, model: str = "mv2", threads: int = 1) -> Row:
    """A measurement in which only the median matters."""
    return Row(model, "fp32", runtime, threads, 1.0, 9.5, median, median / 2, 20_000_000, 14_000_000, 1.5)


def results(*rows: Row, date: str = "2026-01-02") -> Results:
    """Those of a machine."""
    return Results("A Processor (R) 9", 2, date, {"torch": "2.13.0"}, list(rows))


def test_a_later_measurement_replaces_its_row(tmp_path: Path) -> None:
    path = tmp_path / f"{slug('A Processor (R) 9')}.json"
    assert path.name == "a_processor_r_9.json"
    results(row("xir", 4.0), row("ExecuTorch", 8.0)).write(path)
    results(row("xir", 3.0), date="2026-02-03").write(path)
    read = Results.read(path)
    assert {each.runtime: each.median_ms for each in read.rows} == {"xir": 3.0, "ExecuTorch": 8.0}
    assert read.date == "2026-02-03"
    assert json.loads(path.read_text())["format"] == 1


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"format": 0}')
    with pytest.raises(ValueError, match="is not of format 1; measure again with `make tables`"):
        Results.read(path)


def test_the_page_has_what_was_measured(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    rows = [row("ExecuTorch", 8.0), row("xir", 4.0), row("xir", 2.0, threads=2), row("OpenVINO", 3.0, threads=2)]
    draw_page([results(*rows)], page)
    text = page.read_text()
    assert "## A Processor (R) 9\n\n2 cores, 2026-01-02; torch 2.13.0." in text
    assert "| runtime | first, ms | 1 thread, ms | of ExecuTorch's | 2 threads, ms | of ExecuTorch's | memory" in text
    # On two threads there is nothing to compare with.
    assert "| MobileNetV2 | xir | 9.50 | 4.00 | 0.50 | 2.00 |  | 20.0 | 14.00 | 1.5 |" in text
    assert "| MobileNetV2 | ExecuTorch | 9.50 | 8.00 |  |  |  | 20.0 | 14.00 | 1.5 |" in text
    assert "| MobileNetV2 | OpenVINO | 9.50 |  |  | 3.00 |  | 20.0 | 14.00 | 1.5 |" in text
    assert "int8" not in text


def test_weights_beside_a_file_count(tmp_path: Path) -> None:
    (tmp_path / "a_fp32.xml").write_bytes(b"12")
    (tmp_path / "a_fp32.bin").write_bytes(b"345")
    (tmp_path / "b_fp32.bin").write_bytes(b"6")
    assert size_of(tmp_path / "a_fp32.xml") == 5


def test_runtimes_that_are_not_installed_are_left_out() -> None:
    assert XIR.is_installed
    assert STOCK.is_installed
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_a_runtime_that_fails_has_no_rows_but_xir_may_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("first\nno such layer")

    other = dataclasses.replace(STOCK, name="Other", compile=fail)
    assert rows_of("linear", "fp32", [other], [1], tmp_path) == []
    assert "warning: Other has no fp32 of linear: no such layer\n" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="no such layer"):
        rows_of("linear", "fp32", [dataclasses.replace(XIR, compile=fail)], [1], tmp_path)
