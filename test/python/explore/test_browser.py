"""The page in a browser: it opens quickly and without complaints, and shows and finds what it should."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from explore import small_programs
from explore.browser import Browser

from xir.explore import Recorder, document, read_profile, write_page
from xir.runtime import Runtime
from xir.tools.xir_aot import main as aot

pytestmark = pytest.mark.browser

SHOTS = Path(__file__).parents[3] / "build" / "explore"
ENTER, ESCAPE = "\ue007", "\ue00c"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    SHOTS.mkdir(parents=True, exist_ok=True)
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    model, recorder = folder / "branches.pte", Recorder()
    edge, executorch = small_programs.compiled(recorder)
    model.write_bytes(executorch.buffer)
    profile = read_profile(small_programs.trace_of(model, list(small_programs.INPUTS)))
    write_page(
        folder / "page.html", document(recorder.stages, [*edge.remarks, *executorch.remarks], profile, "branches")
    )
    return folder / "page.html"


def opened(browser: Browser, page: Path) -> float:
    """Open a page; the seconds until it can be used."""
    browser.open(Path("/dev/null"))
    start = time.monotonic()
    browser.open(page)
    while browser.run("return document.body.dataset.ready") != "yes":
        assert time.monotonic() - start < 30, browser.complaints()
        time.sleep(0.02)
    return time.monotonic() - start


def nodes(browser: Browser) -> list[str]:
    return browser.run(
        "return [...document.querySelectorAll('#scene .node text:first-of-type')].map(t => t.textContent)"
    )


def test_the_graph_of_each_stage_is_drawn(browser: Browser, page: Path) -> None:
    opened(browser, page)
    stages = browser.run("return data.stages.length")
    for stage in range(stages):
        browser.run(f"document.querySelectorAll('#stages button')[{stage}].click()")
        wanted = browser.run(f"return data.stages[{stage}].graph.nodes.map(n => data.strings[n.text[0]])")
        assert sorted(nodes(browser)) == sorted(wanted)
        assert browser.run("return document.querySelectorAll('#scene > path').length") == browser.run(
            f"return data.stages[{stage}].graph.edges.length"
        )
    assert browser.complaints() == []


def test_search_finds_an_op_and_shows_it(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.type("#search", "fully_connected" + ENTER)
    assert browser.text("#found") == "1 of 1 found"
    assert "fully_connected" in browser.text("#details h2")
    details = browser.text("#details")
    for title in ("SOURCE", "TIME", "COST", "RESULTS", "OPERANDS", "USERS", "COMES FROM, IN THE FIRST STAGE"):
        assert title in details
    assert "programs.py" in details
    chosen = browser.run(
        "const a = document.querySelector('.chosen').getBoundingClientRect(), "
        "b = document.querySelector('#graph').getBoundingClientRect(); "
        "return a.top >= b.top && a.bottom <= b.bottom && a.left >= b.left && a.right <= b.right"
    )
    assert chosen
    browser.screenshot(SHOTS / "search.png")
    browser.click("[data-view=text]")
    assert "xnnpack.fully_connected" in browser.text("#text .row.chosen")
    assert browser.complaints() == []


def test_changes_are_shown_and_equal_lines_unfold(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.run("go({ stage: data.stages.findIndex(s => s.name === 'plan-memory'), view: 'changes' })")
    added, removed = (
        browser.run(f"return document.querySelectorAll('#changes .{kind}').length") for kind in ("added", "removed")
    )
    assert added == removed > 0
    hidden = browser.run("return document.querySelectorAll('#changes .skipped').length")
    browser.screenshot(SHOTS / "changes.png")
    browser.click("#changes .skipped")
    assert browser.run("return document.querySelectorAll('#changes .skipped').length") == hidden - 1
    assert browser.complaints() == []


def test_a_remark_leads_to_its_op(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.click("[data-view=remarks]")
    assert "sort" in browser.text("#remarks")
    browser.click("#remarks a")
    assert "remark" in browser.text("#details").lower()
    assert browser.complaints() == []


def test_dragging_and_the_wheel_move_the_graph(browser: Browser, page: Path) -> None:
    opened(browser, page)
    before = browser.run("return document.getElementById('scene').getAttribute('transform')")
    browser.run(
        "document.getElementById('graph').dispatchEvent("
        "new WheelEvent('wheel', {deltaY: 300, clientX: 600, clientY: 400, cancelable: true}))"
    )
    assert browser.run("return document.getElementById('scene').getAttribute('transform')") != before


@pytest.mark.parametrize(("model", "arguments"), [("mv2", ["--quantize"]), ("vit", [])])
def test_models_open_quickly_and_are_small(
    model: str, arguments: list[str], browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert aot(["-m", model, "-d", *arguments]) == 0
    (file,) = tmp_path.glob("*.pte")
    method = Runtime.get().load_program(file).load_method()
    inputs = [small_programs.torch.rand(1, 3, 224, 224)]
    method.execute(inputs, profile=True)
    method.profile().to_trace("trace.json")
    assert aot(["-m", model, "-d", *arguments, "--explore", "page.html", "--profile", "trace.json"]) == 0
    page = tmp_path / "page.html"
    assert page.stat().st_size < 5_000_000
    assert opened(browser, page) < 3
    browser.screenshot(SHOTS / f"{model}.png")
    browser.type("#search", "conv2d" + ENTER)
    browser.screenshot(SHOTS / f"{model}_found.png")
    browser.click("#fit")
    browser.screenshot(SHOTS / f"{model}_whole.png")
    browser.run("go({ stage: 0, view: 'graph', op: -1 })")
    browser.screenshot(SHOTS / f"{model}_input.png")
    assert browser.complaints() == []


def test_a_quantized_program_has_charts(browser: Browser, page: Path, tmp_path: Path) -> None:
    factory = small_programs.write_factory(tmp_path, "*(torch.nn.Linear(64, 64) for _ in range(4))", "rand(2, 64)")
    made = tmp_path / "quantised.html"
    command = ["--model", factory, "-d", "-q", "--min-sqnr", "38", "--quantize-report"]
    assert aot([*command, "--explore", str(made), "-o", str(tmp_path)]) == 0
    opened(browser, made)
    browser.click("[data-view=charts]")
    rows = browser.run("return [...document.querySelectorAll('#charts .layer td:first-child')].map(t => t.textContent)")
    bars = browser.run("return document.querySelectorAll('#charts .layer .count').length")
    assert len(rows) == len(set(rows)) > 1
    assert bars == 64 * len(rows)
    assert browser.run("return document.querySelectorAll('#charts .point.picked').length") == 1
    browser.click("#charts .layer")
    assert "fully_connected" in browser.text("#details h2")
    assert len(browser.run("return [...document.querySelectorAll('#details .chart .count')]")) == 64
    assert browser.complaints() == []
    browser.screenshot(SHOTS / "charts.png")
    opened(browser, page)
    assert browser.run("return document.querySelector('[data-view=charts]').hidden")
