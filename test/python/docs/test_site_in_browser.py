"""The built site as a reader sees it, in Chromium: `make test-site`. Screenshots are in build/site/screenshots."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from explore.browser import Browser

pytestmark = pytest.mark.browser

BUILT = Path(__file__).parents[3] / "build" / "site"
SITE = BUILT / "html"
SHOWN = ("", "docs/", "docs/report/", "docs/reference/operators/", "docs/reference/api/xir/", "docs/reference/passes/")


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert SITE.exists(), "there is no site: `make site` builds it"
    with ThreadingHTTPServer(("localhost", 0), partial(Silent, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def wide() -> Iterator[Browser]:
    with Browser(width=1400, height=1000) as browser:
        yield browser


@pytest.fixture(scope="module")
def phone() -> Iterator[Browser]:
    with Browser() as browser:
        browser.be_phone()
        yield browser


def pages() -> list[str]:
    found = (path.parent.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("index.html")))
    return ["" if page == "." else f"{page}/" for page in found]


def overflow(browser: Browser) -> int:
    """How many pixels of the page are to the right of what is seen."""
    return browser.run("return document.documentElement.scrollWidth - innerWidth")


def background(browser: Browser) -> str:
    return browser.run("return getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("page", pages())
def test_pages_fit_on_a_phone(page: str, phone: Browser, address: str) -> None:
    phone.visit(f"{address}/{page}")
    assert overflow(phone) <= 0
    assert phone.complaints() == []


@pytest.mark.parametrize("page", SHOWN)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", ["wide", "phone"])
def test_screenshots(page: str, scheme: str, device: str, address: str, request: pytest.FixtureRequest) -> None:
    browser: Browser = request.getfixturevalue(device)
    browser.prefer(scheme)
    browser.visit(f"{address}/{page}")
    assert overflow(browser) <= 0
    shade = sum(int(part) for part in background(browser).removeprefix("rgb(").rstrip(")").split(",")) // 3
    assert (shade > 128) == (scheme == "light")
    folder = BUILT / "screenshots"
    folder.mkdir(exist_ok=True)
    browser.screenshot(folder / f"{page.rstrip('/').replace('/', '_') or 'home'}-{device}-{scheme}.png")


def test_wide_tables_scroll_on_a_phone(phone: Browser, address: str) -> None:
    phone.visit(f"{address}/docs/reference/operators/")
    assert phone.run("const box = document.querySelector('table').parentElement; return box.scrollWidth > innerWidth")


@pytest.mark.parametrize(
    "name", ["xir.load", "xir.llm.export", "xir.XnnpackPartitioner", "xir-aot", "xir-tune", "fuse-conv-relu"]
)
def test_search_finds_a_name_first(name: str, wide: Browser, address: str) -> None:
    wide.visit(f"{address}/")
    wide.click(".md-search__input")
    wide.type(".md-search__input", name)
    deadline = time.monotonic() + 30
    while not (found := results(wide)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert any(link.endswith(f"#{name}") for link in found[:3]), found[:3]  # after its page, which may say more


def results(browser: Browser) -> list[str]:
    return browser.run("return [...document.querySelectorAll('.md-search-result__link')].map(a => a.href)")


def test_commands_are_copied_without_their_output(wide: Browser, address: str) -> None:
    wide.visit(f"{address}/#the-ir")
    copied = wide.run(
        "const code = document.querySelector('.language-console code');"
        "code.setAttribute('data-md-copying', ''); return code.innerText"
    )
    assert copied.strip() == "xir-opt --partition-xnnpack --fuse-conv-relu in.mlir"


def test_dark_pages_are_one_click_away(wide: Browser, address: str) -> None:
    wide.prefer("light")
    wide.visit(f"{address}/")
    before = background(wide)
    for label in ("__palette_1", "__palette_2"):  # from the system's to light, to dark
        wide.run(f"document.querySelector('label[for={label}]').click()")
    assert background(wide) != before
