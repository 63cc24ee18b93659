"""The HTML page: a template, its style and script, and the data, compressed."""

from __future__ import annotations

import base64
import gzip
import html
import json
from importlib import resources
from pathlib import Path
from typing import Any

from xir.files import atomic_file


def write_page(path: str | Path, document: dict[str, Any]) -> None:
    """Write the page of a document (`xir.explore.document`). OSError if it cannot be written."""
    content = page(document).encode("utf-8")
    with atomic_file(path) as file:
        file.write(content)


def page(document: dict[str, Any]) -> str:
    """The text of the page: it needs no other file and no network, and its policy lets it ask for none."""
    data = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    packed = base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii")
    parts = {
        "TITLE": html.escape(document["title"]),
        "STYLE": _asset("page.css"),
        "SCRIPT": _asset("charts.js") + _asset("page.js"),
        "DATA": packed,
    }
    text = _asset("page.html")
    head, *rest = text.split("@@")
    return head + "".join(parts[piece] if index % 2 == 0 else piece for index, piece in enumerate(rest))


def _asset(name: str) -> str:
    return (resources.files("xir.explore") / "assets" / name).read_text(encoding="utf-8")
