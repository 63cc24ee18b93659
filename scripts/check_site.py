"""Checks the built site: every link and every name leads somewhere, and nothing is loaded from elsewhere.

usage: python scripts/check_site.py build/site/html
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from website import tree

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
"""The attribute by which an element loads a file."""


@dataclass
class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    anchors: set[str] = field(default_factory=set[str])
    links: list[str] = field(default_factory=list[str])
    loads: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.loads.append(given[LOADED[tag]])


def read(path: Path) -> Page:
    """A page of the site."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_elsewhere(url: str) -> bool:
    """Whether a link leaves the site."""
    return "://" in url or url.startswith(("//", "mailto:"))


def unexplained(names: dict[str, str], pages: dict[Path, Page], site: Path) -> list[str]:
    """The names whose page, `PATH.md#ANCHOR` in the repository, does not have them."""
    found: list[str] = []
    for name, place in names.items():
        path, anchor = urldefrag(place)
        page = pages.get((site / path).with_suffix("").resolve() / "index.html")
        if page is None or (anchor and anchor not in page.anchors):
            found.append(f"{name} is not in {place}")
    return found


def problems(site: Path, names: dict[str, str]) -> tuple[list[str], int]:
    """What is wrong with a site, and how many links it has."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    found = unexplained(names, pages, site)
    count = 0
    for path, page in pages.items():
        if path.name == "404.html":  # shown at any address, so its links begin at the root
            continue
        name = path.relative_to(site.resolve())
        found += [f"{name}: loads {url}" for url in page.loads if is_elsewhere(url)]
        for url in (*page.links, *page.loads):
            if is_elsewhere(url) or url.startswith("data:"):
                continue
            count += 1
            target, anchor = urldefrag(url)
            file = (path.parent / unquote(target)).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            known = pages[file].anchors if file in pages else {""}
            if not file.exists() or (anchor and unquote(anchor) not in known):
                found.append(f"{name}: dead link {url}")
    return found, count


def main(site: Path) -> int:
    """Print what is wrong; the exit status."""
    names = tree.all_names()
    found, count = problems(site, names)
    print(
        "\n".join(found) or f"{count} links and {len(names)} names lead somewhere, and nothing is loaded from elsewhere"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
